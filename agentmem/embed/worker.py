"""Gives vectors to rows that have none: newest first, a batch at a time, to be called again until nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agentmem.embed.protocol import Embedder
from agentmem.errors import BadAnswer, ModelError, ModelRejected
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import LEVELS, Pending

BATCH = 256


@dataclass(frozen=True, slots=True)
class Embedded:
    """What one run did: rows done, rows given up as the embedder refuses their text, and the error that ended it."""

    done: int
    refused: int = 0
    error: str | None = None


def embed_pending(
    store: MemoryStore, embedder: Embedder, most: int = 10_000, stop: Callable[[], bool] = lambda: False
) -> Embedded:
    """Embed at most ``most`` rows of the store. ``stop`` is asked between batches.

    An embedder that is down ends the run; the rows stay pending. A text that it refuses by itself is stored as done
    without a vector, so that one bad row does not stand in the way of the others; keyword search still finds it.
    """
    store.use_embedder(embedder.name, embedder.dimensions)
    done = refused = 0
    for level in LEVELS:
        while done < most and not stop():
            rows = store.pending(level, min(BATCH, most - done))
            if not rows:
                break
            try:
                refused += _store(store, embedder, rows)
            except ModelError as error:
                return Embedded(done, refused, str(error))
            done += len(rows)
    return Embedded(done, refused)


def _store(store: MemoryStore, embedder: Embedder, rows: list[Pending]) -> int:
    """Returns the number of rows refused. Raises ``ModelError`` when it is not the rows' fault."""
    try:
        vectors = embedder.embed([row.text for row in rows])
    except (ModelRejected, BadAnswer):
        if len(rows) == 1:
            if not _works(embedder, rows[0].seq):
                raise
            store.put_vectors(rows[0].level, [rows[0].seq], np.zeros((1, embedder.dimensions), np.float32))
            return 1
        middle = len(rows) // 2
        if not _works(embedder, rows[0].seq):
            raise
        return _store(store, embedder, rows[:middle]) + _store(store, embedder, rows[middle:])
    store.put_vectors(rows[0].level, [row.seq for row in rows], vectors)
    return 0


def _works(embedder: Embedder, number: int) -> bool:
    """Whether the embedder answers at all; when it does, a refusal was about the text."""
    try:
        embedder.embed([f"test {number}"])  # not a text that a cache may hold
    except ModelError:
        return False
    return True
