"""The files of one scope: scenes (L2), their index, the persona (L3), and earlier versions of them.

Every file is written whole and then moved into place, so that a reader or a crash never meets half of one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from agentmem.longterm.citations import strip_citations
from agentmem.longterm.keys import scope_folder, slug
from agentmem.longterm.scene_format import (
    FOLDER,
    Scene,
    format_scene,
    navigation,
    parse_scene,
    steady_navigation,
    strip_navigation,
)
from agentmem.store.records import Scope

PERSONA = "persona.md"
INDEX = "scene_index.json"
STALE = 3_600.0  # seconds


class Profile:
    """``root`` is the folder of the whole memory."""

    def __init__(self, root: Path, scope: Scope) -> None:
        self.folder = root / "profiles" / scope_folder(scope)
        self.scenes_folder = self.folder / FOLDER
        self.persona_path = self.folder / PERSONA
        self._backup = self.folder / ".backup"

    def scenes(self) -> list[Scene]:
        """Every scene, by file name; files that are marked as deleted are left out."""
        found = [parse_scene(path.read_text(encoding="utf-8"), path.name) for path in self._paths()]
        return [scene for scene in found if not scene.is_deleted]

    def scene(self, filename: str) -> Scene | None:
        """One scene, or None."""
        path = self.scenes_folder / filename
        if Path(filename).name != filename or not path.is_file():
            return None
        return parse_scene(path.read_text(encoding="utf-8"), filename)

    def write_scenes(self, scenes: Iterable[Scene]) -> None:
        """Make these the scenes: write what changed, remove what is not among them, rebuild the index."""
        wanted = {scene.filename: format_scene(scene) for scene in scenes}
        for path in self._paths():
            if path.name not in wanted:
                path.unlink()
        for name, text in wanted.items():
            path = self.scenes_folder / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                write_whole(path, text)
        self.index()

    def index(self) -> list[Scene]:
        """Rebuild the index from the files and return what it holds, hottest first."""
        scenes = sorted(self.scenes(), key=lambda scene: -scene.heat)
        rows = [
            {"filename": s.filename, "summary": s.summary, "heat": s.heat, "created": s.created, "updated": s.updated}
            for s in scenes
        ]
        write_whole(self.folder / ".metadata" / INDEX, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return scenes

    def persona(self) -> str | None:
        """The persona without its navigation; None when there is no file."""
        text = self.persona_file()
        return None if text is None else strip_navigation(text).strip()

    def persona_file(self) -> str | None:
        """The file as it is."""
        try:
            return self.persona_path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def write_persona(self, body: str) -> None:
        """Write a persona, with the navigation of the present scenes behind it."""
        parts = [part for part in (body.strip(), self.navigation()) if part]
        write_whole(self.persona_path, "\n\n".join(parts) + "\n")

    def navigation(self) -> str:
        """The section that lists the scenes; empty without any."""
        return navigation(sorted(self.scenes(), key=lambda scene: -scene.heat))

    # --- earlier versions

    def back_up(self, what: str, keep: int) -> Path | None:
        """Copy the scenes ("scenes") or the persona ("persona") aside and keep the newest ``keep`` copies."""
        self._sweep()
        source = self.scenes_folder if what == "scenes" else self.persona_path
        if not source.exists():
            return None
        copies = self._copies(what)
        number = int(copies[-1].name.rpartition("-")[2]) + 1 if copies else 1
        target = self._backup / f"{what}-{number:06}"
        self._backup.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
        for old in self._copies(what)[: -max(keep, 1)]:
            _remove(old)
        return target

    def restore(self, what: str, copy: Path | None) -> None:
        """Put a copy back; None means that there was nothing before."""
        target = self.scenes_folder if what == "scenes" else self.persona_path
        _remove(target)
        if copy is None:
            return
        if copy.is_dir():
            shutil.copytree(copy, target)
            self.index()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(copy, target)

    def drop_backups(self) -> None:
        """Remove all earlier versions."""
        _remove(self._backup)

    def remove(self) -> None:
        """Remove everything of the scope, copies too."""
        _remove(self.folder)

    def _sweep(self) -> None:
        """Remove half-written files that a killed process left behind long ago."""
        for folder in (self.folder, self.scenes_folder):
            for part in folder.glob(".*.part"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - part.stat().st_mtime > STALE:
                        part.unlink()

    def _copies(self, what: str) -> list[Path]:
        return sorted(self._backup.glob(f"{what}-[0-9]*"))

    def _paths(self) -> list[Path]:
        return sorted(path for path in self.scenes_folder.glob("*.md") if path.is_file())


class PromptTexts:
    """A profile as a prompt shows it: the persona without ids, the scenes in a steady order."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def persona(self) -> str | None:
        """The persona; None when there is none."""
        persona = self.profile.persona()
        return strip_citations(persona) if persona else None

    def navigation(self) -> str:
        """One line a scene, with the path of its file."""
        return steady_navigation(self.profile.scenes(), str(self.profile.folder))


def free_name(title: str, taken: Iterable[str]) -> str:
    """A file name for a title that no other scene has."""
    used = set(taken)
    base = slug(title) or "scene"
    number = 1
    while (name := f"{base}.md" if number == 1 else f"{base}-{number}.md") in used:
        number += 1
    return name


def write_whole(path: Path, text: str) -> None:
    """Write a file beside its place and move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
