"""Where to look next: from a traceback and the code that was shown to the next search or the next file to read."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import unittest
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from suites.swebench.mini.commands import Answer, Style, searched_name
from suites.swebench.mini.view import Frame, View, definitions, is_test_path, listing, tracebacks

_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
_DEFINED = re.compile(r"^\s*(?:def|class) (\w+)")
_IMPORTED = re.compile(r"^from (\S+) import (.+)$")
_ORDINARY = frozenset(
    {*dir(builtins), *keyword.kwlist}
    | {name for kind in (str, bytes, list, dict, set, int, float, unittest.TestCase) for name in dir(kind)}
)

Shown = Mapping[str, Mapping[int, str]]


def next_lead(view: View, style: Style) -> Answer | None:
    """The next search or reading, None when nothing is left.

    In this order: places in the traceback; the rest of files that were read in part; what the test calls; what
    the code shown so far calls.
    """
    notes = _Notes.of(view, style)
    frames = view.first(tracebacks) or ()
    own = [frame for frame in reversed(frames) if not is_test_path(frame.path)]
    leads = chain(
        (notes.place(frame.function, frame.path, frame.line - 12, frame.line) for frame in own),
        (notes.rest(path) for path in notes.shown if not is_test_path(path)),
        (notes.name(name) for name in notes.likely(_called_by_tests(frames, notes.shown))),
        (notes.name(name) for name in notes.likely(_called_by_sources(notes.shown))),
    )
    return next((lead for lead in leads if lead is not None), None)


@dataclass(frozen=True)
class _Notes:
    """What has been looked at, as far as the prompt still shows it."""

    view: View
    style: Style
    shown: Shown
    legible: frozenset[str]

    @classmethod
    def of(cls, view: View, style: Style) -> _Notes:
        """``shown``: every line of every file by path and number; ``legible``: the commands that showed them."""
        files: dict[str, dict[int, str]] = {}
        commands = set()
        for command, (path, lines) in view.each(listing):
            commands.add(command)
            files[path] = lines | files.get(path, {})  # of a line shown twice the newest counts
        return cls(view, style, files, frozenset(commands))

    def place(self, name: str, path: str, line: int, goal: int) -> Answer | None:
        """Read from ``line`` on, unless line ``goal`` stands there already or the very same was read before."""
        answer = self.style.read_source(name, path, line)
        return None if goal in self.shown.get(path, {}) or answer[1] in self.legible else answer

    def name(self, name: str) -> Answer | None:
        """Search for a name, then read its definitions outside of the tests."""
        places = [
            (path, number)
            for path, lines in self.shown.items()
            for number, text in lines.items()
            if (match := _DEFINED.match(text)) and match[1] == name
        ]
        if not places:
            if name not in {searched_name(step.command) for step in self.view.steps}:
                return self.style.search(name)
            places = list(self.view.first(definitions(name)) or ())
        leads = (self.place(name, path, line, line + 8) for path, line in places if not is_test_path(path))
        return next((lead for lead in leads if lead is not None), None)

    def rest(self, path: str) -> Answer | None:
        """Read the whole of a file of which a part was shown."""
        answer = self.style.read_whole(path)
        return None if answer[1] in self.legible else answer

    def likely(self, names: Iterator[str]) -> list[str]:
        """Names that may be ours, those seen in a definition or an import first; helpers of the tests left out."""
        helpers = {name for path, lines in self.shown.items() if is_test_path(path) for name in _defined(lines)}
        imported = [pair for lines in self.shown.values() for pair in _imported(lines)]
        library = {name for name, module in imported if module.split(".")[0] in sys.stdlib_module_names}
        known = {name for lines in self.shown.values() for name in _defined(lines)} | {name for name, _ in imported}
        found = [name for name in dict.fromkeys(names) if name not in _ORDINARY | helpers | library]
        return sorted(found, key=lambda name: name not in known)


def _called_by_tests(frames: tuple[Frame, ...], shown: Shown) -> Iterator[str]:
    """What the failing lines call, then what the dozen lines above them call, nearest first."""
    tests = [frame for frame in frames if is_test_path(frame.path)]
    for frame in tests:
        yield from _CALL.findall(frame.code)
    for frame in tests:
        lines = shown.get(frame.path, {})
        for number in range(frame.line, frame.line - 12, -1):
            yield from _CALL.findall(lines.get(number, ""))


def _called_by_sources(shown: Shown) -> Iterator[str]:
    for path, lines in shown.items():
        if not is_test_path(path):
            yield from (name for text in lines.values() if not _DEFINED.match(text) for name in _CALL.findall(text))


def _defined(lines: Mapping[int, str]) -> Iterator[str]:
    for text in lines.values():
        if match := _DEFINED.match(text):
            yield match[1]


def _imported(lines: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """(name, module) of every name that a line imports."""
    for text in lines.values():
        if match := _IMPORTED.match(text):
            yield from ((name.strip(" ()"), match[1]) for name in match[2].split(","))
