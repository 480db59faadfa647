"""Tokens of the treatment per token of the baseline: ratio of totals and typical task, always side by side."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.errors import StatisticsError
from harness.stats.bootstrap import RESAMPLES, percentile_interval, ratio_draws
from harness.stats.clusters import cluster_codes, cluster_sums
from harness.stats.interval import FloatArray, Interval, Numbers, as_pairs, normal_interval, t_interval

LARGEST_LOG = 700.0
"""Logarithm of about the largest float."""


@dataclass(frozen=True, slots=True)
class TokenRatio:
    """`ratio` = sum(treatment) / sum(baseline): what happens to the bill. `geometric_mean` of the per-task ratios: what
    happens to a typical task. They can disagree, so neither is shown alone.

    `delta_se` and `delta` (log scale) are the delta-method check on the bootstrap; `None` for a single task. The
    geometric mean is `None` when a task has no treatment tokens.
    """

    n: int
    ratio: float
    reduction_percent: float
    bootstrap: Interval
    delta_se: float | None
    delta: Interval | None
    geometric_mean: float | None
    geometric: Interval | None


def token_ratio(
    baseline: Numbers, treatment: Numbers, *, seed: int, resamples: int = RESAMPLES, alpha: float = 0.05
) -> TokenRatio:
    """Ratio of totals and geometric mean ratio over tasks taken as independent units."""
    first, second = _token_pairs(baseline, treatment)
    ratio = float(second.sum() / first.sum())
    error = _delta_error(first, second, ratio)
    log_interval = normal_interval(math.log(ratio), error / ratio, alpha) if error and ratio > 0.0 else None
    mean, interval = _geometric(first, second, alpha)
    return TokenRatio(
        n=first.size,
        ratio=ratio,
        reduction_percent=(1.0 - ratio) * 100.0,
        bootstrap=percentile_interval(ratio_draws(second, first, seed=seed, resamples=resamples), alpha),
        delta_se=error,
        delta=_exponential(log_interval),
        geometric_mean=mean,
        geometric=interval,
    )


@dataclass(frozen=True, slots=True)
class SessionTokenRatio:
    """As `TokenRatio`, whole sessions resampled: the honest interval, since tokens grow with position in a session.

    `session_ratios` in order of first appearance. `geometric` resamples sessions and averages the log ratios of their
    tasks. `t` is the delta method on the log scale with CR1 errors and a t quantile on sessions - 1, for designs of few
    sessions; `None` for a single one.
    """

    sessions: int
    ratio: float
    bootstrap: Interval
    t: Interval | None
    session_ratios: tuple[float, ...]
    geometric_mean: float | None
    geometric: Interval | None


def session_token_ratio(
    baseline: Numbers,
    treatment: Numbers,
    sessions: Sequence[Hashable],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    alpha: float = 0.05,
) -> SessionTokenRatio:
    """Ratio of totals and geometric mean ratio with intervals over resampled sessions."""
    first, second = _token_pairs(baseline, treatment)
    if len(sessions) != first.size:
        raise StatisticsError(f"{first.size} tasks but {len(sessions)} session names; give one per task")
    codes, count = cluster_codes(sessions)
    below, above = cluster_sums(first, codes, count), cluster_sums(second, codes, count)
    tops, bottoms = [above], [below]
    logs = np.log(second / first) if (second > 0.0).all() else None
    if logs is not None:
        tops.append(cluster_sums(logs, codes, count))
        bottoms.append(np.bincount(codes, minlength=count).astype(np.float64))
    draws = ratio_draws(np.stack(tops, 1), np.stack(bottoms, 1), seed=seed, resamples=resamples)
    geometric = percentile_interval(draws[:, 1], alpha) if logs is not None else None
    ratio = float(second.sum() / first.sum())
    return SessionTokenRatio(
        sessions=count,
        ratio=ratio,
        bootstrap=percentile_interval(draws[:, 0], alpha),
        t=_log_t(above, below, ratio, alpha),
        session_ratios=tuple(float(value) for value in above / below),
        geometric_mean=math.exp(float(logs.mean())) if logs is not None else None,
        geometric=_exponential(geometric),
    )


def _log_t(above: FloatArray, below: FloatArray, ratio: float, alpha: float) -> Interval | None:
    """t interval of a ratio from its sums per session; with one task a session its error is the delta error."""
    error = _delta_error(below, above, ratio)
    if error is None or ratio <= 0.0:
        return None
    return _exponential(t_interval(math.log(ratio), error / ratio, above.size - 1, alpha))


def _exponential(interval: Interval | None) -> Interval | None:
    """An interval on the log scale, back on the scale of ratios; `None` when its upper end is beyond any number."""
    if interval is None or interval.high > LARGEST_LOG:
        return None
    return Interval(math.exp(interval.low), math.exp(interval.high))


def _token_pairs(baseline: Numbers, treatment: Numbers) -> tuple[FloatArray, FloatArray]:
    first, second = as_pairs(baseline, treatment)
    if (first <= 0.0).any():
        where = int(np.flatnonzero(first <= 0.0)[0])
        raise StatisticsError(
            f"baseline tokens of task {where} are {first[where]:g}; a ratio needs more than 0: leave the task out"
        )
    if (second < 0.0).any():
        raise StatisticsError("treatment tokens cannot be negative")
    return first, second


def _delta_error(first: FloatArray, second: FloatArray, ratio: float) -> float | None:
    n = first.size
    if n < 2:
        return None
    residuals = second - ratio * first
    return math.sqrt(float(np.sum(residuals**2)) / (n - 1) / n) / float(first.mean())


def _geometric(first: FloatArray, second: FloatArray, alpha: float) -> tuple[float | None, Interval | None]:
    if (second <= 0.0).any():
        return None, None
    logs = np.log(second / first)
    mean, n = float(logs.mean()), logs.size
    error = float(logs.std(ddof=1)) / math.sqrt(n) if n > 1 else None
    return math.exp(mean), _exponential(t_interval(mean, error, n - 1, alpha))
