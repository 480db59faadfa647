"""One comparison of two arms per suite, and the adjustment over suites claimed together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.compare.outcomes import Options, OutcomeComparison, compare_outcomes, most_attempts
from harness.compare.pairs import ArmRun, Pair, absent_everywhere, check_comparable, pair
from harness.compare.positions import Band, compare_positions
from harness.compare.tokens import NeedComparison, TokenComparison, compare_needs, compare_tokens
from harness.errors import UsageError
from harness.ledger import Denominators, denominators
from harness.recipe import differences, sha256
from harness.stats.multiple import holm
from harness.summary import MOST_ERRORS

RECORDED = "outcomes are those of the recorded run; a replay cannot change them, so pass rates are not compared"

FEW_GROUPS = 10
"""Below this many independent groups a percentile bootstrap is visibly too narrow."""


@dataclass(frozen=True, slots=True)
class Side:
    """One arm as it is shown: label, engine, recipe hash, and every denominator of its rows."""

    label: str
    arm: str
    engine: str
    recipe: str
    counts: Denominators


@dataclass(frozen=True, slots=True)
class SuiteComparison:
    """Two arms on one suite.

    `missing_in_*` name the tasks one arm lacks (failed there), `not_run` those of the recipe neither arm has. `varied`
    are the recipe fields in which the arms differ. `invalid` says why the comparison must not be reported, if so.
    `p_holm` is `outcomes.p` adjusted over all suites, when there are several.
    """

    suite: str
    baseline: Side
    treatment: Side
    tasks: int
    sessions: int
    groups: int
    missing_in_baseline: tuple[str, ...]
    missing_in_treatment: tuple[str, ...]
    not_run: tuple[str, ...]
    varied: tuple[str, ...]
    outcomes: OutcomeComparison | None
    tokens: tuple[TokenComparison, ...]
    needs: NeedComparison | None
    positions: tuple[Band, ...]
    invalid: tuple[str, ...]
    notes: tuple[str, ...]
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All suites of one call, with the options that made the intervals."""

    suites: tuple[SuiteComparison, ...]
    options: Options


def compare(
    runs: Sequence[tuple[ArmRun, ArmRun]], options: Options | None = None, vary: Sequence[str] = ()
) -> Comparison:
    """Compare pairs of (baseline, treatment), one pair a suite or more; p values are Holm-adjusted over all suites.

    Raises `RecipeMismatch` when the recipes of a pair differ in more than arms, code and the fields in `vary`.
    """
    options = options or Options()
    found: list[SuiteComparison] = []
    for baseline, treatment in runs:
        check_comparable(baseline.recipe, treatment.recipe, vary)
        pairs = pair(baseline, treatment)
        for suite in sorted({p.suite for p in pairs}):
            found.append(_compare_suite(suite, baseline, treatment, [p for p in pairs if p.suite == suite], options))
    return Comparison(_adjusted(found), options)


def _compare_suite(
    suite: str, baseline: ArmRun, treatment: ArmRun, pairs: Sequence[Pair], options: Options
) -> SuiteComparison:
    replay = baseline.recipe.kind == "replay" and treatment.recipe.kind == "replay"
    outcomes = None if replay else compare_outcomes(pairs, options)
    tokens = compare_tokens(pairs, options)
    if outcomes is None and not tokens:
        raise UsageError(f"{suite}: the arms share neither a verdict nor a token count, so nothing can be compared")
    groups = len({p.group for p in pairs})
    return SuiteComparison(
        suite=suite,
        baseline=_side(baseline, suite),
        treatment=_side(treatment, suite),
        tasks=len(pairs),
        sessions=len({p.session for p in pairs}),
        groups=groups,
        missing_in_baseline=tuple(p.task for p in pairs if not p.baseline),
        missing_in_treatment=tuple(p.task for p in pairs if not p.treatment),
        not_run=tuple(absent_everywhere(baseline.recipe, pairs)),
        varied=tuple(differences(baseline.recipe, treatment.recipe)),
        outcomes=outcomes,
        tokens=tokens,
        needs=compare_needs(pairs, options),
        positions=compare_positions(pairs, rates=not replay),
        invalid=tuple(_too_many_errors((baseline, treatment), suite)),
        notes=tuple(_notes(replay, groups, pairs, outcomes)),
    )


def _side(run: ArmRun, suite: str) -> Side:
    rows = [row for row in run.rows if row.suite == suite]
    return Side(run.label, run.arm.name, run.arm.engine, sha256(run.recipe), denominators(rows))


def _too_many_errors(runs: Sequence[ArmRun], suite: str) -> Iterator[str]:
    for run in runs:
        counts = denominators(row for row in run.rows if row.suite == suite)
        if counts.error_rate > MOST_ERRORS:
            yield f"{run.label}: {counts.errored} of {counts.attempted} tasks errored, more than {MOST_ERRORS:.0%}"


def _notes(replay: bool, groups: int, pairs: Sequence[Pair], outcomes: OutcomeComparison | None) -> list[str]:
    """What a reader must know before believing an interval."""
    notes = []
    if replay:
        notes.append(RECORDED)
    if groups == 1:
        notes.append("a single session: no interval over sessions exists, and no p below 1; run more sessions")
    elif groups < FEW_GROUPS:
        notes.append(f"only {groups} independent groups: bootstrap intervals are too narrow, read the t interval")
    attempts = most_attempts(pairs)
    for arm, rows in (("baseline", [p.baseline for p in pairs]), ("treatment", [p.treatment for p in pairs])):
        lacking = sum(0 < len(tried) < attempts for tried in rows)
        if lacking:
            notes.append(
                f"{lacking} tasks of the {arm} have fewer than {attempts} attempts; missing ones count as failed"
            )
    if outcomes and outcomes.no_verdict:
        notes.append(f"{outcomes.no_verdict} tasks lack a judge's verdict in an arm and left both sides")
    return notes


def _adjusted(found: Sequence[SuiteComparison]) -> tuple[SuiteComparison, ...]:
    claimed = [(index, one.outcomes.p) for index, one in enumerate(found) if one.outcomes]
    if len(claimed) < 2:
        return tuple(found)
    adjusted = dict(zip([index for index, _ in claimed], holm([p for _, p in claimed]).adjusted, strict=True))
    return tuple(replace(one, p_holm=adjusted.get(index)) for index, one in enumerate(found))
