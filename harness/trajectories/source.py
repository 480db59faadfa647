"""From paths to decoded JSON records: folders, patterns, gzip, JSON Lines and whole documents.

Bytes that are not UTF-8 become lone surrogates (``surrogateescape``): the JSON around them still parses, which a
backslash would break, and the bytes can be had back. Lines end at a newline and nowhere else: U+2028 is text.
"""

from __future__ import annotations

import glob
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness.errors import UnreadableInput
from harness.trajectories.draft import describe, is_message_list

Warn = Callable[[str], None]

LINE_SUFFIXES = (".jsonl", ".ndjson")
SUFFIXES = (".json", ".traj", *LINE_SUFFIXES)
GZIP = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Found:
    """One file to read. ``named`` is False where it only lies in a folder that was given."""

    path: Path
    named: bool


@dataclass(frozen=True, slots=True)
class Record:
    """One decoded record and where it stands. ``number`` is its line (or place in a list), None for a whole file."""

    value: Any
    place: str
    number: int | None


def files(paths: Sequence[Path]) -> list[Found]:
    """Every file behind the paths, each once: files, folders (recursively, sorted) and patterns with ``*``.

    Raises ``UnreadableInput`` for a path where nothing is.
    """
    found: dict[Path, Found] = {}
    for path in paths:
        for file in _behind(Path(path)):
            found.setdefault(file.path.resolve(), file)
    return list(found.values())


def _behind(path: Path) -> list[Found]:
    if path.is_dir():
        return [Found(file, named=False) for file in sorted(path.rglob("*")) if _is_candidate(file, path)]
    if path.exists():
        return [Found(path, named=True)]
    matches = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(str(path)) else []  # noqa: PTH207
    if not matches:
        raise UnreadableInput(f"{path}: expected a file, a folder or a pattern that matches one, found nothing there")
    return [file for match in matches for file in _behind(Path(match))]


def _is_candidate(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and file.name.removesuffix(".gz").endswith(SUFFIXES) and file.is_file()


def records(path: Path, warn: Warn) -> Iterator[Record]:
    """The records of one file in order. A torn last line is dropped with a warning.

    Raises ``UnreadableInput`` with the line for anything else that does not parse.
    """
    try:
        with path.open("rb") as raw:
            head = raw.read(2)
            raw.seek(0)
            if head in UTF16_BOMS:
                raise UnreadableInput(f"{path}: expected UTF-8 text, found UTF-16")
            stream: IO[bytes] = gzip.GzipFile(fileobj=raw) if head == GZIP else raw  # type: ignore[assignment]
            yield from _records(_Lines(stream, path, warn), path, warn)
    except OSError as error:
        raise UnreadableInput(f"{path}: expected a readable file, found: {error.strerror or error}") from error


class _Lines:
    """The lines of a stream that hold anything, with their number. A stream cut short ends with a warning."""

    def __init__(self, stream: IO[bytes], path: Path, warn: Warn) -> None:
        self.stream = stream
        self.path = path
        self.warn = warn
        self.escaped = False

    def __iter__(self) -> Iterator[tuple[int, str]]:
        number = 0
        while True:
            try:
                line = self.stream.readline()
            except EOFError:
                self.warn(f"{self.path}:{number + 1}: the compressed file is cut short; what came before it is used")
                return
            except zlib.error as error:
                raise UnreadableInput(f"{self.path}:{number + 1}: expected gzip data, found damage: {error}") from error
            if not line:
                return
            number += 1
            if number == 1:
                line = line.removeprefix(UTF8_BOM)
            if line.strip():
                yield number, self._decode(line)

    def _decode(self, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            if not self.escaped:
                self.warn(f"{self.path}: some bytes are not UTF-8; they are kept as lone surrogates")
            self.escaped = True
            return line.decode("utf-8", errors="surrogateescape")


def _records(lines: _Lines, path: Path, warn: Warn) -> Iterator[Record]:
    rows = iter(lines)
    first = next(rows, None)
    if first is None:
        warn(f"{path}: the file is empty")
        return
    try:
        value = _parse(first[1])
    except ValueError as error:
        yield from _document(first, list(rows), path, error)
        return
    if isinstance(value, list) and not is_message_list(value):
        second = next(rows, None)
        if second is not None:
            raise UnreadableInput(f"{path}:{first[0]}: expected one recorded run a line, found {describe(value)}")
        yield from _listed(value, path, warn)
        return
    yield Record(value, f"{path}:{first[0]}", first[0])
    broken: tuple[int, ValueError] | None = None
    for number, line in rows:
        if broken is not None:
            raise _broken(path, *broken)
        try:
            value = _parse(line)
        except ValueError as error:
            broken = (number, error)
            continue
        yield Record(value, f"{path}:{number}", number)
    if broken is not None:
        warn(f"{path}:{broken[0]}: the last line is torn and was dropped")


def _document(first: tuple[int, str], rest: list[tuple[int, str]], path: Path, error: ValueError) -> Iterator[Record]:
    """A file that is one JSON document over several lines; its first line alone did not parse."""
    numbers = [first[0], *(number for number, _ in rest)]
    text = first[1] + "".join(line for _, line in rest)
    try:
        value = _parse(text)
    except ValueError as whole:
        if not rest or _parses(rest[0][1]):
            raise _broken(path, first[0], error) from whole
        line = whole.lineno if isinstance(whole, json.JSONDecodeError) else 1
        raise _broken(path, numbers[min(line, len(numbers)) - 1], whole) from whole
    if isinstance(value, list) and not is_message_list(value):
        yield from _listed(value, path, lambda _: None)
    else:
        yield Record(value, str(path), None)


def _listed(values: list[Any], path: Path, warn: Warn) -> Iterator[Record]:
    if not values:
        warn(f"{path}: the list is empty")
    for number, value in enumerate(values, start=1):
        yield Record(value, f"{path}, item {number}", number)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _parses(text: str) -> bool:
    try:
        return isinstance(_parse(text), (dict, list))
    except ValueError:
        return False


def _broken(path: Path, number: int, error: ValueError) -> UnreadableInput:
    what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return UnreadableInput(f"{path}:{number}: expected a recorded run as JSON, found broken JSON ({what})")
