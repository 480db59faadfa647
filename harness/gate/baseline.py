"""The baseline a gate compares with: one JSON file with every task's figures and where they came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import recipe as recipes
from harness.compare.pairs import ArmRun
from harness.errors import UnreadableInput, UsageError
from harness.types import Call, Recipe, TaskRow

SCHEMA = "agentmem-gate/1"

COLUMNS = (
    "session", "task", "suite", "position", "attempt", "calls", "state", "passed", "score", "prompt_tokens",
    "cached_tokens", "completion_tokens", "memory_prompt_tokens", "memory_completion_tokens", "repairs", "fetched",
    "needs", "needs_not_visible", "needs_lost", "actions", "actions_unsupported", "peak_prompt",
)  # fmt: skip
"""Fields of a task row that are kept, in the order they are written."""

TaskKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """One arm of a run with, per (session, task), the prompt tokens of each of its agent calls in order."""

    run: ArmRun
    prompts: Mapping[TaskKey, Sequence[int | None]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A finished run as a gate sees it. `exact`: the same recipe gives the same bytes (a replay, a cassette)."""

    label: str
    recipe: Recipe
    exact: bool
    arms: Mapping[str, MeasuredArm]
    date: str | None = None


def measure(label: str, recipe: Recipe, rows: Iterable[TaskRow], calls: Iterable[Call], exact: bool) -> Measured:
    """Group the rows and calls of a run by arm. An arm of the recipe without rows stays out."""
    by_arm: dict[str, list[TaskRow]] = {}
    for row in rows:
        by_arm.setdefault(row.arm, []).append(row)
    prompts = _prompts(calls)
    arms = {
        arm.name: MeasuredArm(
            ArmRun(f"{label}:{arm.name}", recipe, arm, tuple(by_arm[arm.name])), prompts.get(arm.name, {})
        )
        for arm in recipe.arms
        if arm.name in by_arm
    }
    return Measured(label, recipe, exact, arms)


def _prompts(calls: Iterable[Call]) -> dict[str, dict[TaskKey, list[int | None]]]:
    """Prompt tokens of the agent's calls by arm and task. Of a task played again, the last time counts."""
    found: dict[str, dict[TaskKey, list[int | None]]] = {}
    last: dict[tuple[str, str, str], int] = {}
    for call in calls:
        if call.purpose != "agent":
            continue
        key = (call.arm, call.session, call.task)
        tasks = found.setdefault(call.arm, {})
        if call.number <= last.get(key, -1):
            tasks[call.session, call.task] = []
        last[key] = call.number
        tasks.setdefault((call.session, call.task), []).append(call.usage.prompt)
    return found


def write_baseline(path: Path, run: Measured, date: str, note: str = "") -> None:
    """Write `run` as the new baseline. `date` is the day it was accepted; `note` says why."""
    parts = [
        f'"schema": {json.dumps(SCHEMA)}',
        f'"date": {json.dumps(date)}',
        f'"note": {json.dumps(note)}',
        f'"recipe_sha256": {json.dumps(recipes.sha256(run.recipe))}',
        f'"exact": {json.dumps(run.exact)}',
        f'"recipe": {json.dumps(asdict(run.recipe), sort_keys=True, allow_nan=False)}',
        f'"columns": {json.dumps([*COLUMNS, "prompts"])}',
        '"arms": {\n' + ",\n".join(_arm_lines(name, run.arms[name]) for name in sorted(run.arms)) + "\n}",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8", newline="\n")


def read_baseline(path: Path) -> Measured:
    """Read what `write_baseline` wrote. `UsageError` when there is none, `UnreadableInput` when it is damaged."""
    if not path.exists():
        raise UsageError(f"{path}: no baseline; write one with --update")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnreadableInput(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise UnreadableInput(f"{path}: expected schema {SCHEMA!r}, found {found!r}")
    try:
        recipe = recipes.load(json.dumps(data["recipe"]))
        arms = {arm.name: arm for arm in recipe.arms}
        label = f"baseline of {data['date']}"
        measured = {
            name: _arm(ArmRun(f"{label}:{name}", recipe, arms[name], ()), rows, data["columns"])
            for name, rows in data["arms"].items()
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableInput(f"{path}: damaged baseline ({type(error).__name__}: {error}); write it anew") from error
    if recipes.sha256(recipe) != data.get("recipe_sha256"):
        raise UnreadableInput(f"{path}: the recipe in it does not have the hash beside it; write the baseline anew")
    return Measured(label, recipe, data["exact"], measured, data["date"])


def _arm_lines(name: str, arm: MeasuredArm) -> str:
    """One task a line, so that a diff shows which tasks moved."""
    ordered = sorted(arm.run.rows, key=lambda row: (row.session, row.position, row.task, row.attempt))
    lines = [
        json.dumps([*(getattr(row, column) for column in COLUMNS), list(arm.prompts.get((row.session, row.task), []))])
        for row in ordered
    ]
    return f"{json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]"


def _arm(run: ArmRun, rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> MeasuredArm:
    names = list(columns)
    found, prompts = [], {}
    for row in rows:
        values = dict(zip(names, row, strict=True))
        prompts[values["session"], values["task"]] = values.pop("prompts")
        found.append(TaskRow(arm=run.arm.name, **values))
    return MeasuredArm(ArmRun(run.label, run.recipe, run.arm, tuple(found)), prompts)
