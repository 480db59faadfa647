"""A circuit breaker: after failures in a row nobody asks for a while, then one request finds out. memory_core.md C4."""

from __future__ import annotations

import threading


class Breaker:
    """``failures`` in a row open it for ``seconds``; then one request may try, and its outcome decides."""

    def __init__(self, failures: int = 5, seconds: float = 60.0) -> None:
        self.failures = failures
        self.seconds = seconds
        self._count = 0
        self._opened: float | None = None
        self._trying = False
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """True while requests are held back or one of them is finding out."""
        return self._opened is not None

    def allows(self, now: float) -> bool:
        """Whether a request may be made now; a True of an open breaker is given to one caller only."""
        with self._lock:
            if self._opened is None:
                return True
            if self._trying or now - self._opened < self.seconds:
                return False
            self._trying = True
            return True

    def succeeded(self) -> None:
        """A request was answered."""
        with self._lock:
            self._count, self._opened, self._trying = 0, None, False

    def failed(self, now: float) -> None:
        """A request was not answered."""
        with self._lock:
            self._count += 1
            if self._trying or self._count >= self.failures:
                self._opened, self._trying = now, False
