"""Pass rates: how sure one rate is, and two rates of arms that did not share tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.errors import StatisticsError
from harness.stats.interval import Interval, check_share, finite_or_none


def wilson_interval(successes: int, n: int, alpha: float = 0.05) -> Interval:
    """Score interval of a rate (Wilson 1927). Good at any n, which the plain normal interval is not."""
    from scipy.special import ndtri

    _check_counts(successes, n)
    z = float(ndtri(1.0 - check_share(alpha, "alpha") / 2.0))
    rate, spread = successes / n, z * z / n
    centre = (rate + spread / 2.0) / (1.0 + spread)
    half = z / (1.0 + spread) * math.sqrt(rate * (1.0 - rate) / n + spread / (4.0 * n))
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(low, high)


def clopper_pearson_interval(successes: int, n: int, alpha: float = 0.05) -> Interval:
    """Exact interval of a rate (Clopper and Pearson 1934): never too narrow, usually too wide."""
    from scipy.special import betaincinv

    _check_counts(successes, n)
    tail = check_share(alpha, "alpha") / 2.0
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1.0 - tail))
    return Interval(low, high)


@dataclass(frozen=True, slots=True)
class UnpairedRates:
    """Two rates of independent arms. `z` and `p` are `None` when both arms passed all or none."""

    difference: float
    z: float | None
    p: float | None
    newcombe: Interval
    fisher_p: float


def unpaired_rates(treatment: tuple[int, int], baseline: tuple[int, int], alpha: float = 0.05) -> UnpairedRates:
    """Compare (successes, n) of two arms without pairing: what can be said of published numbers.

    Pooled z test; hybrid score interval without continuity correction (Newcombe 1998, method 10); Fisher's exact p.
    """
    from scipy.special import ndtr
    from scipy.stats import fisher_exact

    (hits_t, n_t), (hits_b, n_b) = treatment, baseline
    low_t, high_t = wilson_interval(hits_t, n_t, alpha)
    low_b, high_b = wilson_interval(hits_b, n_b, alpha)
    rate_t, rate_b = hits_t / n_t, hits_b / n_b
    difference = rate_t - rate_b
    pooled = (hits_t + hits_b) / (n_t + n_b)
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / n_t + 1.0 / n_b))
    z = difference / error if error > 0.0 else math.nan
    return UnpairedRates(
        difference=difference,
        z=finite_or_none(z),
        p=finite_or_none(2.0 * float(ndtr(-abs(z)))),
        newcombe=Interval(
            difference - math.hypot(rate_t - low_t, high_b - rate_b),
            difference + math.hypot(high_t - rate_t, rate_b - low_b),
        ),
        fisher_p=float(fisher_exact(np.array([[hits_t, n_t - hits_t], [hits_b, n_b - hits_b]])).pvalue),
    )


def _check_counts(successes: int, n: int) -> None:
    if n < 1 or not 0 <= successes <= n:
        raise StatisticsError(f"a rate needs 0 <= successes <= n and n >= 1, got {successes} of {n}")
