"""Embeds a query within a time limit: a slow or dead embedder costs a recall its vector side and nothing else."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
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

        # the caller's context goes along: whoever records or traces requests finds this one where it belongs
        threading.Thread(
            target=contextvars.copy_context().run, args=(work,), name="agentmem-query", daemon=True
        ).start()
        return waiting


class WaitingVector:
    """A vector under way. Calling it waits until the moment given to ``by`` and returns the vector or None."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._result: QueryVector | None = None
        self._error: BaseException | None = None
        self._answer: QueryVector | None = None
        self._seconds_left: Callable[[], float] = lambda: 0.0

    def put(self, result: QueryVector) -> None:
        """Hand over the result."""
        self._result = result
        self._done.set()

    def fail(self, error: BaseException) -> None:
        """Hand over an error that is not the embedder's; ``get`` raises it."""
        self._error = error
        self._done.set()

    def by(self, seconds_left: Callable[[], float]) -> WaitingVector:
        """Give it the time that is left, asked for at the moment of waiting."""
        self._seconds_left = seconds_left
        return self

    def __call__(self) -> NDArray[np.float32] | None:
        return self.get().vector

    def get(self) -> QueryVector:
        """What came of it. Once the time was over, that stays the answer."""
        if self._answer is None:
            if not self._done.wait(max(self._seconds_left(), 0.0)):
                self._answer = QueryVector(None, "the embedder did not answer in time", late=True)
            elif self._error is not None:
                raise self._error
            else:
                self._answer = self._result
        assert self._answer is not None
        return self._answer


def known_vector(result: QueryVector) -> WaitingVector:
    """One that is known already, or known to be missing."""
    waiting = WaitingVector()
    waiting.put(result)
    return waiting
