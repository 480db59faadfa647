"""Which names are worth looking up: a traceback and the code that was shown, turned into an order of search."""

from __future__ import annotations

import builtins
import keyword
import re
import unittest
from collections.abc import Iterator, Mapping

from suites.swebench.mini.view import Frame, View, is_test_path, listing, tracebacks

_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
_DEFINED = re.compile(r"^\s*(?:def|class) (\w+)")
_IMPORTED = re.compile(r"^from \S+ import (.+)$")
_ORDINARY = frozenset(
    {*dir(builtins), *keyword.kwlist}
    | {name for kind in (str, bytes, list, dict, set, int, float, unittest.TestCase) for name in dir(kind)}
)

Shown = Mapping[str, Mapping[int, str]]


def shown_files(view: View) -> dict[str, dict[int, str]]:
    """Every line of every file that the prompt shows, by path and number; the newest showing of a line counts."""
    files: dict[str, dict[int, str]] = {}
    for path, lines in view.all(listing):
        known = files.setdefault(path, {})
        for number, text in lines.items():
            known.setdefault(number, text)
    return files


def suspects(view: View) -> Iterator[str]:
    """Names to look up, the most likely first: where it broke, what the test calls, what those call in turn."""
    shown = shown_files(view)
    frames = view.first(tracebacks) or ()
    wanted = [*_from_frames(frames, shown), *_from_sources(shown)]
    helpers = {name for path, lines in shown.items() if is_test_path(path) for name in _defined(lines)}
    known = {name for lines in shown.values() for name in (*_defined(lines), *_imported(lines))}
    names = [name for name in dict.fromkeys(wanted) if name not in _ORDINARY and name not in helpers]
    yield from sorted(names, key=lambda name: name not in known)  # stable: the likely ones keep their order


def _from_frames(frames: tuple[Frame, ...], shown: Shown) -> Iterator[str]:
    for frame in reversed(frames):
        if not is_test_path(frame.path):
            yield frame.function
    for frame in frames:
        if is_test_path(frame.path):
            yield from _CALL.findall(frame.code)
    for frame in frames:
        lines = shown.get(frame.path, {}) if is_test_path(frame.path) else {}
        for number in range(frame.line, max(0, frame.line - 12), -1):
            yield from _CALL.findall(lines.get(number, ""))


def _from_sources(shown: Shown) -> Iterator[str]:
    for path, lines in shown.items():
        if not is_test_path(path):
            for text in lines.values():
                yield from (name for name in _CALL.findall(text) if not _DEFINED.match(text))


def _defined(lines: Mapping[int, str]) -> Iterator[str]:
    for text in lines.values():
        if match := _DEFINED.match(text):
            yield match[1]


def _imported(lines: Mapping[int, str]) -> Iterator[str]:
    for text in lines.values():
        if match := _IMPORTED.match(text):
            yield from (name.strip(" ()") for name in match[1].split(","))
