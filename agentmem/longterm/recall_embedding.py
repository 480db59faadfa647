"""Embeds a query within a time limit: a slow or dead embedder costs a recall its vector side and nothing else."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentmem.embed.protocol import Embedder
from agentmem.errors import ModelError

MOST_AT_ONCE = 8  # queries an embedder may be busy with; a server that hangs must not collect threads


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector, or why there is none. ``late`` is True when the time was over."""

    vector: NDArray[np.float32] | None
    trouble: str | None = None
    late: bool = False


class QueryEmbedder:
    """Embeds queries for many threads."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._busy = threading.BoundedSemaphore(MOST_AT_ONCE)

    def start(self, query: str) -> WaitingVector:
        """Begin; the caller does other work meanwhile."""
        waiting = WaitingVector()
        if not self._busy.acquire(blocking=False):
            waiting.put(QueryVector(None, f"the embedder is still busy with {MOST_AT_ONCE} queries"))
            return waiting

        def work() -> None:
            try:
                vector = self.embedder.embed([query])[0]
                waiting.put(QueryVector(vector) if vector.any() else QueryVector(None, "the query has no vector"))
            except ModelError as error:
                waiting.put(QueryVector(None, str(error)))
            except BaseException as error:  # noqa: BLE001 - a thread must hand its error over to the caller
                waiting.fail(error)
            finally:
                self._busy.release()

        threading.Thread(target=work, name="agentmem-query", daemon=True).start()
        return waiting


class WaitingVector:
    """A vector under way."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._result: QueryVector | None = None
        self._error: BaseException | None = None

    def put(self, result: QueryVector) -> None:
        """Hand over the result."""
        self._result = result
        self._done.set()

    def fail(self, error: BaseException) -> None:
        """Hand over an error that is not the embedder's; ``get`` raises it."""
        self._error = error
        self._done.set()

    def get(self, seconds: float) -> QueryVector:
        """Wait at most that long."""
        if not self._done.wait(max(seconds, 0.0)):
            return QueryVector(None, "the embedder did not answer in time", late=True)
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result
