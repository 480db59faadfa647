"""Decides whether a run is worse than its baseline: exact figures at once, sampled ones when a second run agrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.compare.outcomes import Options, compare_outcomes
from harness.compare.pairs import ArmRun, Pair, check_comparable, pair
from harness.compare.tokens import compare_tokens
from harness.errors import InvalidRun, LintError, UsageError
from harness.gate.baseline import Measured, MeasuredArm
from harness.gate.limits import Limits
from harness.gate.moves import GrownCall, MovedTask, grown_calls, moved_tasks
from harness.ledger import denominators
from harness.summary import arm_record

Verdict = Literal["ok", "better", "worse", "unconfirmed", "invalid", "not measured"]

EXACT = ("tokens", "support_adjusted", "cost", "needs_not_visible", "needs_lost")
"""Sums of `harness.summary.arm_record` that a replay gives to the token."""


@dataclass(frozen=True, slots=True)
class Check:
    """One quantity of one arm against its limit. `message` is one sentence for people."""

    arm: str
    quantity: str
    baseline: float | None
    current: float | None
    verdict: Verdict
    message: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """Every check, the tasks that moved most and the calls whose prompt grew most."""

    baseline: str
    current: str
    checks: tuple[Check, ...]
    moved: tuple[MovedTask, ...]
    grown: tuple[GrownCall, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 good, 1 worse than the baseline, 2 a run that must not be judged."""
        verdicts = {check.verdict for check in self.checks}
        if "invalid" in verdicts:
            return 2
        return 1 if "worse" in verdicts else 0


def check(
    baseline: Measured,
    current: Measured,
    limits: Limits,
    *,
    confirm: Measured | None = None,
    options: Options | None = None,
) -> GateResult:
    """Compare a run with its baseline, arm by arm.

    Code and the parameters of an arm may differ, that is what a gate watches; anything else raises `RecipeMismatch`.
    """
    for run in (current, confirm):
        if run:
            check_comparable(baseline.recipe, run.recipe)
    if not baseline.arms:
        raise UsageError(f"{baseline.label} holds no arm; write it anew with --update")
    options = options or Options()
    checks: list[Check] = []
    notes = [
        f"arm {name} is not in the baseline and was not judged" for name in current.arms if name not in baseline.arms
    ]
    for name, old in baseline.arms.items():
        new = current.arms.get(name)
        if new is None:
            checks.append(Check(name, "run", None, None, "invalid", f"the run has no rows of arm {name}"))
            continue
        checks += validity(name, old.run, new.run, limits)
        if baseline.exact and current.exact:
            checks += exact_checks(name, old.run, new.run, limits)
        else:
            second = confirm.arms[name].run if confirm and name in confirm.arms else None
            if second:
                checks += validity(name, old.run, second, limits, "second run: ")
            checks += sampled_checks(name, old.run, new.run, second, limits, options)
    return GateResult(
        baseline=baseline.label,
        current=current.label,
        checks=tuple(checks),
        moved=tuple(moved_tasks(_shared_arms(baseline, current))),
        grown=tuple(grown_calls(_shared_arms(baseline, current))),
        notes=tuple(notes),
    )


def validity(name: str, baseline: ArmRun, current: ArmRun, limits: Limits, prefix: str = "") -> Iterator[Check]:
    """A run with many errored tasks, illegal prompts, or without some of the baseline's tasks must not be judged."""
    counts = denominators(current.rows)
    share = counts.error_rate
    if share > limits.failure_rate:
        message = f"{counts.errored} of {counts.attempted} tasks errored, more than {limits.failure_rate:.1%}"
        yield Check(name, f"{prefix}failure_rate", None, share, "invalid", message)
    else:
        yield Check(
            name, f"{prefix}failure_rate", None, share, "ok", f"{counts.errored} of {counts.attempted} tasks errored"
        )
    broken = [row.task for row in current.rows if row.error and row.error.startswith(LintError.__name__)]
    if broken:
        message = f"{len(broken)} tasks stopped at a prompt no provider accepts: {', '.join(broken[:5])}"
        yield Check(name, f"{prefix}lint", 0, len(broken), "invalid", message)
    have = {(row.session, row.task, row.attempt) for row in current.rows}
    lacking = [row.task for row in baseline.rows if (row.session, row.task, row.attempt) not in have]
    if lacking:
        shown = ", ".join(lacking[:5]) + (" ..." if len(lacking) > 5 else "")
        message = f"{len(lacking)} tasks of the baseline are not in the run: {shown}"
        yield Check(name, f"{prefix}tasks", len(baseline.rows), len(have), "invalid", message)


def refuse_invalid(run: Measured, limits: Limits) -> None:
    """Raise `InvalidRun` for a run that must not become a baseline."""
    for name, arm in run.arms.items():
        for one in validity(name, arm.run, arm.run, limits):
            if one.verdict == "invalid":
                raise InvalidRun(f"{run.label}, arm {name}: {one.message}; such a run cannot be a baseline")


