"""Points in two figures, less of both being better: those that no other point beats."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points no other point beats in both figures, by the first figure. Of equal points one stands."""
    best = float("inf")
    front = []
    for index in sorted(range(len(points)), key=points.__getitem__):
        if points[index][1] < best:
            best = points[index][1]
            front.append(index)
    return front
