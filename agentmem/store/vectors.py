"""Vectors as they stand in the file: one byte a dimension, clustered by scope, and two exact ways to search them.

A vector is scaled so that its largest part is 127 and rounded. Cosine does not see the scale; the rounding moves a
cosine by less than 0.002 at 384 dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentmem.store.records import Level

if TYPE_CHECKING:
    import apsw

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]
BLOCK = 8_192  # rows decoded at a time where the whole matrix is not kept


def pack(vectors: Matrix) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Rows as int8, and which of them are usable: finite and not all zero."""
    matrix = np.asarray(vectors, dtype=np.float32)
    with np.errstate(invalid="ignore"):
        largest = np.abs(matrix).max(axis=1)
        usable = np.isfinite(matrix).all(axis=1) & (largest > 0)
    safe = np.where(usable[:, None], matrix, 0)
    scale = np.where(usable, largest, 1)
    return np.rint(safe * (127 / scale)[:, None]).astype(np.int8), usable


def unpack(packed: bytes | bytearray, dimensions: int) -> Matrix:
    """Rows of unit length as float32, shape (rows, dimensions)."""
    matrix = np.frombuffer(packed, np.int8).reshape(-1, dimensions).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    return matrix


def unit(vector: Matrix) -> Matrix | None:
    """A query vector of unit length, or None when it is zero or not finite."""
    flat = np.asarray(vector, dtype=np.float32).ravel()
    length = float(np.linalg.norm(flat))
    return flat / np.float32(length) if np.isfinite(length) and length > 0 else None


def write(
    connection: apsw.Connection,
    level: Level,
    scope: int,
    seqs: Sequence[int],
    embedder: int,
    packed: NDArray[np.int8],
) -> None:
    """Store packed vectors of rows; older ones of the rows are replaced."""
    connection.executemany(
        "INSERT OR REPLACE INTO vectors(level, scope, seq, embedder, packed) VALUES (?, ?, ?, ?, ?)",
        ((level, scope, seq, embedder, packed[i].tobytes()) for i, seq in enumerate(seqs)),
    )


def remove(connection: apsw.Connection, level: Level, scope: int, seqs: Sequence[int]) -> None:
    """Delete the vectors of rows."""
    connection.executemany(
        "DELETE FROM vectors WHERE level = ? AND scope = ? AND seq = ?", ((level, scope, seq) for seq in seqs)
    )


def load(connection: apsw.Connection, level: Level, scope: int, embedder: int, dimensions: int) -> tuple[Rows, Matrix]:
    """All vectors of a scope made by that embedder: their rows, ascending, and the unit vectors."""
    seqs: list[int] = []
    packed = bytearray()
    for seq, blob in connection.execute(
        "SELECT seq, packed FROM vectors WHERE level = ? AND scope = ? AND embedder = ? ORDER BY seq",
        (level, scope, embedder),
    ):
        seqs.append(seq)
        packed += blob
    return np.array(seqs, np.int64), unpack(packed, dimensions)


def stream_numpy(
    connection: apsw.Connection, level: Level, scope: int, embedder: int, query: Matrix
) -> tuple[Rows, NDArray[np.float32]]:
    """Cosine of every vector of a scope, decoded block by block: for scopes too large to be kept in memory."""
    cursor = connection.execute(
        "SELECT seq, packed FROM vectors WHERE level = ? AND scope = ? AND embedder = ? ORDER BY seq",
        (level, scope, embedder),
    )
    seqs: list[int] = []
    scores: list[NDArray[np.float32]] = []
    packed, pending = bytearray(), 0
    for seq, blob in cursor:
        seqs.append(seq)
        packed += blob
        pending += 1
        if pending == BLOCK:
            scores.append(unpack(packed, len(query)) @ query)
            packed, pending = bytearray(), 0
    if pending:
        scores.append(unpack(packed, len(query)) @ query)
    return np.array(seqs, np.int64), np.concatenate(scores) if scores else np.empty(0, np.float32)


def stream_sqlite_vec(
    connection: apsw.Connection, level: Level, scope: int, embedder: int, query: Matrix, limit: int
) -> tuple[Rows, NDArray[np.float32]]:
    """The ``limit`` nearest vectors of a scope, found inside SQLite by sqlite-vec, with their cosine to the query.

    sqlite-vec compares bytes with bytes, so the query is rounded for the search; the scores returned are not.
    """
    rounded, _ = pack(query[None, :])
    rows: list[Any] = connection.execute(
        "SELECT seq, packed FROM vectors WHERE level = ? AND scope = ? AND embedder = ? "
        "ORDER BY vec_distance_cosine(vec_int8(packed), vec_int8(?)), seq LIMIT ?",
        (level, scope, embedder, rounded[0].tobytes(), limit),
    ).fetchall()
    rows.sort()
    seqs = np.array([row[0] for row in rows], np.int64)
    return seqs, unpack(b"".join(row[1] for row in rows), len(query)) @ query
