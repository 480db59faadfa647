"""What a ranking knows of each candidate, so that every recall can explain itself, and rank fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

RRF_K = 60  # memory_core.md B15; Cormack, Clarke and Buettcher, SIGIR 2009


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row that a search found, with its rank (from 1) and raw score on each side; None where a side missed it.

    ``keyword_score`` is BM25 / (1 + BM25), ``vector_score`` a cosine. ``signals`` are the shares that make up
    ``score``. ``dropped`` says why the row was not returned; None for those that were.
    """

    id: str
    seq: int
    score: float
    keyword_rank: int | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None
    signals: Mapping[str, float] = field(default_factory=dict)
    dropped: str | None = None


def fuse(lists: Sequence[Sequence[str]], k: float = RRF_K) -> list[tuple[str, float]]:
    """Reciprocal rank fusion: each list adds 1 / (k + rank) to its ids; best first, ties by first appearance."""
    scores: dict[str, float] = {}
    for ids in lists:
        for rank, id in enumerate(ids, 1):
            scores[id] = scores.get(id, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda item: -item[1])
