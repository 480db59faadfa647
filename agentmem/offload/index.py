"""An append-only journal: one JSON object a line, read back whole. Never rewritten, so nothing can race with it.

A torn last line (a crash in the middle of a write) is dropped; damage anywhere else is an error. Lines end at
``\\n`` only: texts may hold every other separator.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentmem.errors import EvidenceCorrupt, EvidenceWriteFailed

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The rows of a journal, without changing it; empty when there is no file.

    Raises ``EvidenceCorrupt`` with the line number for a damaged line that is not the last one.
    """
    return _parse(path)[0]


def _parse(path: Path) -> tuple[list[Row], int]:
    # the rows, and the length in bytes of the part that is whole
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    rows: list[Row] = []
    whole = 0
    lines = data.split(b"\n")
    tail = lines.pop()  # empty, or torn before its line end was written
    for number, line in enumerate(lines, 1):
        row = _row(line)
        if row is None:
            if number == len(lines) and not tail:
                break
            raise EvidenceCorrupt(f"{path}: line {number} is no JSON object; the file was damaged after it was written")
        rows.append(row)
        whole += len(line) + 1
    return rows, whole


def _row(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


class Journal:
    """Opens a journal for reading and appending. ``rows`` holds what was there when it was opened.

    ``durable`` waits for the disk on every append. One writer at a time: hold the session's lock.
    """

    def __init__(self, path: Path, durable: bool = True) -> None:
        self.path = path
        self.durable = durable
        self.rows, self._length = _parse(path)
        self._handle: int | None = None

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row. Raises ``EvidenceWriteFailed``; the file is as before then."""
        self.extend((row,))

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write several rows with one call to the disk: all of them, or none."""
        data = "".join(f"{json.dumps(row, allow_nan=False, separators=(',', ':'))}\n" for row in rows).encode("ascii")
        if not data:
            return
        try:
            handle = self._opened()
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
            if self.durable:
                os.fsync(handle)
        except OSError as error:
            self._undo()
            raise EvidenceWriteFailed(f"cannot append to {self.path}: {error}") from error
        self._length += len(data)

    def close(self) -> None:
        """Close the file; appending opens it again."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _opened(self) -> int:
        if self._handle is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._handle, self._length)  # a torn line must not grow into the next one
        return self._handle

    def _undo(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._length)
            self.close()
