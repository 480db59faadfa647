"""What a run may cost: one purse for all its calls, shared by its threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import CostLimit
from harness.types import Attempt, Usage


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens."""

    uncached: float = 0.0
    cached: float = 0.0
    output: float = 0.0

    def of(self, usage: Usage) -> float:
        """What a call cost; tokens nobody reported or counted cost nothing here."""
        cached = min(usage.cached or 0, usage.prompt or 0)
        fresh = (usage.prompt or 0) - cached
        return (fresh * self.uncached + cached * self.cached + (usage.completion or 0) * self.output) / 1e6


class Budget:
    """Adds up the cost of calls and refuses the next one once the limit is reached. ``limit`` None means no limit."""

    def __init__(self, prices: Prices = Prices(), limit: float | None = None) -> None:
        self.prices = prices
        self.limit = limit
        self._spent = 0.0
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """Cost so far."""
        return self._spent

    def check(self, failed: Sequence[Attempt] = ()) -> None:
        """Raise ``CostLimit`` when nothing is left; it carries the requests that ``failed`` before."""
        if self.limit is not None and self._spent >= self.limit:
            text = f"the run has cost {self._spent:.4f} of at most {self.limit:.4f}; raise --cost-limit"
            raise CostLimit(text, failed)

    def add(self, usage: Usage) -> None:
        """Charge one request."""
        with self._lock:
            self._spent += self.prices.of(usage)
