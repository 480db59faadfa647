"""Sign-flip permutation test of paired differences, for fractional scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.stats.interval import FloatArray, Numbers, as_pairs, finite_or_none

EXACT_UP_TO = 20
"""Non-zero differences up to which all sign patterns are enumerated (2^20 of them)."""

FLIPS = 10_000
"""Random sign patterns beyond that."""

ROWS_AT_ONCE = 1_000
"""Random sign patterns held in memory at one time."""

TIE = 1e-12
"""A flipped mean this close to the observed one counts as equal, so that rounding cannot decide."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """`p` is two-sided on the absolute mean; `exact` says whether all sign patterns were enumerated."""

    difference: float
    p: float
    exact: bool


def sign_flip(baseline: Numbers, treatment: Numbers, *, seed: int, flips: int = FLIPS) -> SignFlip:
    """Test whether the mean paired difference is 0, by flipping the signs of the differences.

    Tasks without a difference cannot change the mean and are left out of the enumeration. Sampled p =
    (1 + hits) / (1 + flips), which is never 0.
    """
    first, second = as_pairs(baseline, treatment)
    return sign_flip_of(second - first, seed=seed, flips=flips)


def sign_flip_of(differences: FloatArray, *, seed: int, flips: int = FLIPS) -> SignFlip:
    """`sign_flip` on differences already taken; a unit may be a task or the sum over a session."""
    moved = differences[differences != 0.0]
    observed = abs(float(moved.sum()))
    mean = float(differences.mean())
    if moved.size <= EXACT_UP_TO:
        sums = _all_signed_sums(moved)
        hits = int(np.sum(np.abs(sums) >= observed - TIE * differences.size))
        return SignFlip(mean, hits / sums.size, exact=True)
    generator = np.random.default_rng(seed)
    hits = 0
    for start in range(0, flips, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, flips - start)
        signs = generator.integers(0, 2, size=(rows, moved.size)) * 2 - 1
        hits += int(np.sum(np.abs(signs @ moved) >= observed - TIE * differences.size))
    return SignFlip(mean, (1 + hits) / (1 + flips), exact=False)


def _all_signed_sums(values: FloatArray) -> FloatArray:
    """All 2^n sums of +-values, built by doubling."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def wilcoxon_p(baseline: Numbers, treatment: Numbers) -> float | None:
    """Wilcoxon's signed-rank p (zeros dropped), a side note only: zeros and ties are common in scores.

    `None` when no task differs.
    """
    from scipy.stats import wilcoxon

    first, second = as_pairs(baseline, treatment)
    if not np.any(first != second):
        return None
    return finite_or_none(float(wilcoxon(second, first, zero_method="wilcox").pvalue))
