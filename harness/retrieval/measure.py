"""Recall of evidence: the share of a question's evidence among the first k results, averaged over questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.stats.bootstrap import percentile_interval, ratio_draws

KS = (1, 5, 10, 20)
SEED = 0


@dataclass(frozen=True, slots=True)
class Found:
    """One question: what was found, best first, and what had to be found. ``conversation`` and ``group`` sort it.

    A result is the ids it stands for: one message, or the messages that an atom rests on.
    """

    id: str
    conversation: str
    group: str
    results: tuple[tuple[str, ...], ...]
    wanted: tuple[str, ...]

    def share(self, k: int) -> float:
        """Share of the evidence among the first ``k`` results."""
        held = {id for result in self.results[:k] for id in result}
        return len(held & set(self.wanted)) / len(set(self.wanted))


@dataclass(frozen=True, slots=True)
class Score:
    """Figures over questions. ``recall`` is the mean share of evidence found, ``hit`` the share of questions for which
    anything was found, each by k. ``questions`` with evidence are the denominator; 0 makes all figures None."""

    questions: int
    recall: Mapping[int, float | None]
    hit: Mapping[int, float | None]


def score(found: Iterable[Found], ks: Sequence[int] = KS) -> Score:
    """Questions without evidence are left out."""
    rows = [row for row in found if row.wanted]
    shares = {k: [row.share(k) for row in rows] for k in ks}
    return Score(
        len(rows),
        {k: _mean(values) for k, values in shares.items()},
        {k: _mean([float(value > 0) for value in values]) for k, values in shares.items()},
    )


def recall_interval(found: Iterable[Found], k: int) -> tuple[float, float] | None:
    """95 % interval of recall@k, whole conversations resampled; None with fewer than two conversations."""
    import numpy as np

    by_conversation: dict[str, list[float]] = {}
    for row in found:
        if row.wanted:
            by_conversation.setdefault(row.conversation, []).append(row.share(k))
    if len(by_conversation) < 2:
        return None
    top = np.array([sum(values) for values in by_conversation.values()])
    bottom = np.array([float(len(values)) for values in by_conversation.values()])
    interval = percentile_interval(ratio_draws(top, bottom, seed=SEED))
    return interval.low, interval.high


def by_session(found: Found, session_of: Mapping[str, str], sessions: Sequence[str] = ()) -> Found:
    """The same question over sessions: results in order of their best message; evidence by session."""
    results = tuple((name,) for name in dict.fromkeys(session_of[id] for result in found.results for id in result))
    wanted = tuple(sessions) or tuple(dict.fromkeys(session_of[id] for id in found.wanted))
    return Found(found.id, found.conversation, found.group, results, wanted)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
