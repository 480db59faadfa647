"""One level of one scope in memory, a column an array: what ranking needs of every row, without its text.

A frame is a snapshot and never changes; the cache makes the next one from it when rows were added.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentmem.store import vectors
from agentmem.store.records import Level

if TYPE_CHECKING:
    import apsw

Ints = NDArray[np.int64]
COLUMNS = {
    "turn": "seq, words, asks, position, timestamp + offset * 60000, session, role, speaker, ''",
    "atom": "seq, words, 0, 0, updated, session, type, '', scene",
}
SOURCE = {"turn": "turns", "atom": "atoms"}
LIVE = {"turn": "", "atom": "AND superseded_by IS NULL"}
DAY = 86_400_000  # ms


@dataclass(frozen=True)
class Names:
    """A column of names: ``codes[i]`` is the place of row i's name in ``names``."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def extended(self, values: Sequence[str]) -> Names:
        """With the names of further rows; known names keep their codes."""
        places = {name: i for i, name in enumerate(self.names)}
        codes = [places.setdefault(value, len(places)) for value in values]
        return Names(np.concatenate([self.codes, np.array(codes, np.int32)]), tuple(places))

    def are(self, wanted: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows have one of the names."""
        names = set(wanted)
        return self._where([name in names for name in self.names])

    def hold(self, part: str) -> NDArray[np.bool_]:
        """Which rows have a name that contains the text, whatever its case."""
        return self._where([part.casefold() in name.casefold() for name in self.names])

    def _where(self, fits: Sequence[bool]) -> NDArray[np.bool_]:
        return np.array(fits, bool)[self.codes] if len(fits) else np.zeros(len(self.codes), bool)


_NONE = Names(np.empty(0, np.int32), ())


@dataclass(frozen=True)
class Frame:
    """Rows by ascending ``seq``. ``kind`` is a turn's role or an atom's type; ``local`` is local time in ms.

    ``matrix[:len(frame)]`` holds the unit vectors of rows whose ``has`` is true; None until it is asked for.
    """

    level: Level
    scope: int
    seq: Ints
    words: NDArray[np.float32]
    asks: NDArray[np.bool_]
    position: Ints
    local: Ints
    session: Names
    kind: Names
    speaker: Names
    scene: Names
    added: int = 0
    removed: int = 0
    vectors: int = -1
    embedder: int = 0
    matrix: NDArray[np.float32] | None = None
    has: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.seq)

    @cached_property
    def order(self) -> Ints:
        """Rows by session and position: neighbours of a conversation stand side by side."""
        return np.lexsort((self.seq, self.position, self.session.codes))

    @cached_property
    def log_words(self) -> NDArray[np.float32]:
        """log(1 + words) of each row."""
        return np.log1p(self.words)

    @cached_property
    def days(self) -> NDArray[np.datetime64]:
        """The local calendar day of each row."""
        return (self.local // DAY).astype("datetime64[D]")

    def rows_of(self, seqs: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Where the rows of ascending ``seqs`` stand, and which of them are here at all."""
        if not len(self.seq):
            return np.zeros(len(seqs), np.int64), np.zeros(len(seqs), bool)
        if int(self.seq[-1]) - int(self.seq[0]) == len(self.seq) - 1:  # no gaps: a row stands where its number says
            offset = seqs - self.seq[0]
            here = (offset >= 0) & (offset < len(self.seq))
            return np.where(here, offset, 0), here
        places = np.minimum(np.searchsorted(self.seq, seqs), len(self.seq) - 1)
        return places, self.seq[places] == seqs


def empty(level: Level, scope: int) -> Frame:
    """A frame without rows."""
    numbers = np.empty(0, np.int64)
    return Frame(
        level, scope, numbers, np.empty(0, np.float32), np.empty(0, bool), numbers, numbers, _NONE, _NONE, _NONE, _NONE
    )


class FrameCache:
    """Frames of the scopes in use, at most ``most`` bytes of them; the scope asked for last is always kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._frames: OrderedDict[tuple[Level, int], Frame] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, connection: apsw.Connection, level: Level, scope: int, keep: bool = True) -> Frame:
        """The frame of a level and scope as the connection sees them now.

        ``keep`` is False inside a transaction that may still be rolled back: then nothing is cached.
        """
        with self._lock:
            frame = self._frames.get((level, scope))
            added, removed, _ = stamps(connection, level, scope)
            if frame is None or frame.removed != removed:
                frame = _grown(connection, empty(level, scope))
            elif frame.added != added:
                frame = _grown(connection, frame)
            if (frame.added, frame.removed) != (added, removed):
                frame = replace(frame, added=added, removed=removed)
            if keep:
                self._keep(frame)
            return frame

    def with_vectors(
        self, connection: apsw.Connection, frame: Frame, embedder: int, dimensions: int, keep: bool = True
    ) -> Frame:
        """The frame with its matrix, read from the file where it is not up to date."""
        with self._lock:
            _, _, current = stamps(connection, frame.level, frame.scope)
            known = self._frames.get((frame.level, frame.scope))
            if known is not None and known.seq is frame.seq:
                frame = known
            if frame.matrix is None or frame.vectors != current or frame.embedder != embedder:
                seqs, loaded = vectors.load(connection, frame.level, frame.scope, embedder, dimensions)
                matrix = np.zeros((_room(len(frame)), dimensions), np.float32)
                has = np.zeros(len(frame), bool)
                places, here = frame.rows_of(seqs)
                matrix[places[here]] = loaded[here]
                has[places[here]] = True
                frame = replace(frame, matrix=matrix, has=has, vectors=current, embedder=embedder)
            if keep:
                self._keep(frame)
            return frame

    def note_vectors(
        self, level: Level, scope: int, stamp: int, embedder: int, seqs: Ints, unit: vectors.Matrix
    ) -> None:
        """Take over vectors this process has just stored (``seqs`` ascending) under that new ``stamp``."""
        with self._lock:
            frame = self._frames.get((level, scope))
            if frame is None or frame.matrix is None or frame.has is None:
                return
            if frame.embedder != embedder or frame.vectors != stamp - 1:
                return
            places, here = frame.rows_of(seqs)
            if not here.all():
                return  # rows this frame has not seen yet: it is read anew when it is asked for
            frame.matrix[places] = unit
            has = frame.has.copy()
            has[places] = True
            self._keep(replace(frame, has=has, vectors=stamp))

    def forget(self, level: Level, scope: int) -> None:
        """Drop a frame."""
        with self._lock:
            self._frames.pop((level, scope), None)

    def _keep(self, frame: Frame) -> None:
        key = (frame.level, frame.scope)
        self._frames[key] = frame
        self._frames.move_to_end(key)
        while len(self._frames) > 1 and sum(map(_size, self._frames.values())) > self._most:
            self._frames.popitem(last=False)


def stamps(connection: apsw.Connection, level: Level, scope: int) -> tuple[int, int, int]:
    """Counters of what was added, removed, and stored as vectors."""
    row = connection.execute(
        "SELECT added, removed, vectors FROM stamps WHERE level = ? AND scope = ?", (level, scope)
    ).fetchone()
    return tuple(row) if row else (0, 0, 0)


def stamp(connection: apsw.Connection, level: Level, scope: int, column: str) -> int:
    """Count one more change; returns the new counter."""
    value = connection.execute(
        f"INSERT INTO stamps(level, scope, {column}) VALUES (?, ?, 1) "
        f"ON CONFLICT DO UPDATE SET {column} = {column} + 1 RETURNING {column}",
        (level, scope),
    ).get
    return int(value)


def _grown(connection: apsw.Connection, frame: Frame) -> Frame:
    last = int(frame.seq[-1]) if len(frame) else 0
    rows = connection.execute(
        f"SELECT {COLUMNS[frame.level]} FROM {SOURCE[frame.level]} "
        f"WHERE scope = ? AND seq > ? {LIVE[frame.level]} ORDER BY seq",
        (frame.scope, last),
    ).fetchall()
    if not rows:
        return frame
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True))
    seq, words, asks, position, local, session, kind, speaker, scene = columns
    matrix, has = frame.matrix, frame.has
    if matrix is not None and has is not None:
        count = len(frame) + len(rows)
        if count > len(matrix):
            wider = np.zeros((_room(count), matrix.shape[1]), np.float32)
            wider[: len(frame)] = matrix[: len(frame)]
            matrix = wider
        has = np.concatenate([has, np.zeros(len(rows), bool)])
    return replace(
        frame,
        seq=np.concatenate([frame.seq, np.array(seq, np.int64)]),
        words=np.concatenate([frame.words, np.array(words, np.float32)]),
        asks=np.concatenate([frame.asks, np.array(asks, bool)]),
        position=np.concatenate([frame.position, np.array(position, np.int64)]),
        local=np.concatenate([frame.local, np.array(local, np.int64)]),
        session=frame.session.extended(session),
        kind=frame.kind.extended(kind),
        speaker=frame.speaker.extended(speaker),
        scene=frame.scene.extended(scene),
        matrix=matrix,
        has=has,
    )


def _room(count: int) -> int:
    return max(64, count + count // 4)


def _size(frame: Frame) -> int:
    matrix = 0 if frame.matrix is None else frame.matrix.nbytes
    return matrix + 64 * len(frame)
