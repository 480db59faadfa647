"""The text form of a scene (L2) and of the navigation that is appended to a persona. memory_core.md B11.

``parse_scene(format_scene(scene))`` gives the same scene back, whatever its fields hold.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentmem.llm.jsonrepair import JS_BLANKS

START, END = "-----META-START-----", "-----META-END-----"
HEADING = "## 🗺️ Scene Navigation (Scene Index)"
DELETED = "[DELETED]"
FOLDER = "scene_blocks"
READ_TOOL, STORAGE_TOOL = "read", "tdai_read_cos"
_FLAMES = (50, 100, 200, 500, 1000)
_FIELD = re.compile(r"^(created|updated|summary|heat):[^\S\r\n]*([^\r\n]*)", re.MULTILINE)
_NUMBER = re.compile(r"\s*([+-]?\d+)")
_NAVIGATION = re.compile(rf"(?:^|\n)[ \t]*---[ \t]*\r?\n(?:[ \t]*\r?\n)*{re.escape(HEADING)}")
_AFTER = re.compile(r"\n#{1,2} (?!🗺️ Scene Navigation)")


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene file. ``created`` and ``updated`` are ISO texts, or empty."""

    filename: str
    summary: str
    body: str
    heat: int = 0
    created: str = ""
    updated: str = ""

    @property
    def is_deleted(self) -> bool:
        """True for a file that is to be removed: empty, only a header, or marked."""
        return not self.body.strip() or DELETED in self.body


def parse_scene(raw: str, filename: str) -> Scene:
    """Read a scene file. Text without a header is a body with heat 0; text in front of a header stays in the body."""
    start, end = raw.find(START), raw.find(END)
    if end >= 0 and start > end:
        return Scene(filename, "", raw[end + len(END) :].strip(JS_BLANKS))
    if start < 0 or end < 0:
        return Scene(filename, "", raw.strip(JS_BLANKS))
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(raw[start + len(START) : end]):
        fields.setdefault(name, value.strip(JS_BLANKS))
    heat = _NUMBER.match(fields.get("heat", ""))
    before, after = raw[:start].strip(JS_BLANKS), raw[end + len(END) :].strip(JS_BLANKS)
    return Scene(
        filename=filename,
        summary=fields.get("summary", ""),
        body=f"{before}\n\n{after}".strip(JS_BLANKS) if before else after,
        heat=int(heat[1]) if heat else 0,
        created=fields.get("created", ""),
        updated=fields.get("updated", ""),
    )


def format_scene(scene: Scene) -> str:
    """The file's text. Line ends and markers in a summary become blanks, since a header field is one line."""
    return "\n".join(
        (
            START,
            f"created: {_line(scene.created)}",
            f"updated: {_line(scene.updated)}",
            f"summary: {_line(scene.summary)}",
            f"heat: {scene.heat}",
            END,
            "",
            scene.body,
        )
    )


def navigation(scenes: Sequence[Scene], data_dir: str | None = None, storage: bool = False) -> str:
    """The section that lists scenes, hottest first; empty without scenes.

    ``data_dir`` makes paths absolute; ``storage`` names the tool of an object store.
    """
    if not scenes:
        return ""
    tool = STORAGE_TOOL if storage else READ_TOOL
    ordered = sorted(scenes, key=lambda scene: -scene.heat)
    blocks = [_entry(scene, data_dir, storage) for scene in ordered]
    hint = f"*Scenes of this memory, most active first. Open one with the tool `{tool}` and its path.*"
    footer = [
        "---",
        "How to use this index:",
        f"- Read a scene with `{tool}` when its summary touches what is asked.",
        "- A summary is not evidence: the scene names the memories it rests on.",
    ]
    return "\n".join(["---", HEADING, hint, "", "\n\n".join(blocks), "", *footer])


def steady_navigation(scenes: Sequence[Scene], data_dir: str) -> str:
    """The same list for a prompt: oldest scene first, without heat and times, so that a provider's prompt cache keeps
    its prefix until a scene is added, removed or about something else."""
    ordered = sorted(scenes, key=lambda scene: (scene.created, scene.filename))
    return "\n".join(f"- {posixpath.join(data_dir, FOLDER, scene.filename)}: {scene.summary}" for scene in ordered)


def strip_navigation(text: str) -> str:
    """A persona without its navigation. Chapters written behind the section stay; a text without one is unchanged."""
    found = _NAVIGATION.search(text)
    if found is None:
        return text
    after = _AFTER.search(text, found.end())
    rest = strip_navigation(text[after.start() :]) if after else ""
    before = text[: found.start()].rstrip(JS_BLANKS)
    return f"{before}\n\n{rest.strip(JS_BLANKS)}".strip(JS_BLANKS) if rest.strip(JS_BLANKS) else before


def _entry(scene: Scene, data_dir: str | None, storage: bool) -> str:
    if storage:
        path = f"scenes/{scene.filename}"
    elif data_dir:
        path = posixpath.normpath(posixpath.join(data_dir, FOLDER, scene.filename))
    else:
        path = f"{FOLDER}/{scene.filename}"
    flames = "🔥" * sum(scene.heat >= step for step in _FLAMES)
    state = f"**热度**: {scene.heat}{' ' + flames if flames else ''}"
    if scene.updated:
        state += f" | **更新**: {scene.updated}"
    return f"### Path: {path}\n{state}\nSummary: {scene.summary}"


def _line(text: str) -> str:
    return " ".join(text.replace(START, " ").replace(END, " ").split())
