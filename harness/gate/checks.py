"""Decides whether a run is worse than its baseline: exact figures at once, sampled ones when a second run agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.compare.outcomes import Options, compare_outcomes
from harness.compare.pairs import ArmRun, Pair, check_comparable, pair
from harness.compare.tokens import compare_tokens, support_adjusted, tokens
from harness.errors import UsageError
from harness.gate.baseline import Measured, MeasuredArm
from harness.gate.limits import Limits
from harness.gate.moves import GrownCall, MovedTask, grown_calls, moved_tasks
from harness.ledger import denominators
from harness.types import TaskRow

Verdict = Literal["ok", "better", "worse", "unconfirmed", "invalid", "not measured"]

Figure = Callable[[TaskRow], int | None]

EXACT: tuple[tuple[str, Figure], ...] = (
    ("tokens", tokens),
    ("support_adjusted", support_adjusted),
    ("needs_not_visible", lambda row: row.needs_not_visible),
    ("needs_lost", lambda row: row.needs_lost),
)
"""Quantities that a replay gives to the token."""


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
    """A run with many errored tasks, or without some of the baseline's tasks, must not be judged."""
    counts = denominators(current.rows)
    share = counts.error_rate
    if share > limits.failure_rate:
        message = f"{counts.errored} of {counts.attempted} tasks errored, more than {limits.failure_rate:.1%}"
        yield Check(name, f"{prefix}failure_rate", None, share, "invalid", message)
    else:
        yield Check(
            name, f"{prefix}failure_rate", None, share, "ok", f"{counts.errored} of {counts.attempted} tasks errored"
        )
    have = {(row.session, row.task, row.attempt) for row in current.rows}
    lacking = [row.task for row in baseline.rows if (row.session, row.task, row.attempt) not in have]
    if lacking:
        shown = ", ".join(lacking[:5]) + (" ..." if len(lacking) > 5 else "")
        message = f"{len(lacking)} tasks of the baseline are not in the run: {shown}"
        yield Check(name, f"{prefix}tasks", len(baseline.rows), len(have), "invalid", message)


def exact_checks(name: str, baseline: ArmRun, current: ArmRun, limits: Limits) -> Iterator[Check]:
    """Totals that do not vary between runs: any growth beyond the limit is worse, and one more lost need always is."""
    allowed = {
        "tokens": limits.tokens,
        "support_adjusted": limits.support_adjusted,
        "needs_not_visible": limits.needs_not_visible,
        "needs_lost": 0.0,
    }
    for quantity, figure in EXACT:
        before, after = total(baseline.rows, figure), total(current.rows, figure)
        yield _exact_check(name, quantity, before, after, allowed[quantity])


def total(rows: Sequence[TaskRow], figure: Figure) -> int | None:
    """Sum of a figure over rows; `None` when any row lacks it, since a partial sum would look like a saving."""
    values = [figure(row) for row in rows]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _exact_check(name: str, quantity: str, before: int | None, after: int | None, share: float) -> Check:
    if before is None:
        return Check(name, quantity, before, after, "not measured", "not in the baseline")
    if after is None:
        return Check(name, quantity, before, after, "invalid", "measured in the baseline, but not in this run")
    change = f"{after - before:+,} ({(after - before) / before:+.2%})" if before else f"{after - before:+,}"
    said = f"{before:,} -> {after:,}, {change}"
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
