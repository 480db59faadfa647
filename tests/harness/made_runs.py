"""Run logs made for tests: recipes and task rows with known effects, seeded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness.runlog import RunLog
from harness.summary import summarise
from harness.types import Arm, Call, Recipe, State, TaskRow, Usage


def make_recipe(
    kind: Literal["replay", "live"] = "live",
    arms: tuple[str, ...] = ("full", "agentmem"),
    tasks: int = 60,
    per_session: int = 6,
    **changes: Any,
) -> Recipe:
    recipe = Recipe(
        kind=kind,
        suite="made",
        data={"made.jsonl": "ab" * 32},
        tasks=tuple(f"task-{i:03}" for i in range(tasks)),
        per_session=per_session,
        order="file",
        seed=1,
        arms=tuple(Arm(name, name, {}) for name in arms),
        model="model-x",
        tokenizer="o200k_base",
        window=200_000,
        limits={"steps": 50},
        code={"version": "0.1.0", "sha256": "cd" * 32},
    )
    return replace(recipe, **changes)


def make_row(arm: str, session: str, task: str, position: int, attempt: int = 0, **changes: Any) -> TaskRow:
    row = TaskRow(
        arm=arm,
        session=session,
        task=task,
        suite="made",
        position=position,
        attempt=attempt,
        calls=4,
        state="scored",
        passed=True,
        score=1.0,
        prompt_tokens=1_000,
        cached_tokens=None,
        completion_tokens=100,
        memory_prompt_tokens=0,
        memory_completion_tokens=0,
        repairs=None,
        fetched=None,
        needs=None,
        needs_not_visible=None,
        needs_lost=None,
        actions=None,
        actions_unsupported=None,
        peak_prompt=800,
    )
    return replace(row, **changes)


def make_rows(
    recipe: Recipe,
    arm: str,
    *,
    seed: int,
    rate: float = 0.6,
    flips: float = 0.0,
    factor: float = 1.0,
    errored: int = 0,
    attempts: int = 1,
) -> tuple[TaskRow, ...]:
    """Rows of one arm. The task decides most of its outcome (so arms correlate); `flips` is the share decided anew by
    `seed`; tokens grow with the position and are multiplied by `factor`."""
    base, own = np.random.default_rng(99), np.random.default_rng(seed)
    rows = []
    for index, task in enumerate(recipe.tasks):
        session, position = f"s{index // recipe.per_session:03}", index % recipe.per_session
        luck, size = base.random(), base.lognormal(9.0, 0.5)
        for attempt in range(attempts):
            drawn = own.random() if own.random() < flips else luck
            state: State = "errored" if index < errored else "scored"
            passed = state == "scored" and drawn < rate
            prompt = int(size * (1 + position) * factor)
            replayed: dict[str, Any] = (
                {
                    "cached_tokens": prompt * 4 // 5,
                    "repairs": prompt // 10,
                    "fetched": 0,
                    "needs": 12,
                    "needs_not_visible": 1,
                    "needs_lost": 0,
                }
                | {"actions": 4, "actions_unsupported": 1}
                if recipe.kind == "replay"
                else {}
            )
            outcome = {"state": state, "passed": passed if state == "scored" else None}
            rows.append(make_row(arm, session, task, position, attempt, prompt_tokens=prompt, **outcome, **replayed))
    return tuple(rows)


def make_calls(rows: tuple[TaskRow, ...]) -> list[Call]:
    """Agent calls for each task, whose prompts grow by one token from the task's peak."""
    return [
        Call(
            row.arm,
            row.session,
            row.task,
            row.position,
            row.calls * row.position + n,
            "agent",
            Usage(row.peak_prompt + n),
            3,
        )
        for row in rows
        for n in range(row.calls)
    ]


def write_run(folder: Path, recipe: Recipe, rows: tuple[TaskRow, ...], *, finished: bool = True) -> Path:
    """A run folder as a real run leaves it."""
    log = RunLog(folder, recipe)
    log.append(make_calls(rows), rows)
    if finished:
        log.finish(summarise(recipe, log.sha256, log.tasks, {}))
    return folder
