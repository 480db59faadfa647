"""The same comparison by position in the session, where a memory layer should show: first ten, middle, last ten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.compare.outcomes import most_attempts, pass_shares
from harness.compare.pairs import Pair
from harness.compare.tokens import mean_of, support_adjusted, tokens
from harness.types import TaskRow

EDGE = 10
"""Tasks at either end of a session; half of it in sessions of fewer than twenty tasks."""

BANDS = ("first", "middle", "last")


@dataclass(frozen=True, slots=True)
class Band:
    """Tasks at one end or in the middle of their sessions. What has no verdicts or figures is `None`."""

    name: str
    n: int
    rate_baseline: float | None
    rate_treatment: float | None
    tokens_baseline: float | None
    tokens_treatment: float | None
    token_ratio: float | None
    support_adjusted_ratio: float | None


def compare_positions(pairs: Sequence[Pair], *, rates: bool = True) -> tuple[Band, ...]:
    """Split the tasks by their place in the session, with pass rates or without; bands without a task are left out."""
    lengths: dict[str, int] = {}
    for pair in pairs:
        lengths[pair.session] = max(lengths.get(pair.session, 0), pair.position + 1)
    grouped: dict[str, list[Pair]] = {name: [] for name in BANDS}
    for pair in pairs:
        grouped[band_of(pair.position, lengths[pair.session])].append(pair)
    return tuple(_band(name, members, rates) for name, members in grouped.items() if members)


def band_of(position: int, length: int) -> str:
    """Name of the band of a position (from 0) in a session of `length` tasks."""
    edge = min(EDGE, length // 2)
    if position < edge:
        return "first"
    return "last" if position >= length - edge and edge else "middle"


def _band(name: str, pairs: Sequence[Pair], rates: bool) -> Band:
    judged = [pair for pair in pairs if rates and pair.judged]
    passed = pass_shares(judged, most_attempts(judged)) if judged else None
    before, after = _totals(pairs, tokens)
    return Band(
        name=name,
        n=len(pairs),
        rate_baseline=float(passed[0].mean()) if passed else None,
        rate_treatment=float(passed[1].mean()) if passed else None,
        tokens_baseline=before,
        tokens_treatment=after,
        token_ratio=_ratio(before, after),
        support_adjusted_ratio=_ratio(*_totals(pairs, support_adjusted)),
    )


def _totals(pairs: Sequence[Pair], measure: Callable[[TaskRow], int | None]) -> tuple[float | None, float | None]:
    """Sum of a figure in both arms over the tasks that have it in both; `None` without such a task."""
    figures = [(mean_of(pair.baseline, measure), mean_of(pair.treatment, measure)) for pair in pairs]
    known = [(first, second) for first, second in figures if first is not None and second is not None]
    if not known:
        return None, None
    return sum(first for first, _ in known), sum(second for _, second in known)


def _ratio(before: float | None, after: float | None) -> float | None:
    return after / before if before and after is not None else None