def exact_checks(name: str, baseline: ArmRun, current: ArmRun, limits: Limits) -> Iterator[Check]:
    """Totals that do not vary between runs: any growth beyond the limit is worse, and one more lost need always is.

    Where tasks were really played (a cassette), one passed task less is worse, too.
    """
    lacking = _no_longer_measured(baseline, current)
    if lacking:
        message = f"needs of {len(lacking)} tasks are no longer measured: {', '.join(lacking[:5])}"
        yield Check(name, "needs", None, None, "invalid", message)
    old, new = arm_record(name, baseline.rows), arm_record(name, current.rows)
    for quantity in EXACT:
        allowed = 0.0 if quantity == "needs_lost" else getattr(limits, quantity)
        one = _exact_check(name, quantity, old[quantity], new[quantity], allowed)
        yield replace(one, message=one.message + _swapped(baseline, current)) if quantity == "needs_lost" else one
    if current.recipe.kind == "live":
        before, after = old["tasks"]["passed"] or 0, new["tasks"]["passed"] or 0
        verdict: Verdict = "worse" if after < before else "better" if after > before else "ok"
        yield Check(name, "passed", before, after, verdict, f"{before} -> {after} passed")


def _swapped(baseline: ArmRun, current: ArmRun) -> str:
    """Says when some tasks lose more needs and others fewer, which a total hides."""
    before = {(row.session, row.task, row.attempt): row.needs_lost or 0 for row in baseline.rows}
    changes = [(row.needs_lost or 0) - before.get((row.session, row.task, row.attempt), 0) for row in current.rows]
    more, fewer = sum(change for change in changes if change > 0), -sum(change for change in changes if change < 0)
    return f"; {more} more in some tasks, {fewer} fewer in others" if more and fewer else ""


def _no_longer_measured(baseline: ArmRun, current: ArmRun) -> list[str]:
    """Tasks whose needs the baseline has and this run lacks: a partial sum would look like a saving."""
    measured = {(row.session, row.task, row.attempt) for row in baseline.rows if row.repairs is not None}
    return [
        row.task for row in current.rows if row.repairs is None and (row.session, row.task, row.attempt) in measured
    ]


def _exact_check(name: str, quantity: str, before: float | None, after: float | None, share: float) -> Check:
    if before is None:
        return Check(name, quantity, before, after, "not measured", "not in the baseline")
    if after is None:
        return Check(name, quantity, before, after, "invalid", "measured in the baseline, but not in this run")
    change = f"{after - before:+,.0f}" + (f" ({(after - before) / before:+.2%})" if before else "")
    said = f"{before:,.0f} -> {after:,.0f}, {change}"
    if after > before * (1.0 + share):
        return Check(name, quantity, before, after, "worse", f"{said}; allowed is +{share:.2%}")
    return Check(name, quantity, before, after, "better" if after < before else "ok", said)


def sampled_checks(
    name: str, baseline: ArmRun, current: ArmRun, second: ArmRun | None, limits: Limits, options: Options
) -> Iterator[Check]:
    """Figures that vary between runs: worse only when significant, larger than the minimum, and seen again."""
    first = _drops(pair(baseline, current), limits, options)
    again = _drops(pair(baseline, second), limits, options) if second else {}
    for quantity, (before, after, dropped, said) in first.items():
        if not dropped:
            yield Check(name, quantity, before, after, "ok", said)
        elif second is None:
            message = f"{said}; not confirmed yet: run once more and pass it with --confirm"
            yield Check(name, quantity, before, after, "unconfirmed", message)
        elif again.get(quantity, (0.0, 0.0, False, ""))[2]:
            yield Check(name, quantity, before, after, "worse", f"{said}; the second run: {again[quantity][3]}")
        else:
            yield Check(name, quantity, before, after, "ok", f"{said}; the second run did not confirm it")


def _drops(pairs: Sequence[Pair], limits: Limits, options: Options) -> dict[str, tuple[float, float, bool, str]]:
    """Per quantity: its value before and after, whether it got worse beyond doubt, and one sentence."""
    found: dict[str, tuple[float, float, bool, str]] = {}
    strict = Options(options.seed, options.resamples, limits.alpha)
    outcomes = compare_outcomes(pairs, strict)
    if outcomes:
        change, p = outcomes.passed.clustered.mean, outcomes.p
        said = f"{change * 100:+.1f} points, p = {p:.4f} ({outcomes.p_from}, {outcomes.groups} groups)"
        if 2.0 ** (1 - outcomes.groups) > limits.alpha:
            said += f"; {outcomes.groups} groups are too few for any drop to reach p <= {limits.alpha:g}"
        dropped = change < -limits.pass_rate and p <= limits.alpha
        found["pass_rate"] = (outcomes.passed.mean_baseline, outcomes.passed.mean_treatment, dropped, said)
    for one in compare_tokens(pairs, strict):
        if one.measure == "tokens" and one.interval:
            low, high = one.interval
            said = f"x {one.ratio:.3f}, {1.0 - limits.alpha:.0%} interval {low:.3f} to {high:.3f}"
            grew = one.ratio > 1.0 + limits.sampled_tokens and low > 1.0
            found["tokens"] = (one.baseline, one.treatment, grew, said)
    return found


def _shared_arms(baseline: Measured, current: Measured) -> list[tuple[MeasuredArm, MeasuredArm]]:
    return [(arm, current.arms[name]) for name, arm in baseline.arms.items() if name in current.arms]
