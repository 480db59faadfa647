"""A comparison as tables, the same for text and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from harness.compare.comparison import Comparison, SuiteComparison
from harness.compare.outcomes import Difference, OutcomeComparison
from harness.compare.tokens import NeedComparison
from harness.stats.attempts import Reliability
from harness.tables import Table, between, count, p_value, percent, points, ratio

SHOWN = 10
"""Task names listed before "and N more"."""


def tables(comparison: Comparison) -> list[Table]:
    """Everything a comparison must report, suite by suite; see docs/statistics.md for what each figure means."""
    level = f"{(1.0 - comparison.options.alpha) * 100:g} %"
    found: list[Table] = []
    for suite in comparison.suites:
        found.append(_design(suite))
        if suite.outcomes:
            found += _outcomes(suite, suite.outcomes, level)
        if suite.tokens:
            found.append(_tokens(suite, level))
        if suite.needs:
            found.append(_needs(suite, suite.needs, level))
        found.append(_positions(suite))
    return found


def _design(suite: SuiteComparison) -> Table:
    columns = ("arm", "attempted", "scored", "unparsable", "errored", "judged", "unjudged", "no outcome", "passed")
    rows = tuple(
        (
            f"{role} {side.label}",
            *map(count, (side.counts.attempted, side.counts.scored, side.counts.unparsable, side.counts.errored)),
            *map(count, (side.counts.judged, side.counts.unjudged, side.counts.missing, side.counts.passed)),
        )
        for role, side in (("baseline", suite.baseline), ("treatment", suite.treatment))
    )
    notes = [
        *_named("missing in the baseline, counted as failed there", suite.missing_in_baseline),
        *_named("missing in the treatment, counted as failed there", suite.missing_in_treatment),
        *_named("in the recipe but run in neither arm", suite.not_run),
        *(f"INVALID, not to be reported: {reason}" for reason in suite.invalid),
        *suite.notes,
        f"recipes {suite.baseline.recipe[:12]} and {suite.treatment.recipe[:12]}"
        + (f" differ in {', '.join(suite.varied)}" if suite.varied else " are the same"),
    ]
    title = f"{suite.suite}: {suite.tasks} tasks in {suite.sessions} sessions ({suite.groups} independent groups)"
    return Table(title, columns, rows, tuple(notes))


def _outcomes(suite: SuiteComparison, outcomes: OutcomeComparison, level: str) -> list[Table]:
    arms = (("baseline", outcomes.baseline), ("treatment", outcomes.treatment))
    rates = Table(
        f"{suite.suite}: pass rate over {outcomes.n} tasks",
        ("arm", "pass rate", f"Wilson {level}"),
        tuple((name, percent(arm.rate), between(arm.wilson, 100, 1)) for name, arm in arms),
        ("no Wilson interval: attempts of one task are not independent",) if outcomes.attempts > 1 else (),
    )
    table = outcomes.table
    notes = [
        f"p = {p_value(outcomes.p)} ({outcomes.p_from})"
        + (f", {p_value(suite.p_holm)} after Holm over all suites" if suite.p_holm is not None else "")
    ]
    if table and outcomes.mcnemar:
        notes.append(
            f"both pass {table.both}, only baseline {table.baseline_only}, only treatment {table.treatment_only}, "
            f"neither {table.neither}; McNemar exact p = {p_value(outcomes.mcnemar.p_exact)} "
            f"(mid-p {p_value(outcomes.mcnemar.p_mid)}), which takes tasks as independent"
        )
    notes.append(_detectable(outcomes))
    if outcomes.no_verdict:
        notes.append(f"with tasks without a verdict counted as failed: {points(outcomes.if_failed)}")
    found = [rates, _difference(f"{suite.suite}: paired difference of the pass rate", outcomes.passed, level, notes)]
    if outcomes.score:
        found.append(_difference(f"{suite.suite}: paired difference of the score", outcomes.score, level, []))
    if outcomes.baseline.reliability and outcomes.treatment.reliability:
        found.append(_attempts(suite, outcomes.baseline.reliability, outcomes.treatment.reliability))
    return found


def _detectable(outcomes: OutcomeComparison) -> str:
    design = f"discordant rate {percent(outcomes.discordant_rate)}, design effect {outcomes.design_effect:.2f}"
    if outcomes.detectable is None:
        return f"no difference can be found with 80 % power in this design ({design})"
    return f"smallest difference found with 80 % power: {points(outcomes.detectable)} ({design})"


def _difference(title: str, difference: Difference, level: str, notes: Sequence[str]) -> Table:
    clustered, flips = difference.clustered, difference.permutation
    columns = ("treatment - baseline", f"{level} bootstrap", f"{level} t (CR1)", "SE paired", "SE CR1", "sign-flip p")
    row = (
        points(clustered.mean),
        between(difference.bootstrap, 100, 1),
        between(clustered.t, 100, 1),
        percent(clustered.se_clt, 2),
        percent(clustered.se_cr1, 2),
        f"{p_value(flips.p)} ({'exact' if flips.exact else 'sampled'}, {difference.unit}s)",
    )
    means = f"{percent(difference.mean_baseline)} to {percent(difference.mean_treatment)}"
    return Table(title, columns, (row,), (f"{means}; {clustered.clusters} independent groups", *notes))


def _attempts(suite: SuiteComparison, baseline: Reliability, treatment: Reliability) -> Table:
    columns = ("k", "pass@k baseline", "pass@k treatment", "pass^k baseline", "pass^k treatment")
    at, hat = (dict(baseline.at), dict(treatment.at)), (dict(baseline.hat), dict(treatment.hat))
    rows = tuple((str(k), *(percent(part[k]) for part in (*at, *hat))) for k in range(1, baseline.attempts + 1))
    return Table(f"{suite.suite}: any of k attempts (pass@k), all of k (pass^k)", columns, rows)


def _tokens(suite: SuiteComparison, level: str) -> Table:
    columns = (
        "measure",
        "baseline",
        "treatment",
        "ratio",
        f"{level} bootstrap",
        f"{level} t (CR1)",
        "typical task",
        level,
    )
    rows = tuple(
        (
            one.measure,
            count(one.baseline),
            count(one.treatment),
            ratio(one.ratio),
            between(one.interval),
            between(one.t),
            ratio(one.geometric_mean),
            between(one.geometric),
        )
        for one in suite.tokens
    )
    notes = ["ratio: what the bill does; typical task: geometric mean of the task ratios; a judge is not counted"]
    notes += [f"{one.measure}: {between(one.by_task)} if tasks were independent" for one in suite.tokens]
    left_out = sorted({one.left_out for one in suite.tokens if one.left_out})
    if left_out:
        notes.append(f"tasks without the figure in both arms, left out: {', '.join(map(str, left_out))}")
    return Table(f"{suite.suite}: tokens of treatment per token of baseline", columns, rows, tuple(notes))


def _needs(suite: SuiteComparison, needs: NeedComparison, level: str) -> Table:
    columns = ("arm", "needs", "not visible", "lost", "actions", "with a need not visible")
    rows = tuple(
        (name, *map(count, (side.needs, side.not_visible, side.lost, side.actions, side.unsupported)))
        for name, side in (("baseline", needs.baseline), ("treatment", needs.treatment))
    )
    change = needs.unsupported
    note = (
        f"share of a task's actions with a need not visible: {points(change.clustered.mean)}, "
        f"{level} {between(change.bootstrap, 100, 2)}, sign-flip p {p_value(change.permutation.p)}"
    )
    return Table(f"{suite.suite}: what actions needed, {needs.n} tasks", columns, rows, (note,))


def _positions(suite: SuiteComparison) -> Table:
    cells: list[tuple[str, list[str]]] = [("tasks", [count(band.n) for band in suite.positions])]
    if any(band.rate_baseline is not None for band in suite.positions):
        cells.append(("pass rate baseline", [percent(band.rate_baseline) for band in suite.positions]))
        cells.append(("treatment", [percent(band.rate_treatment) for band in suite.positions]))
    cells += [
        ("tokens baseline", [count(band.tokens_baseline) for band in suite.positions]),
        ("treatment", [count(band.tokens_treatment) for band in suite.positions]),
        ("ratio", [ratio(band.token_ratio) for band in suite.positions]),
    ]
    if any(band.support_adjusted_ratio is not None for band in suite.positions):
        cells.append(("support-adjusted ratio", [ratio(band.support_adjusted_ratio) for band in suite.positions]))
    return Table(
        f"{suite.suite}: by position in the session",
        ("position in session", *(head for head, _ in cells)),
        tuple((band.name, *(column[i] for _, column in cells)) for i, band in enumerate(suite.positions)),
    )


def _named(what: str, tasks: Sequence[str]) -> list[str]:
    if not tasks:
        return []
    more = f" and {len(tasks) - SHOWN} more" if len(tasks) > SHOWN else ""
    return [f"{len(tasks)} {what}: {', '.join(tasks[:SHOWN])}{more}"]
