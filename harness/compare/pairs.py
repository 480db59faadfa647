"""Joins two arms by session and task. Arms whose recipes differ in more than what is compared are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import RecipeMismatch, UsageError
from harness.recipe import differences
from harness.types import Arm, Recipe, TaskRow

COMPARED = ("arms", "code")
"""Fields of a recipe that a comparison compares; everything else must be equal unless named by the user."""

NO_VERDICT = "unjudged"
"""The state without a verdict: the judge's fault, not the arm's, so the pair leaves both sides and is counted."""


@dataclass(frozen=True, slots=True)
class ArmRun:
    """One arm of one run: what a comparison compares. `label` is what people read."""

    label: str
    recipe: Recipe
    arm: Arm
    rows: tuple[TaskRow, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """One task of one session in both arms; a tuple holds its attempts in order and is empty when the arm lacks it.

    `group` is the independent unit the task belongs to: its session, joined with every session that holds tasks of the
    same cluster (`detail["cluster"]`: shared documents, one persona).
    """

    suite: str
    session: str
    group: str
    task: str
    position: int
    baseline: tuple[TaskRow, ...]
    treatment: tuple[TaskRow, ...]

    @property
    def complete(self) -> bool:
        """Whether both arms have the task."""
        return bool(self.baseline and self.treatment)

    @property
    def judged(self) -> bool:
        """Whether no attempt lacks a verdict. A task missing in one arm, or without an answer, is judged: it failed."""
        return not any(row.state == NO_VERDICT for row in (*self.baseline, *self.treatment))


def check_comparable(baseline: Recipe, treatment: Recipe, vary: Sequence[str] = ()) -> None:
    """Raise `RecipeMismatch` when two recipes differ in anything but what is compared and the fields in `vary`.

    A field is a name of `Recipe` or a dotted name below it (`limits.steps`).
    """
    allowed = (*COMPARED, *vary)
    found = {
        name: (_short(old), _short(new))
        for name, (old, new) in differences(baseline, treatment).items()
        if not any(name == field or name.startswith(f"{field}.") for field in allowed)
    }
    if found:
        raise RecipeMismatch("comparing", found)


def pair(baseline: ArmRun, treatment: ArmRun) -> list[Pair]:
    """Join the rows of two arms, in order of session, position and task. A repeated row raises."""
    first, second = _by_task(baseline), _by_task(treatment)
    if not first or not second:
        empty = baseline if not first else treatment
        raise UsageError(f"{empty.label} has no task rows; run it before comparing it")
    groups = _groups([*baseline.rows, *treatment.rows])
    pairs = []
    for key in first.keys() | second.keys():
        row = (first.get(key) or second[key])[0]
        arms = first.get(key, ()), second.get(key, ())
        pairs.append(Pair(row.suite, row.session, groups[row.session], row.task, row.position, *arms))
    return sorted(pairs, key=lambda p: (p.suite, p.session, p.position, p.task))


def absent_everywhere(recipe: Recipe, pairs: Sequence[Pair]) -> list[str]:
    """Tasks of the recipe that neither arm has a row of: the runs are not finished."""
    present = {pair.task for pair in pairs}
    return [task for task in recipe.tasks if task not in present]


def _groups(rows: Sequence[TaskRow]) -> dict[str, str]:
    """Map each session to the smallest session it is connected with through clusters that span sessions."""
    root: dict[str, str] = {row.session: row.session for row in rows}

    def find(session: str) -> str:
        while root[session] != session:
            session = root[session]
        return session

    holder: dict[str, str] = {}
    for row in rows:
        cluster = row.detail.get("cluster")
        if cluster is None:
            continue
        one, other = find(row.session), find(holder.setdefault(str(cluster), row.session))
        root[max(one, other)] = min(one, other)
    return {session: find(session) for session in root}


def _by_task(run: ArmRun) -> dict[tuple[str, str, str], tuple[TaskRow, ...]]:
    found: dict[tuple[str, str, str], dict[int, TaskRow]] = {}
    for row in run.rows:
        attempts = found.setdefault((row.suite, row.session, row.task), {})
        if row.attempt in attempts:
            raise UsageError(
                f"{run.label}: task {row.task} of session {row.session} has two rows for attempt {row.attempt}; "
                "a run log holds one row per task, arm and attempt"
            )
        attempts[row.attempt] = row
    return {key: tuple(rows[n] for n in sorted(rows)) for key, rows in found.items()}


def _short(value: Any) -> Any:
    """Keep an error message readable: long lists are told by their length and first entries."""
    if isinstance(value, (list, tuple)) and len(value) > 4:
        return f"{len(value)} entries beginning with {list(value[:2])!r}"
    return value
