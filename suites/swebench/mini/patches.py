"""Unified diffs between two sets of files: made, read and applied, strictly and in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff

from harness.errors import HarnessError

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
_NOWHERE = "/dev/null"


class PatchRejected(HarnessError):
    """A patch that cannot be read, or does not fit the files it is meant for."""


@dataclass
class Hunk:
    """One hunk. ``start`` is its first line in the old file, from 1 (0 when the file is new).

    ``lines`` are (mark, text) pairs; a text has its newline, unless the file ends without one. ``removes`` is true
    when the whole file goes.
    """

    path: str
    start: int
    removes: bool
    lines: list[tuple[str, str]] = field(default_factory=list)

    @property
    def old(self) -> list[str]:
        """Context and removed lines."""
        return [text for mark, text in self.lines if mark in " -"]

    @property
    def new(self) -> list[str]:
        """Context and added lines."""
        return [text for mark, text in self.lines if mark in " +"]


def make_patch(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The unified diff between two sets of files, paths in order; empty when nothing differs.

    Files without a line that come or go leave no trace, as in any unified diff.
    """
    return "".join(_file_diff(path, old.get(path), new.get(path)) for path in sorted(old.keys() | new.keys()))


def _file_diff(path: str, old: str | None, new: str | None) -> str:
    before = _NOWHERE if old is None else f"a/{path}"
    after = _NOWHERE if new is None else f"b/{path}"
    diff = unified_diff(_lines(old or ""), _lines(new or ""), before, after)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in diff)


def _lines(text: str) -> list[str]:
    """Split at newlines only (``splitlines`` also splits at form feeds and the like); newlines are kept."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def hunks(patch: str) -> Iterator[Hunk]:
    """The hunks of a unified diff. Paths lose their ``a/`` or ``b/``. Raises ``PatchRejected``."""
    old = new = ""
    current: Hunk | None = None
    left_old = left_new = 0
    for number, line in enumerate(patch.split("\n"), 1):
        if line.startswith("\\"):
            if current is None or not current.lines:
                raise PatchRejected(f"patch line {number}: {line!r} follows no line of a hunk")
            mark, text = current.lines[-1]
            current.lines[-1] = (mark, text.removesuffix("\n"))
        elif current is not None and (left_old or left_new):
            mark = line[:1] or " "  # some tools strip the blank of an empty context line
            if mark not in " +-":
                raise PatchRejected(f"patch line {number}: expected a line of a hunk, found {line!r}")
            current.lines.append((mark, line[1:] + "\n"))
            left_old -= mark in " -"
            left_new -= mark in " +"
        elif line.startswith("--- "):
            old = _name(line[4:])
        elif line.startswith("+++ "):
            new = _name(line[4:])
        elif match := _HUNK.match(line):
            if current is not None:
                yield current
            current = Hunk(old if new == _NOWHERE else new, int(match[1]), new == _NOWHERE)
            left_old, left_new = int(match[2] or 1), int(match[4] or 1)
    if left_old or left_new:
        raise PatchRejected("the patch ends within a hunk")
    if current is not None:
        yield current


def _name(text: str) -> str:
    name = text.split("\t")[0].rstrip("\r ")
    return name[2:] if name.startswith(("a/", "b/")) else name


def apply_patch(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """A copy of ``files`` with ``patch`` applied, every hunk exactly where it says.

    Raises ``PatchRejected`` when the lines found there differ from those the hunk expects.
    """
    texts = {path: _lines(text) for path, text in files.items()}
    shift: dict[str, int] = {}
    for hunk in hunks(patch):
        lines = texts.setdefault(hunk.path, [])
        at = hunk.start + shift.get(hunk.path, 0) - (1 if hunk.old else 0)  # a hunk without old lines follows its line
        found = lines[at : at + len(hunk.old)]
        if found != hunk.old:
            raise PatchRejected(f"{hunk.path} line {at + 1}: expected {hunk.old[:1]}, found {found[:1]}")
        lines[at : at + len(hunk.old)] = hunk.new
        shift[hunk.path] = shift.get(hunk.path, 0) + len(hunk.new) - len(hunk.old)
        if hunk.removes:
            del texts[hunk.path]
    return {path: "".join(lines) for path, lines in texts.items()}
