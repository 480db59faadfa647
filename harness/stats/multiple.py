"""Several suites claimed together: Holm's step-down adjustment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import StatisticsError


@dataclass(frozen=True, slots=True)
class Holm:
    """Adjusted p values in the order given, and which are rejected at the family-wise level."""

    adjusted: tuple[float, ...]
    reject: tuple[bool, ...]


def holm(p_values: Sequence[float], alpha: float = 0.05) -> Holm:
    """Holm 1979: the i-th smallest of m p values times (m - i + 1), made non-decreasing, at most 1."""
    for p in p_values:
        if not 0.0 <= p <= 1.0:
            raise StatisticsError(f"a p value lies between 0 and 1, got {p}")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return Holm(tuple(adjusted), tuple(p <= alpha for p in adjusted))
