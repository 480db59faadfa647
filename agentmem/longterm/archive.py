"""One archive of everything a scope holds: turns, atoms, states, scenes, persona, evidence. ``agentmem-archive/1``.

Importing it elsewhere, twice, or over a memory that already holds a part of it gives no duplicates. The same memory
gives the same bytes.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from agentmem.errors import EvidenceNotFound, StoreConflict, StoreError
from agentmem.longterm.capture import EVERYTHING
from agentmem.longterm.keys import state_key
from agentmem.longterm.profile import Profile
from agentmem.longterm.scene_format import FOLDER, parse_scene
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope, Turn

SCHEMA = "agentmem-archive/1"
PAGE = 500
PER_SESSION = ("l0",)
PER_SCOPE = ("profile", "scenes")


class EvidenceTexts(Protocol):
    """What is needed of the evidence store."""

    def get(self, ref: str) -> str:
        """Raises ``EvidenceNotFound``."""
        ...

    def put(self, text: str) -> str:
        """Store a text and return its ref."""
        ...


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import added; what was there already is counted apart. ``profile`` says whether scenes and persona were
    taken over, which happens only where there were none."""

    turns: int = 0
    atoms: int = 0
    known: int = 0
    evidence: int = 0
    profile: bool = False


class Archive:
    """Exports and imports scopes of one open memory."""

    def __init__(self, store: MemoryStore, evidence: EvidenceTexts, root: Path) -> None:
        self.store = store
        self.evidence = evidence
        self.root = root

    def export(self, scope: Scope, path: Path) -> dict[str, int]:
        """Write the archive and return the number of records of each kind. Raises ``OSError``."""
        turns = list(self._turns(scope))
        atoms = self.store.atoms(scope, superseded=True)
        refs = sorted({ref for turn in turns for ref in turn.refs})
        profile = Profile(self.root, scope)
        files = {f"{FOLDER}/{scene.filename}": scene.filename for scene in profile.scenes()}
        manifest = {"schema": SCHEMA, "scope": asdict(scope), "turns": len(turns), "atoms": len(atoms)}
        part = path.with_name(f".{path.name}.part")
        counts = {"turns": len(turns), "atoms": len(atoms), "scenes": len(files), "evidence": 0}
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, "manifest.json", json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True))
            _add(archive, "turns.jsonl", _lines(_record(turn) for turn in turns))
            _add(archive, "atoms.jsonl", _lines(_record(atom) for atom in atoms))
            _add(archive, "states.json", json.dumps(self._states(scope, turns), ensure_ascii=False, sort_keys=True))
            for name, filename in files.items():
                _add(archive, name, (profile.scenes_folder / filename).read_text(encoding="utf-8"))
            persona = profile.persona()
            if persona:
                _add(archive, "persona.md", persona)
            for ref in refs:
                try:
                    _add(archive, f"evidence/{ref}", self.evidence.get(ref))
                    counts["evidence"] += 1
                except EvidenceNotFound:  # a host's own pointer, or expired; the turn still names it
                    continue
        part.replace(path)
        return counts

    def load(self, path: Path, scope: Scope | None = None) -> Imported:
        """Read an archive into its own scope, or into another one. Raises ``StoreError`` when it is none."""
        try:
            archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise StoreError(f"{path} is no archive: {error}") from error
        with archive:
            try:
                manifest = json.loads(archive.read("manifest.json"))
                if manifest.get("schema") != SCHEMA:
                    raise StoreError(f"{path}: expected schema {SCHEMA}, got {manifest.get('schema')!r}")
                target = scope or Scope(**manifest["scope"])
                return self._load(archive, target)
            except (KeyError, ValueError, TypeError) as error:
                raise StoreError(f"{path} is damaged: {error}") from error

    def _load(self, archive: zipfile.ZipFile, scope: Scope) -> Imported:
        evidence = [name for name in archive.namelist() if name.startswith("evidence/")]
        for name in evidence:
            self.evidence.put(archive.read(name).decode("utf-8", "surrogatepass"))
        turns = [_turn(row) for row in _rows(archive, "turns.jsonl")]
        atoms = [_atom(row) for row in _rows(archive, "atoms.jsonl")]
        states = json.loads(archive.read("states.json"))
        with self.store.transaction():
            caught_up = {s: self._extracted(scope, s) for s in dict.fromkeys(turn.session for turn in turns)}
            known = {turn.id for turn in self.store.turns(scope, [turn.id for turn in turns])}
            self.store.add_turns(scope, [turn for turn in turns if turn.id not in known])
            added = self._put(scope, atoms)
            for session, up_to_date in caught_up.items():
                self._take_over(scope, session, states, up_to_date)
            fresh = self._take_profile(archive, scope, states)
        return Imported(
            turns=len(turns) - len(known),
            atoms=added,
            known=len(known) + len(atoms) - added,
            evidence=len(evidence),
            profile=fresh,
        )

    def _put(self, scope: Scope, atoms: Sequence[Atom]) -> int:
        """Atoms that are not there yet, oldest first, with what they replaced."""
        there = {atom.id for atom in self.store.atoms(scope, [atom.id for atom in atoms], superseded=True)}
        replaced: dict[str, list[str]] = {}
        for atom in atoms:
            if atom.superseded_by:
                replaced.setdefault(atom.superseded_by, []).append(atom.id)
        new = [replace(atom, superseded_by=None, seq=0, change=0) for atom in atoms if atom.id not in there]
        for atom in new:
            try:
                self.store.put_atoms(scope, [atom], {atom.id: replaced[atom.id]} if atom.id in replaced else None)
            except StoreConflict:  # here the old one was already replaced by something else: both stay
                self.store.put_atoms(scope, [atom])
        return len(new)

    def _take_over(self, scope: Scope, session: str, states: dict[str, Any], up_to_date: bool) -> None:
        """Cursors of a session: what was extracted there need not be extracted again here."""
        given = states["sessions"].get(session, {})
        for kind in PER_SESSION:
            key = state_key(kind, scope, session)
            if kind in given and self.store.state(key) is None:
                self.store.set_state(key, given[kind])
        reached = given.get("extracted_until")
        found = self.store.turns(scope, [reached]) if reached else []
        if found and up_to_date:
            self.store.set_state(
                state_key("l1", scope, session), {"cursor": found[0].seq, "scene": given.get("scene", "")}
            )

    def _take_profile(self, archive: zipfile.ZipFile, scope: Scope, states: dict[str, Any]) -> bool:
        """Scenes, persona and their counters, when there are none here."""
        profile = Profile(self.root, scope)
        if profile.scenes() or profile.persona() is not None or self.store.state(state_key("scenes", scope)):
            return False
        names = [name for name in archive.namelist() if name.startswith(f"{FOLDER}/")]
        scenes = [parse_scene(archive.read(name).decode(), Path(name).name) for name in names]
        profile.write_scenes(scenes)
        if "persona.md" in archive.namelist():
            profile.write_persona(archive.read("persona.md").decode())
        for kind in PER_SCOPE:
            if kind in states["scope"]:
                self.store.set_state(state_key(kind, scope), states["scope"][kind])
        changes = self.store.atoms_changed_since(scope, 0, EVERYTHING)
        if scenes and states.get("scenes_current") and changes:
            counters = self.store.state(state_key("profile", scope)) or {}
            self.store.set_state(state_key("profile", scope), {**counters, "scene_cursor": changes[-1].change})
        return bool(scenes)

    def _states(self, scope: Scope, turns: Sequence[Turn]) -> dict[str, Any]:
        sessions: dict[str, dict[str, Any]] = {}
        for session in dict.fromkeys(turn.session for turn in turns):
            kept = {kind: state for kind in PER_SESSION if (state := self.store.state(state_key(kind, scope, session)))}
            l1 = self.store.state(state_key("l1", scope, session)) or {}
            done = [t.id for t in turns if t.session == session and t.seq <= int(l1.get("cursor", 0))]
            sessions[session] = {**kept, "scene": l1.get("scene", ""), "extracted_until": done[-1] if done else None}
        kept = {kind: state for kind in PER_SCOPE if (state := self.store.state(state_key(kind, scope)))}
        cursor = int(kept.get("profile", {}).pop("scene_cursor", 0))
        current = not self.store.atoms_changed_since(scope, cursor, 1)
        return {"sessions": sessions, "scope": kept, "scenes_current": current}

    def _extracted(self, scope: Scope, session: str) -> bool:
        """True when nothing of a session waits to be extracted here."""
        cursor = int((self.store.state(state_key("l1", scope, session)) or {}).get("cursor", 0))
        return self.store.count_turns(scope, cursor, session) == 0

    def _turns(self, scope: Scope) -> Iterator[Turn]:
        cursor = 0
        while page := self.store.turns_after(scope, cursor, PAGE):
            yield from page
            cursor = page[-1].seq


def _record(row: Turn | Atom) -> dict[str, Any]:
    return {**asdict(row), "metadata": dict(row.metadata)}


def _turn(row: dict[str, Any]) -> Turn:
    return Turn(**{**row, "refs": tuple(row["refs"]), "seq": 0})


def _atom(row: dict[str, Any]) -> Atom:
    return Atom(**{**row, "sources": tuple(row["sources"]), "timestamps": tuple(row["timestamps"])})


def _lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=True, sort_keys=True, allow_nan=False) + "\n" for row in rows)


def _rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in archive.read(name).decode().split("\n") if line]


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))  # the same memory gives the same bytes
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, text.encode("utf-8", "surrogatepass"))
