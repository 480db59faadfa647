"""The same tasks in two arms: 2x2 table, McNemar's exact test, the paired difference and its error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.errors import StatisticsError
from harness.stats.bootstrap import RESAMPLES, mean_interval
from harness.stats.interval import (
    FloatArray,
    Interval,
    Numbers,
    as_pairs,
    finite_or_none,
    normal_interval,
    standard_error,
)


@dataclass(frozen=True, slots=True)
class McNemar:
    """Test of the discordant pairs. `p_chi2` (continuity corrected) is `None` when there is no discordant pair."""

    baseline_only: int
    treatment_only: int
    p_exact: float
    p_mid: float
    p_chi2: float | None


def mcnemar(baseline_only: int, treatment_only: int) -> McNemar:
    """Two-sided McNemar test of `baseline_only` against `treatment_only` passes (McNemar 1947).

    Exact p = min(1, 2 P[Bin(b + c, 1/2) <= min(b, c)]), 1 without a discordant pair; mid-p takes one point mass off.
    """
    from scipy.special import bdtr, chdtrc, gammaln

    if baseline_only < 0 or treatment_only < 0:
        raise StatisticsError(f"discordant counts cannot be negative: {baseline_only}, {treatment_only}")
    pairs, fewer = baseline_only + treatment_only, min(baseline_only, treatment_only)
    if pairs == 0:
        return McNemar(0, 0, 1.0, 1.0, None)
    exact = min(1.0, 2.0 * float(bdtr(fewer, pairs, 0.5)))
    log_ways = float(gammaln(pairs + 1) - gammaln(fewer + 1) - gammaln(pairs - fewer + 1))
    point_mass = math.exp(log_ways - pairs * math.log(2.0))
    chi2 = (abs(baseline_only - treatment_only) - 1.0) ** 2 / pairs
    return McNemar(baseline_only, treatment_only, exact, exact - point_mass, float(chdtrc(1, chi2)))


@dataclass(frozen=True, slots=True)
class Table:
    """Outcomes of binary tasks in two arms, counted."""

    both: int
    baseline_only: int
    treatment_only: int
    neither: int


def outcome_table(baseline: Numbers, treatment: Numbers) -> Table | None:
    """Count the 2x2 table of paired 0/1 outcomes; `None` when a score is fractional."""
    first, second = as_pairs(baseline, treatment)
    if not (_is_binary(first) and _is_binary(second)):
        return None
    won, lost = int(np.sum((first == 0) & (second == 1))), int(np.sum((first == 1) & (second == 0)))
    both = int(np.sum((first == 1) & (second == 1)))
    return Table(both=both, baseline_only=lost, treatment_only=won, neither=first.size - both - won - lost)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Treatment minus baseline, mean over tasks taken as independent units.

    Errors and the normal interval are `None` for a single task; `correlation` when an arm's scores do not vary.
    """

    n: int
    mean_baseline: float
    mean_treatment: float
    difference: float
    se_unpaired: float | None
    se_paired: float | None
    normal: Interval | None
    bootstrap: Interval
    correlation: float | None


def paired_difference(
    baseline: Numbers, treatment: Numbers, *, seed: int, resamples: int = RESAMPLES, alpha: float = 0.05
) -> PairedDifference:
    """Paired difference of scores (Miller 2024): SE = sd(d) / sqrt(n) with n - 1, beside the unpaired error."""
    first, second = as_pairs(baseline, treatment)
    differences = second - first
    difference, error = float(differences.mean()), standard_error(differences)
    error_b, error_t = standard_error(first), standard_error(second)
    return PairedDifference(
        n=first.size,
        mean_baseline=float(first.mean()),
        mean_treatment=float(second.mean()),
        difference=difference,
        se_unpaired=None if error_b is None or error_t is None else math.hypot(error_b, error_t),
        se_paired=error,
        normal=normal_interval(difference, error, alpha),
        bootstrap=mean_interval(differences, seed=seed, resamples=resamples, alpha=alpha),
        correlation=_correlation(first, second),
    )


def _correlation(first: FloatArray, second: FloatArray) -> float | None:
    """Pearson's r; `None` when an arm does not vary, or too little for a float's square."""
    spread = float(first.std() * second.std())
    if spread == 0.0:
        return None
    return finite_or_none(float(np.mean((first - first.mean()) * (second - second.mean()))) / spread)


def _is_binary(values: FloatArray) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())
