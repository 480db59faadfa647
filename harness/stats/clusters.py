"""Tasks that share a session: clustered errors, whole-session resampling, design effect."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.errors import StatisticsError
from harness.stats.bootstrap import RESAMPLES, percentile_interval, ratio_draws
from harness.stats.interval import FloatArray, Interval, Numbers, as_numbers, standard_error, t_interval


def cluster_codes(clusters: Sequence[Hashable]) -> tuple[npt.NDArray[np.int64], int]:
    """Number the clusters in order of first appearance; return one code per value and the count of clusters."""
    order: dict[Hashable, int] = {}
    codes = [order.setdefault(name, len(order)) for name in clusters]
    return np.asarray(codes, dtype=np.int64), len(order)


def cluster_sums(values: FloatArray, codes: npt.NDArray[np.int64], count: int) -> FloatArray:
    """Sum of `values` in each cluster, shape (count,)."""
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64)


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """Mean of values that share clusters.

    `se_clt` ignores the clusters; `se_miller` is Miller's (2024) form; `se_cr0` the sandwich form; `se_cr1` that form
    with the small-sample factor, used with a t quantile on clusters - 1 degrees of freedom (`t`). `design_effect` is
    (se_cr0 / se_clt)^2. What is not defined (one value, one cluster, no spread) is `None`.
    """

    mean: float
    n: int
    clusters: int
    se_clt: float | None
    se_miller: float | None
    se_cr0: float
    se_cr1: float | None
    design_effect: float | None
    t: Interval | None


def clustered_mean(values: Numbers, clusters: Sequence[Hashable], alpha: float = 0.05) -> ClusteredMean:
    """Errors of the mean of `values` when those with the same cluster are not independent.

    CR0^2 = sum over clusters of (sum of residuals)^2 / n^2; CR1^2 = CR0^2 * C / (C - 1), the factor of a regression on
    an intercept alone. Few clusters make every form too small, hence the t quantile.
    """
    array, codes, count = _coded(values, clusters)
    n, mean = array.size, float(array.mean())
    residuals = array - mean
    sums = cluster_sums(residuals, codes, count)
    variance = float(np.sum(sums**2)) / n**2
    error = standard_error(array)
    cross = float(np.sum(sums**2) - np.sum(residuals**2)) / n**2
    cr1 = math.sqrt(variance * count / (count - 1)) if count > 1 else None
    return ClusteredMean(
        mean=mean,
        n=n,
        clusters=count,
        se_clt=error,
        se_miller=None if error is None else math.sqrt(max(0.0, error**2 + cross)),
        se_cr0=math.sqrt(variance),
        se_cr1=cr1,
        design_effect=variance / error**2 if error else None,
        t=t_interval(mean, cr1, count - 1, alpha),
    )


def cluster_mean_interval(
    values: Numbers,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    alpha: float = 0.05,
) -> Interval:
    """Percentile interval of the mean, whole clusters resampled: sum of values / number of values in the resample."""
    array, codes, count = _coded(values, clusters)
    sums = cluster_sums(array, codes, count)
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    return percentile_interval(ratio_draws(sums, sizes, seed=seed, resamples=resamples), alpha)


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """Factor by which shared sessions inflate the variance, and the independent tasks the design is worth."""

    factor: float
    effective_n: float


def design_effect(tasks_per_session: float, icc: float, n_tasks: int) -> DesignEffect:
    """1 + (m - 1) * intra-class correlation, for sessions of equal length m (Kish 1965)."""
    if tasks_per_session < 1 or n_tasks < 1 or not -1.0 <= icc <= 1.0:
        raise StatisticsError(
            f"design effect needs m >= 1, n >= 1 and -1 <= icc <= 1, got {tasks_per_session}, {n_tasks}, {icc}"
        )
    factor = 1.0 + (tasks_per_session - 1.0) * icc
    if factor <= 0.0:
        raise StatisticsError(f"icc {icc} is impossible for sessions of {tasks_per_session}: variance below zero")
    return DesignEffect(factor, n_tasks / factor)


def _coded(values: Numbers, clusters: Sequence[Hashable]) -> tuple[FloatArray, npt.NDArray[np.int64], int]:
    array = as_numbers(values, "values")
    if len(clusters) != array.size:
        raise StatisticsError(f"{array.size} values but {len(clusters)} cluster names; give one per value")
    codes, count = cluster_codes(clusters)
    return array, codes, count
