"""Tokens and needs of two arms over the same tasks: totals, typical task, and what the prompts no longer held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.compare.outcomes import Difference, Options, difference_of
from harness.compare.pairs import Pair
from harness.stats.bootstrap import percentile_interval, ratio_draws
from harness.stats.interval import Interval
from harness.stats.ratios import session_token_ratio
from harness.types import TaskRow


def tokens(row: TaskRow) -> int:
    """All tokens of a task: the agent's calls and the memory layer's own; a judge is not part of the arm."""
    return row.prompt_tokens + row.completion_tokens + row.memory_prompt_tokens + row.memory_completion_tokens


def support_adjusted(row: TaskRow) -> int | None:
    """Tokens plus what fetching each need that was not visible would have cost; `None` when needs were not measured."""
    return None if row.repairs is None else tokens(row) + row.repairs


MEASURES: tuple[tuple[str, Callable[[TaskRow], int | None]], ...] = (
    ("tokens", tokens),
    ("support-adjusted tokens", support_adjusted),
)


@dataclass(frozen=True, slots=True)
class TokenComparison:
    """Treatment tokens per baseline token over the tasks both arms have; attempts are averaged per task.

    `left_out` counts tasks without the figure in one of the arms. `interval` resamples groups (sessions), `t` is the
    CR1 interval for few groups; both `None` for a single one. `by_task` pretends that tasks are independent, to show
    how much sessions matter.
    """

    measure: str
    n: int
    left_out: int
    groups: int
    baseline: float
    treatment: float
    ratio: float
    interval: Interval | None
    t: Interval | None
    by_task: Interval
    geometric_mean: float | None
    geometric: Interval | None


def compare_tokens(pairs: Sequence[Pair], options: Options) -> tuple[TokenComparison, ...]:
    """One comparison a measure that both arms have."""
    found = (_compare(name, measure, pairs, options) for name, measure in MEASURES)
    return tuple(comparison for comparison in found if comparison is not None)


def mean_of(rows: Sequence[TaskRow], measure: Callable[[TaskRow], int | None]) -> float | None:
    """Mean of a figure over the attempts of one task; `None` when no attempt has it."""
    known = [value for value in map(measure, rows) if value is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class NeedTotals:
    """What the actions of one arm needed, summed over the tasks both arms have."""

    needs: int
    not_visible: int
    lost: int
    actions: int
    unsupported: int


@dataclass(frozen=True, slots=True)
class NeedComparison:
    """Needs of both arms, and the paired difference of the share of a task's actions with a need not visible."""

    n: int
    baseline: NeedTotals
    treatment: NeedTotals
    unsupported: Difference


def compare_needs(pairs: Sequence[Pair], options: Options) -> NeedComparison | None:
    """Compare needs over the tasks in which both arms measured them; `None` when there are none."""
    measured = [
        pair
        for pair in pairs
        if pair.complete and all(row.actions is not None for row in (*pair.baseline, *pair.treatment))
    ]
    if not measured:
        return None
    return NeedComparison(
        n=len(measured),
        baseline=need_totals([row for pair in measured for row in pair.baseline]),
        treatment=need_totals([row for pair in measured for row in pair.treatment]),
        unsupported=difference_of(
            np.array([_unsupported_share(pair.baseline) for pair in measured]),
            np.array([_unsupported_share(pair.treatment) for pair in measured]),
            [pair.group for pair in measured],
            options,
        ),
    )


def need_totals(rows: Sequence[TaskRow]) -> NeedTotals:
    """Sums over rows that have them."""
    return NeedTotals(
        needs=sum(row.needs or 0 for row in rows),
        not_visible=sum(row.needs_not_visible or 0 for row in rows),
        lost=sum(row.needs_lost or 0 for row in rows),
        actions=sum(row.actions or 0 for row in rows),
        unsupported=sum(row.actions_unsupported or 0 for row in rows),
    )


def _unsupported_share(rows: Sequence[TaskRow]) -> float:
    totals = need_totals(rows)
    return totals.unsupported / totals.actions if totals.actions else 0.0


def _compare(
    name: str, measure: Callable[[TaskRow], int | None], pairs: Sequence[Pair], options: Options
) -> TokenComparison | None:
    figures = [(pair.group, mean_of(pair.baseline, measure), mean_of(pair.treatment, measure)) for pair in pairs]
    usable = [(group, b, t) for group, b, t in figures if b and t is not None]
    if not usable:
        return None
    groups = [group for group, _, _ in usable]
    arms = np.array([b for _, b, _ in usable]), np.array([t for _, _, t in usable])
    by_group = session_token_ratio(*arms, groups, seed=options.seed, resamples=options.resamples, alpha=options.alpha)
    by_task = ratio_draws(arms[1], arms[0], seed=options.seed, resamples=options.resamples)
    shared = by_group.sessions > 1
    return TokenComparison(
        measure=name,
        n=len(usable),
        left_out=len(pairs) - len(usable),
        groups=by_group.sessions,
        baseline=float(arms[0].sum()),
        treatment=float(arms[1].sum()),
        ratio=by_group.ratio,
        interval=by_group.bootstrap if shared else None,
        t=by_group.t,
        by_task=percentile_interval(by_task, options.alpha),
        geometric_mean=by_group.geometric_mean,
        geometric=by_group.geometric if shared else None,
    )
