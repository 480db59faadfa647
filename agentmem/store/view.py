"""A scope's rows of one level, ready for ranking: columns, keyword scores and cosines as arrays over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agentmem.errors import StoreError
from agentmem.store import bm25, vectors
from agentmem.store.frames import Frame, FrameCache
from agentmem.store.rows import ids_of
from agentmem.text.keywords import Term

if TYPE_CHECKING:
    import apsw

NEAREST = 1_000  # rows that sqlite-vec hands over
Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


class View:
    """One snapshot. ``embedder`` is (number, dimensions) of the embedder in use, or None.

    ``keep`` says whether what is read may be cached; ``most`` rows are kept as a matrix, more are streamed.
    """

    def __init__(
        self,
        frame: Frame,
        reading: Callable[[], AbstractContextManager[apsw.Connection]],
        cache: FrameCache,
        embedder: tuple[int, int] | None,
        path: str,
        most: int,
        keep: bool,
    ) -> None:
        self.frame = frame
        self._reading = reading
        self._cache = cache
        self._embedder = embedder
        self._path = path
        self._most = most
        self._keep = keep

    def __len__(self) -> int:
        return len(self.frame)

    def matches(self, terms: Sequence[Term]) -> list[bm25.Match]:
        """Which of the terms occur, and where."""
        with self._reading() as connection:
            return bm25.matches(connection, self.frame, terms)

    def cosines(self, vector: vectors.Matrix, candidates: int | None = None) -> tuple[Scores, Mask]:
        """Cosine of each row with a vector, and which rows have one at all.

        Where sqlite-vec searches a scope too large for memory, only the ``candidates`` nearest have one: as many as
        ``NEAREST``, unless a filter will need more. Raises ``StoreError`` when the dimensions are not the
        embedder's.
        """
        scores, has = np.zeros(len(self.frame), np.float32), np.zeros(len(self.frame), bool)
        if self._embedder is None or not len(self.frame):
            return scores, has
        number, dimensions = self._embedder
        query = vectors.unit(vector)
        if len(np.ravel(vector)) != dimensions:
            raise StoreError(f"the query vector has {len(np.ravel(vector))} dimensions, the stored ones {dimensions}")
        if query is None:
            return scores, has
        with self._reading() as connection:
            if self._path == "numpy" and len(self.frame) <= self._most:
                frame = self._cache.with_vectors(connection, self.frame, number, dimensions, self._keep)
                assert frame.matrix is not None and frame.has is not None
                # not BLAS: its threads are no faster here and wait for each other on a busy machine
                np.einsum("ij,j->i", frame.matrix[: len(frame)], query, out=scores)
                return scores, frame.has[: len(frame)].copy()
            where = (connection, self.frame.level, self.frame.scope, number, query)
            if self._path == "numpy":
                seqs, found = vectors.stream_numpy(*where)
            else:
                seqs, found = vectors.stream_sqlite_vec(*where, candidates or NEAREST)
        places, here = self.frame.rows_of(seqs)
        scores[places[here]] = found[here]
        has[places[here]] = True
        return scores, has

    def ids(self, places: NDArray[np.int64]) -> dict[int, str]:
        """Ids of rows by ``seq``; rows deleted since the snapshot are left out."""
        with self._reading() as connection:
            return ids_of(connection, self.frame.level, self.frame.seq[places].tolist())

    def mask(
        self, session: str | None = None, types: Sequence[str] | None = None, scene: str | None = None
    ) -> Mask | None:
        """Which rows pass the filters (session and types by name, scene by a part of it); None when there are none."""
        allowed: Mask | None = None
        for wanted in (
            None if session is None else self.frame.session.are([session]),
            None if types is None else self.frame.kind.are(types),
            None if not scene else self.frame.scene.hold(scene),
        ):
            if wanted is not None:
                allowed = wanted if allowed is None else allowed & wanted
        return allowed


def best(scores: Scores, allowed: Mask, limit: int) -> NDArray[np.int64]:
    """Places of the ``limit`` best allowed rows, best first; equal scores in order of the rows."""
    places = np.flatnonzero(allowed)
    if limit < len(places):
        kept = np.argpartition(-scores[places], limit - 1)[:limit] if limit > 0 else np.empty(0, np.int64)
        edge = scores[places[kept]].min() if len(kept) else np.inf
        places = places[scores[places] >= edge]  # rows that tie at the edge are decided by their order
    return places[np.argsort(-scores[places], kind="stable")][: max(limit, 0)]
