"""Unified diffs between two sets of files: made, read and applied, strictly and in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff

from harness.errors import EnvironmentFailed

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"


class PatchRejected(EnvironmentFailed):
    """A patch that does not fit the files it is meant for."""


@dataclass
class Hunk:
    """One hunk: the 1-based line it starts at in the old file, and its lines with their first character."""

    path: str
    start: int
    lines: list[str] = field(default_factory=list)

    @property
    def old(self) -> list[str]:
        """Context and removed lines."""
        return [line[1:] for line in self.lines if line[0] in " -"]

    @property
    def new(self) -> list[str]:
        """Context and added lines."""
        return [line[1:] for line in self.lines if line[0] in " +"]


def make_patch(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The unified diff between two sets of files, paths in order; empty when nothing differs."""
    return "".join(_file_diff(path, old.get(path), new.get(path)) for path in sorted(old.keys() | new.keys()))


def _file_diff(path: str, old: str | None, new: str | None) -> str:
    if old == new:
        return ""
    before = "/dev/null" if old is None else f"a/{path}"
    after = "/dev/null" if new is None else f"b/{path}"
    pieces = []
    for line in unified_diff(_lines(old or ""), _lines(new or ""), before, after):
        pieces.append(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n")
    return "".join(pieces)


def _lines(text: str) -> list[str]:
    """Split at newlines only (``splitlines`` also splits at form feeds and the like)."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def hunks(patch: str) -> Iterator[Hunk]:
    """The hunks of a unified diff. Paths lose their ``a/`` or ``b/``. Raises ``PatchRejected``."""
    path, current, left_old, left_new = "", None, 0, 0
    for number, line in enumerate(patch.split("\n"), 1):
        if left_old or left_new:
            assert current is not None
            mark = line[:1] or " "
            if mark not in " +-":
                raise PatchRejected(f"patch line {number}: expected a line of a hunk, found {line!r}")
            current.lines.append(line or " ")
            left_old -= mark in " -"
            left_new -= mark in " +"
        elif line.startswith("--- "):
            path = _strip(line[4:])
        elif line.startswith("+++ "):
            path = path if _strip(line[4:]) == "/dev/null" else _strip(line[4:])
        elif match := _HUNK.match(line):
            if current is not None:
                yield current
            current = Hunk(path, int(match[1]))
            left_old, left_new = int(match[2] or 1), int(match[4] or 1)
    if left_old or left_new:
        raise PatchRejected(f"patch ends within a hunk of {path}")
    if current is not None:
        yield current


def _strip(name: str) -> str:
    name = name.split("\t")[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name


def apply_patch(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """A copy of ``files`` with ``patch`` applied, every hunk exactly where it says.

    Raises ``PatchRejected`` when the lines found differ from those the hunk expects. A file that ends up empty
    is gone. Files always end in a newline afterwards.
    """
    texts = {path: text.split("\n") for path, text in files.items()}
    shift: dict[str, int] = {}
    for hunk in hunks(patch):
        lines = texts.setdefault(hunk.path, [""])
        at = max(hunk.start - 1, 0) + shift.get(hunk.path, 0) + (1 if not hunk.old and hunk.start else 0)
        found = lines[at : at + len(hunk.old)]
        if found != hunk.old:
            raise PatchRejected(f"{hunk.path} line {at + 1}: expected {hunk.old[:1]}, found {found[:1]}")
        lines[at : at + len(hunk.old)] = hunk.new
        shift[hunk.path] = shift.get(hunk.path, 0) + len(hunk.new) - len(hunk.old)
    return {path: "\n".join(lines) for path, lines in texts.items() if lines != [""] or path in files}
