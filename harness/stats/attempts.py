"""Several attempts at one task: pass@k (any of k succeeds) and pass^k (all of k succeed)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from harness.errors import StatisticsError

SUCCESS_TOLERANCE = 1e-6
"""A reward this close to 1 is a success; a partial reward is none (tau-bench)."""


@dataclass(frozen=True, slots=True)
class AttemptRate:
    """One value a task, and their mean."""

    per_task: tuple[float, ...]
    mean: float


def pass_at_k(
    attempts: int | Sequence[int], successes: Sequence[int], k: int, *, reference: bool = False
) -> AttemptRate:
    """Chance that at least one of k attempts drawn without replacement succeeds: 1 - C(n-c, k) / C(n, k).

    Unbiased estimator of Chen et al. 2021. `attempts` is one n for all tasks or one a task. k > n raises; the
    function of the paper returns 1 there as soon as n - c < k, which `reference=True` keeps for parity tests.
    """
    counts = [attempts] * len(successes) if isinstance(attempts, int) else list(attempts)
    _check(counts, successes, k, allow_large_k=reference)
    values = [1.0 if n - c < k else 1.0 - comb(n - c, k) / comb(n, k) for n, c in zip(counts, successes, strict=True)]
    return AttemptRate(tuple(values), sum(values) / len(values))


def pass_hat_k(attempts: int | Sequence[int], successes: Sequence[int], k: int) -> AttemptRate:
    """Chance that all of k attempts drawn without replacement succeed: C(c, k) / C(n, k) (Yao et al. 2024)."""
    counts = [attempts] * len(successes) if isinstance(attempts, int) else list(attempts)
    _check(counts, successes, k)
    values = [comb(c, k) / comb(n, k) for n, c in zip(counts, successes, strict=True)]
    return AttemptRate(tuple(values), sum(values) / len(values))


@dataclass(frozen=True, slots=True)
class Reliability:
    """Attempts of one arm. `at` and `hat` hold (k, mean over tasks) for k = 1 .. attempts."""

    tasks: int
    attempts: int
    average_reward: float
    at: tuple[tuple[int, float], ...]
    hat: tuple[tuple[int, float], ...]


def reliability(rewards_by_task: Sequence[Sequence[float]]) -> Reliability:
    """pass@k and pass^k for every k the attempts allow.

    A task with fewer attempts than the most tried one counts its missing attempts as failures, as tau-bench does;
    the average reward is over the attempts that exist.
    """
    if not rewards_by_task or not all(rewards_by_task):
        raise StatisticsError("reliability needs at least one task, and one attempt of every task")
    attempts = max(len(rewards) for rewards in rewards_by_task)
    successes = [sum(is_success(reward) for reward in rewards) for rewards in rewards_by_task]
    flat = [reward for rewards in rewards_by_task for reward in rewards]
    ks = range(1, attempts + 1)
    return Reliability(
        tasks=len(rewards_by_task),
        attempts=attempts,
        average_reward=sum(flat) / len(flat),
        at=tuple((k, pass_at_k(attempts, successes, k).mean) for k in ks),
        hat=tuple((k, pass_hat_k(attempts, successes, k).mean) for k in ks),
    )


def is_success(reward: float) -> bool:
    """Whether a reward counts as solved."""
    return abs(reward - 1.0) <= SUCCESS_TOLERANCE


def _check(counts: Sequence[int], successes: Sequence[int], k: int, allow_large_k: bool = False) -> None:
    if not successes or len(counts) != len(successes):
        raise StatisticsError(f"need one success count per task, got {len(successes)} for {len(counts)} tasks")
    if k < 1:
        raise StatisticsError(f"k must be at least 1, got {k}")
    for task, (n, c) in enumerate(zip(counts, successes, strict=True)):
        if not 0 <= c <= n:
            raise StatisticsError(f"task {task}: {c} successes of {n} attempts is impossible")
        if k > n and not allow_large_k:
            raise StatisticsError(f"task {task} has {n} attempts, so k = {k} cannot be estimated; use k <= {n}")
