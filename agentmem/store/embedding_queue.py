"""Which rows still need a vector of the embedder in use: it follows from the rows, so there is no list to lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentmem.errors import StoreError
from agentmem.store import meta, vectors
from agentmem.store.frames import LIVE, stamp
from agentmem.store.records import Level, Pending
from agentmem.store.rows import MANY, TABLE

if TYPE_CHECKING:
    import apsw

CONTEXT = 300  # characters of the turn before that are embedded together with a turn
RECIPE = "context/1"  # changes when the same row would be embedded as another text; part of the embedder's identity


def current(connection: apsw.Connection) -> tuple[int, str, int] | None:
    """Number, name and dimensions of the embedder in use, or None."""
    number = meta.get(connection, "embedder")
    if number is None:
        return None
    row = connection.execute("SELECT id, name, dimensions FROM embedders WHERE id = ?", (int(number),)).fetchone()
    return None if row is None else (row[0], row[1], row[2])


def uses(connection: apsw.Connection, name: str, dimensions: int) -> bool:
    """Whether that is the embedder in use."""
    using = current(connection)
    return using is not None and using[1:] == (f"{name}#{RECIPE}", dimensions)


def use(connection: apsw.Connection, name: str, dimensions: int) -> None:
    """Make it the embedder in use; vectors of another one are replaced as rows are embedded anew."""
    full = f"{name}#{RECIPE}"
    connection.execute("INSERT OR IGNORE INTO embedders(name, dimensions) VALUES (?, ?)", (full, dimensions))
    number = connection.execute("SELECT id FROM embedders WHERE name = ? AND dimensions = ?", (full, dimensions)).get
    meta.put(connection, "embedder", str(number))


def pending(connection: apsw.Connection, level: Level, limit: int) -> list[Pending]:
    """Rows without a vector of the embedder in use, newest first."""
    using = current(connection)
    if using is None:
        return []
    found: list[tuple[int, str, str]] = []
    others = [0, *(row[0] for row in connection.execute("SELECT id FROM embedders WHERE id <> ?", (using[0],)))]
    for other in others:  # one index range each
        found.extend(
            connection.execute(
                f"SELECT seq, id, content FROM {TABLE[level]} WHERE embedded = ? {LIVE[level]} "
                "ORDER BY seq DESC LIMIT ?",
                (other, limit),
            )
        )
    found.sort(reverse=True)
    if level == "atom":
        return [Pending(level, seq, id, content) for seq, id, content in found[:limit]]
    return [Pending(level, seq, id, _turn_text(connection, seq)) for seq, id, _ in found[:limit]]


def count(connection: apsw.Connection, level: Level, scope: int | None) -> int:
    """Number of such rows, of one scope or of all."""
    using = current(connection)
    if using is None:
        return 0
    which = "" if scope is None else "AND scope = ?"
    number = connection.execute(
        f"SELECT count(*) FROM {TABLE[level]} WHERE embedded <> ? {LIVE[level]} {which}",
        (using[0],) if scope is None else (using[0], scope),
    ).get
    return int(number)


@dataclass(frozen=True, slots=True)
class Stored:
    """What was stored of one scope: its new stamp, rows ascending with their packed vectors, and rows done in all."""

    scope: int
    stamp: int
    embedder: int
    seqs: NDArray[np.int64]
    packed: NDArray[np.int8]
    done: int


def store(connection: apsw.Connection, level: Level, seqs: Sequence[int], matrix: vectors.Matrix) -> list[Stored]:
    """Store the vectors of rows that exist; an unusable vector marks its row as done without one."""
    using = current(connection)
    if using is None:
        raise StoreError("no embedder is in use: call use_embedder first")
    number, _, dimensions = using
    if matrix.shape != (len(seqs), dimensions):
        raise StoreError(f"expected vectors of shape ({len(seqs)}, {dimensions}), got {matrix.shape}")
    packed, usable = vectors.pack(matrix)
    scopes = _scopes_of(connection, level, seqs)
    lines: dict[int, list[int]] = {}
    for line, seq in enumerate(seqs):
        if seq in scopes:
            lines.setdefault(scopes[seq], []).append(line)
    done = []
    for scope, mine in lines.items():
        good = np.array(sorted((line for line in mine if usable[line]), key=lambda line: seqs[line]), np.int64)
        rows = np.array([seqs[line] for line in good], np.int64)
        vectors.remove(connection, level, scope, [seqs[line] for line in mine if not usable[line]])  # an older one
        vectors.write(connection, level, scope, rows.tolist(), number, packed[good])
        connection.executemany(
            f"UPDATE {TABLE[level]} SET embedded = ? WHERE seq = ?", ((number, int(seqs[line])) for line in mine)
        )
        done.append(Stored(scope, stamp(connection, level, scope, "vectors"), number, rows, packed[good], len(mine)))
    return done


def _scopes_of(connection: apsw.Connection, level: Level, seqs: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for start in range(0, len(seqs), MANY):
        part = [int(seq) for seq in seqs[start : start + MANY]]
        marks = ",".join("?" * len(part))
        rows = connection.execute(f"SELECT seq, scope FROM {TABLE[level]} WHERE seq IN ({marks}) {LIVE[level]}", part)
        found.update((row[0], row[1]) for row in rows)
    return found


def _turn_text(connection: apsw.Connection, seq: int) -> str:
    """What is embedded for a turn: the end of the turn before it, then the turn, each with its speaker."""
    row: Any = connection.execute(
        "SELECT scope, session, position, speaker, content FROM turns WHERE seq = ?", (seq,)
    ).fetchone()
    scope, session, position, speaker, content = row
    own = f"{speaker}: {content}" if speaker else content
    before: Any = connection.execute(
        "SELECT speaker, content FROM turns WHERE scope = ? AND session = ? AND position < ? "
        "ORDER BY position DESC, seq DESC LIMIT 1",
        (scope, session, position),
    ).fetchone()
    if before is None:
        return str(own)
    said = before[1][-CONTEXT:]
    return f"{before[0]}: {said} {own}" if before[0] else f"{said} {own}"
