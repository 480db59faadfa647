"""What a design can find: power and sample size of paired and unpaired comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.errors import StatisticsError
from harness.stats.interval import check_share


def _quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


def mcnemar_power(n: int, discordant_rate: float, difference: float, alpha: float = 0.05) -> float:
    """Exact power of the two-sided exact McNemar test on n independent pairs.

    `discordant_rate` is the share of tasks whose outcome changes, `difference` the change of the pass rate. Enumerates
    the discordant count m ~ Bin(n, rate); given m, the winners are Bin(m, (1 + difference / rate) / 2).
    """
    from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

    _check_design(n, discordant_rate, difference)
    m = np.arange(n + 1)
    log_ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    weight = np.exp(log_ways + xlogy(m, discordant_rate) + xlog1py(n - m, -discordant_rate))
    largest = _critical(n, alpha)
    share = (1.0 + difference / discordant_rate) / 2.0
    rejects = np.where(
        largest >= 0, bdtr(np.maximum(largest, 0), m, share) + bdtrc(m - np.maximum(largest, 0) - 1, m, share), 0.0
    )
    return float(np.sum(weight * rejects))


def _critical(n: int, alpha: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For m = 0 .. n discordant pairs the largest min(b, c) that rejects at `alpha`; -1 when none does."""
    from scipy.special import bdtr

    check_share(alpha, "alpha")
    largest = np.full(n + 1, -1, dtype=np.int64)
    current = -1
    for m in range(1, n + 1):
        # the limit never falls and rises by at most one as m grows by one
        if 2.0 * float(bdtr(current + 1, m, 0.5)) <= alpha:
            current += 1
        largest[m] = current
    return largest


def mcnemar_power_normal(n: int, discordant_rate: float, difference: float, alpha: float = 0.05) -> float:
    """Normal approximation of the same power (Connor 1987)."""
    from scipy.special import ndtr

    _check_design(n, discordant_rate, difference)
    spread = discordant_rate - difference**2
    reach = abs(difference) * math.sqrt(n) - _quantile(1.0 - alpha / 2.0) * math.sqrt(discordant_rate)
    return float(ndtr(reach / math.sqrt(spread))) if spread > 0.0 else float(reach >= 0.0)


def mcnemar_sample_size(discordant_rate: float, difference: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """Pairs for the wanted power, normal (Connor 1987): (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2. Not rounded."""
    _check_design(1, discordant_rate, difference)
    if difference == 0.0:
        raise StatisticsError("a difference of 0 cannot be found with any number of tasks")
    z_alpha, z_beta = _quantile(1.0 - check_share(alpha, "alpha") / 2.0), _quantile(check_share(power, "power"))
    top = z_alpha * math.sqrt(discordant_rate) + z_beta * math.sqrt(discordant_rate - difference**2)
    return (top / difference) ** 2


def mcnemar_sample_size_exact(
    discordant_rate: float, difference: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """The first n, counting up from 0.9 of Connor's value, whose exact power reaches `power`.

    Exact power is not monotone in n: a slightly larger n can fall below again.
    """
    n = max(1, int(0.9 * mcnemar_sample_size(discordant_rate, difference, power, alpha)))
    while mcnemar_power(n, discordant_rate, difference, alpha) < power:
        n += 1
    return n


def minimum_detectable_difference(
    n: float, discordant_rate: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest pass-rate difference found with `power` (Connor's normal power, solved by root finding).

    `n` may be an effective number of tasks (tasks / design effect). `None` when even a difference as large as the
    discordant rate, the largest possible, would not be found.
    """
    from scipy.optimize import brentq

    z_alpha, z_beta = _quantile(1.0 - check_share(alpha, "alpha") / 2.0), _quantile(check_share(power, "power"))
    if n <= 0.0 or not 0.0 < discordant_rate <= 1.0:
        raise StatisticsError(f"need n > 0 and 0 < discordant rate <= 1, got {n} and {discordant_rate}")

    def missing(difference: float) -> float:
        needed = z_alpha * math.sqrt(discordant_rate) + z_beta * math.sqrt(discordant_rate - difference**2)
        return difference * math.sqrt(n) - needed

    if missing(discordant_rate) < 0.0:
        return None
    return float(brentq(missing, 0.0, discordant_rate, xtol=1e-12))


@dataclass(frozen=True, slots=True)
class UnpairedSize:
    """Tasks per arm for independent arms, by two formulas; not rounded."""

    pooled_z: float
    arcsine: float


def unpaired_sample_size(p1: float, p2: float, alpha: float = 0.05, power: float = 0.8) -> UnpairedSize:
    """Tasks per arm to tell two rates apart without pairing: pooled z test, and arcsine effect size (Cohen 1988)."""
    check_share(p1, "p1")
    check_share(p2, "p2")
    if p1 == p2:
        raise StatisticsError("equal rates cannot be told apart with any number of tasks")
    z_alpha, z_beta = _quantile(1.0 - check_share(alpha, "alpha") / 2.0), _quantile(check_share(power, "power"))
    mean = (p1 + p2) / 2.0
    top = z_alpha * math.sqrt(2.0 * mean * (1.0 - mean)) + z_beta * math.sqrt(p1 * (1.0 - p1) + p2 * (1.0 - p2))
    return UnpairedSize((top / (p1 - p2)) ** 2, _arcsine_size(p1, p2, alpha, power))


def _arcsine_size(p1: float, p2: float, alpha: float, power: float) -> float:
    """Tasks per arm whose two-sided z test, both tails counted, has exactly `power`."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if power <= alpha:
        raise StatisticsError(f"a power of {power} is reached without any data at alpha = {alpha}")
    z_alpha = _quantile(1.0 - alpha / 2.0)
    effect = abs(2.0 * (math.asin(math.sqrt(p1)) - math.asin(math.sqrt(p2))))

    def short_of(n: float) -> float:
        reach = effect * math.sqrt(n / 2.0)
        return float(ndtr(reach - z_alpha) + ndtr(-reach - z_alpha)) - power

    one_tailed = 2.0 * ((z_alpha + _quantile(power)) / effect) ** 2
    return float(brentq(short_of, 0.0, one_tailed, xtol=1e-9))


def attempts_sample_size(
    *,
    omega2: float,
    sigma_a2: float,
    sigma_b2: float,
    k_a: int,
    k_b: int,
    delta: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Tasks to find `delta` with K attempts per arm (Miller 2024).

    n = (z_a + z_b)^2 (omega2 + sigma_a2 / k_a + sigma_b2 / k_b) / delta^2, where `omega2` is the variance between tasks
    of the true difference and `sigma_*2` the mean variance within a task.
    """
    if delta == 0.0 or k_a < 1 or k_b < 1 or min(omega2, sigma_a2, sigma_b2) < 0.0:
        raise StatisticsError("need delta != 0, at least one attempt per arm and variances of 0 or more")
    z = _quantile(1.0 - check_share(alpha, "alpha") / 2.0) + _quantile(check_share(power, "power"))
    return z**2 * (omega2 + sigma_a2 / k_a + sigma_b2 / k_b) / delta**2


def _check_design(n: int, discordant_rate: float, difference: float) -> None:
    if n < 1 or not 0.0 < discordant_rate <= 1.0:
        raise StatisticsError(f"need n >= 1 and 0 < discordant rate <= 1, got {n} and {discordant_rate}")
    if abs(difference) > discordant_rate:
        raise StatisticsError(
            f"a difference of {difference} needs at least that share of discordant tasks, got {discordant_rate}"
        )
