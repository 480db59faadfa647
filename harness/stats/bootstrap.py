"""Seeded percentile bootstrap over tasks or whole sessions; the same seed gives the same draws on every machine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from harness.errors import StatisticsError
from harness.stats.interval import FloatArray, Interval, Numbers, as_numbers, as_pairs, check_share

RESAMPLES = 10_000
"""Resamples behind every published interval."""

CELLS_AT_ONCE = 2_000_000
"""Upper bound of units x resamples drawn at one time; keeps memory flat at 20,000 units."""


def draw_counts(seed: int, units: int, resamples: int) -> Iterator[FloatArray]:
    """Yield how often each unit was drawn, in blocks of shape (rows, units) that add up to `resamples` rows.

    The draws are `numpy.random.default_rng(seed).integers(0, units, size=(resamples, units))`; drawing them in
    blocks of rows gives the same numbers as drawing them at once.
    """
    if units < 1 or resamples < 1:
        raise StatisticsError(f"a bootstrap needs units and resamples, got {units} and {resamples}")
    generator = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // units)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn: npt.NDArray[np.int64] = generator.integers(0, units, size=(rows, units))
        drawn += np.arange(rows, dtype=np.int64)[:, None] * units
        yield np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


def ratio_draws(top: FloatArray, bottom: FloatArray, *, seed: int, resamples: int = RESAMPLES) -> FloatArray:
    """Return sum(top) / sum(bottom) over each resample of units.

    `top` and `bottom` have shape (units,) or (units, metrics); the result has resamples in place of units. All
    metrics see the same resamples, so their intervals belong together. A mean over tasks is the case `bottom` = 1, a
    mean over resampled sessions the case `bottom` = tasks per session. A resample with a zero denominator raises.
    """
    if top.shape != bottom.shape:
        raise StatisticsError(f"numerators and denominators differ in shape: {top.shape} and {bottom.shape}")
    blocks = []
    for counts in draw_counts(seed, top.shape[0], resamples):
        below = counts @ bottom
        if not below.all():
            raise StatisticsError("a resample has a denominator of zero; leave units without a value out first")
        blocks.append((counts @ top) / below)
    return np.concatenate(blocks)


def percentile_interval(draws: FloatArray, alpha: float = 0.05) -> Interval:
    """The alpha/2 and 1 - alpha/2 quantiles of one metric's draws, linear interpolation."""
    check_share(alpha, "alpha")
    low, high = np.quantile(draws, [alpha / 2.0, 1.0 - alpha / 2.0])
    return Interval(float(low), float(high))


def mean_interval(values: Numbers, *, seed: int, resamples: int = RESAMPLES, alpha: float = 0.05) -> Interval:
    """Percentile interval of the mean of `values`, each value one independent unit."""
    array = as_numbers(values, "values")
    return percentile_interval(ratio_draws(array, np.ones_like(array), seed=seed, resamples=resamples), alpha)


def bca_interval(
    baseline: Numbers, treatment: Numbers, *, seed: int, resamples: int = RESAMPLES, alpha: float = 0.05
) -> Interval | None:
    """Bias-corrected and accelerated interval of the mean paired difference (Efron 1987), by scipy.

    `None` when it is not defined, which is the case when all differences are equal or there is one task.
    """
    from scipy.stats import bootstrap

    first, second = as_pairs(baseline, treatment)
    differences = second - first
    if np.ptp(differences) == 0.0:
        return None
    result = bootstrap(
        (differences,),
        np.mean,
        n_resamples=resamples,
        confidence_level=1.0 - check_share(alpha, "alpha"),
        method="BCa",
        rng=np.random.default_rng(seed),
    )
    interval = result.confidence_interval
    return Interval(float(interval.low), float(interval.high))
