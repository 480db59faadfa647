"""Where a change shows: the tasks that moved most, and the calls whose prompt grew most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.compare.pairs import ArmRun, Pair, pair
from harness.compare.tokens import mean_of, support_adjusted, tokens
from harness.gate.baseline import MeasuredArm
from harness.types import TaskRow

SHOWN = 10


@dataclass(frozen=True, slots=True)
class MovedTask:
    """One task whose outcome, needs or tokens changed. Tokens are support-adjusted where that was measured."""

    arm: str
    session: str
    task: str
    tokens_before: float
    tokens_after: float
    lost_more: int
    passed_before: bool | None
    passed_after: bool | None


@dataclass(frozen=True, slots=True)
class GrownCall:
    """One agent call (`call` counts within its task from 0) whose prompt grew, in tokens."""

    arm: str
    session: str
    task: str
    call: int
    before: int
    after: int


def moved_tasks(arms: Sequence[tuple[MeasuredArm, MeasuredArm]]) -> list[MovedTask]:
    """The ten tasks that moved most: new failures and lost needs first, then by change of tokens either way."""
    joined = [(new.run, one) for old, new in arms for one in pair(old.run, new.run) if one.complete]
    moved = [_moved(run, one) for run, one in joined]
    return sorted((task for task in moved if task), key=_weight)[:SHOWN]


def grown_calls(arms: Sequence[tuple[MeasuredArm, MeasuredArm]]) -> list[GrownCall]:
    """The ten calls whose prompt grew most in tokens, call by call of the tasks both runs have."""
    found = []
    for old, new in arms:
        for (session, task), before in old.prompts.items():
            after = new.prompts.get((session, task), ())
            for number, (first, second) in enumerate(zip(before, after, strict=False)):
                if first is not None and second is not None and second > first:
                    found.append(GrownCall(old.run.arm.name, session, task, number, first, second))
    found.sort(key=lambda call: (call.before - call.after, call.arm, call.session, call.task, call.call))
    return found[:SHOWN]


def _moved(run: ArmRun, joined: Pair) -> MovedTask | None:
    """What changed in one task; `None` when nothing did."""
    before, after = joined.baseline, joined.treatment
    costs = [_cost(rows) for rows in (before, after)]
    lost = [sum(row.needs_lost or 0 for row in rows) for rows in (before, after)]
    played = run.recipe.kind == "live"  # a replay only repeats recorded outcomes
    passed = [_passed(rows) if played else None for rows in (before, after)]
    if costs[0] == costs[1] and lost[0] == lost[1] and passed[0] == passed[1]:
        return None
    return MovedTask(
        arm=run.arm.name,
        session=joined.session,
        task=joined.task,
        tokens_before=costs[0],
        tokens_after=costs[1],
        lost_more=lost[1] - lost[0],
        passed_before=passed[0],
        passed_after=passed[1],
    )


def _cost(rows: Sequence[TaskRow]) -> float:
    return mean_of(rows, support_adjusted) or mean_of(rows, tokens) or 0.0


def _passed(rows: Sequence[TaskRow]) -> bool | None:
    """Whether every attempt passed; `None` when there is no verdict at all."""
    known = [row.passed for row in rows if row.passed is not None]
    return all(known) if known else None


def _weight(task: MovedTask) -> tuple[bool, int, float, str, str, str]:
    broken = task.passed_before is True and task.passed_after is not True
    change = abs(task.tokens_after - task.tokens_before)
    return (not broken, -task.lost_more, -change, task.arm, task.session, task.task)
