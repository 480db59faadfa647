"""Pass rates and scores of two arms over the same tasks, with intervals over independent groups of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.compare.pairs import Pair
from harness.stats.attempts import Reliability, reliability
from harness.stats.clusters import ClusteredMean, cluster_codes, cluster_mean_interval, cluster_sums, clustered_mean
from harness.stats.interval import FloatArray, Interval
from harness.stats.paired import McNemar, Table, mcnemar, outcome_table
from harness.stats.permutation import SignFlip, sign_flip_of
from harness.stats.power import minimum_detectable_difference
from harness.stats.rates import wilson_interval
from harness.types import TaskRow


@dataclass(frozen=True, slots=True)
class Options:
    """How intervals are made: resamples of the bootstrap, its seed, and 1 - confidence."""

    seed: int = 0
    resamples: int = 10_000
    alpha: float = 0.05


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """One arm's share: `rate` over the pairs compared. `wilson` is `None` when tasks were tried more than once, since
    attempts of a task are not independent."""

    rate: float
    wilson: Interval | None
    reliability: Reliability | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Treatment minus baseline, per task. `clustered` and `bootstrap` respect the groups of tasks, `permutation` flips
    the sign of whole groups when tasks share them (`unit`). With a single group there is no `bootstrap`."""

    mean_baseline: float
    mean_treatment: float
    clustered: ClusteredMean
    bootstrap: Interval | None
    permutation: SignFlip
    unit: str


@dataclass(frozen=True, slots=True)
class OutcomeComparison:
    """Everything about passing. `table` and `mcnemar` need one attempt per task, `score` fractional scores.

    `no_verdict` counts the pairs left out because a judge gave no verdict in at least one arm; `if_failed` is the
    difference with those counted as failed. `p` is the one that decides, `p_from` names the test: scores where they
    are fractional, else McNemar, or sign flips of groups where tasks share them. `detectable` is the smallest
    difference this design finds with 80 % power, from its own discordant rate and design effect; `None` when it would
    find none.
    """

    n: int
    groups: int
    attempts: int
    no_verdict: int
    if_failed: float
    baseline: ArmOutcome
    treatment: ArmOutcome
    passed: Difference
    table: Table | None
    mcnemar: McNemar | None
    score: Difference | None
    discordant_rate: float
    design_effect: float
    detectable: float | None
    p: float
    p_from: str


def compare_outcomes(pairs: Sequence[Pair], options: Options) -> OutcomeComparison | None:
    """Compare passes and scores; `None` when no pair has a verdict in both arms.

    Errors, unparsable or absent answers and tasks missing in one arm count as failed. Attempts of a task are averaged.
    """
    judged = [pair for pair in pairs if pair.judged]
    if not judged:
        return None
    groups = [pair.group for pair in judged]
    attempts = most_attempts(pairs)
    first, second = pass_shares(judged, attempts)
    passed = difference_of(first, second, groups, options)
    table = outcome_table(first, second) if attempts == 1 else None
    test = mcnemar(table.baseline_only, table.treatment_only) if table else None
    effect = _design_effect(passed.clustered)
    discordant = float(np.mean(first != second))
    everything = pass_shares(pairs, attempts)
    score = _score_difference(judged, attempts, options)
    p, p_from = _deciding(passed, test, score)
    return OutcomeComparison(
        n=len(judged),
        groups=passed.clustered.clusters,
        attempts=attempts,
        no_verdict=len(pairs) - len(judged),
        if_failed=float(np.mean(everything[1] - everything[0])),
        baseline=_arm([pair.baseline for pair in judged], first, attempts, options),
        treatment=_arm([pair.treatment for pair in judged], second, attempts, options),
        passed=passed,
        table=table,
        mcnemar=test,
        score=score,
        discordant_rate=discordant,
        design_effect=effect,
        detectable=minimum_detectable_difference(len(judged) / effect, discordant, options.alpha)
        if discordant
        else None,
        p=p,
        p_from=p_from,
    )


def _deciding(passed: Difference, test: McNemar | None, score: Difference | None) -> tuple[float, str]:
    """The p value that decides, and the test it comes from."""
    if score:
        return score.permutation.p, f"scores, sign flips of {score.unit}s"
    if test and passed.unit == "task":
        return test.p_exact, "McNemar exact"
    return passed.permutation.p, f"sign flips of {passed.unit}s"


def difference_of(baseline: FloatArray, treatment: FloatArray, groups: Sequence[str], options: Options) -> Difference:
    """Paired difference of two arrays, one value a task, with errors that respect the groups of tasks."""
    differences = treatment - baseline
    codes, count = cluster_codes(groups)
    shared = count < len(groups)
    units = cluster_sums(differences, codes, count) if shared else differences
    flips = sign_flip_of(units, seed=options.seed)
    return Difference(
        mean_baseline=float(baseline.mean()),
        mean_treatment=float(treatment.mean()),
        clustered=clustered_mean(differences, groups, options.alpha),
        bootstrap=cluster_mean_interval(
            differences, groups, seed=options.seed, resamples=options.resamples, alpha=options.alpha
        )
        if count > 1
        else None,
        permutation=SignFlip(float(differences.mean()), flips.p, flips.exact),
        unit="group" if shared else "task",
    )


def most_attempts(pairs: Sequence[Pair]) -> int:
    """Attempts of the most tried task in either arm; every task should have had as many."""
    return max(max(len(pair.baseline), len(pair.treatment)) for pair in pairs)


def pass_shares(pairs: Sequence[Pair], attempts: int) -> tuple[FloatArray, FloatArray]:
    """Share of passed attempts per task in both arms; an attempt that is not there counts as failed."""

    def share(rows: tuple[TaskRow, ...]) -> float:
        return sum(row.passed is True for row in rows) / attempts

    return (
        np.array([share(pair.baseline) for pair in pairs]),
        np.array([share(pair.treatment) for pair in pairs]),
    )


def _score_difference(pairs: Sequence[Pair], attempts: int, options: Options) -> Difference | None:
    """Difference of fractional scores; `None` when the suite only passes and fails."""
    rows = [row for pair in pairs for row in (*pair.baseline, *pair.treatment)]
    if all(row.score is None or row.score in (0.0, 1.0) for row in rows):
        return None

    def mean(rows: tuple[TaskRow, ...]) -> float:
        return sum(row.score or 0.0 for row in rows) / attempts

    return difference_of(
        np.array([mean(pair.baseline) for pair in pairs]),
        np.array([mean(pair.treatment) for pair in pairs]),
        [pair.group for pair in pairs],
        options,
    )


def _arm(tasks: Sequence[tuple[TaskRow, ...]], passes: FloatArray, attempts: int, options: Options) -> ArmOutcome:
    """One arm from its tasks with a verdict; `passes` is the share of passed attempts of each."""
    rewards = [[float(row.passed is True) for row in rows] + [0.0] * (attempts - len(rows)) for rows in tasks]
    return ArmOutcome(
        rate=float(passes.mean()),
        wilson=wilson_interval(round(float(passes.sum())), passes.size, options.alpha) if attempts == 1 else None,
        reliability=reliability(rewards) if attempts > 1 else None,
    )


def _design_effect(clustered: ClusteredMean) -> float:
    """How much sharing sessions inflates the variance of the difference; at least 1, so that luck is not counted."""
    if not clustered.se_clt or clustered.se_cr1 is None:
        return 1.0
    return max(1.0, (clustered.se_cr1 / clustered.se_clt) ** 2)
