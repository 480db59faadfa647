"""What the HTML report reads of a run: task rows and ledger rows in plan order, and their packed columns."""

from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.compare.tokens import tokens
from harness.errors import UnknownName, UnreadableInput
from harness.ledger import price
from harness.runlog import CALLS, read_recipe, read_rows, read_summary, read_tasks
from harness.summary import repair_cost, total_cost
from harness.types import Arm, Recipe, TaskRow

CONTROL = "control"  # the engine of arms that play nothing
TaskKey = tuple[str, str, int]  # session, task, attempt


@dataclass(frozen=True)
class RunData:
    """A finished run in memory. ``calls`` maps an arm to its ledger rows as JSON objects, in the order of the log."""

    folder: Path
    recipe: Recipe
    summary: Mapping[str, Any]
    rows: tuple[TaskRow, ...]
    calls: Mapping[str, Sequence[Mapping[str, Any]]]
    baseline: str

    @property
    def played(self) -> list[Arm]:
        """The arms a model or a recording was played through, in the order of the recipe; no controls."""
        return [arm for arm in self.recipe.arms if arm.engine != CONTROL]

    @property
    def arms(self) -> list[str]:
        """Their names."""
        return [arm.name for arm in self.played]

    @property
    def controls(self) -> list[str]:
        """Names of the controls: answers a suite makes up, which cost nothing."""
        return [arm.name for arm in self.recipe.arms if arm.engine == CONTROL]

    def of(self, arm: str) -> list[TaskRow]:
        """The task rows of one arm, in plan order."""
        return [row for row in self.rows if row.arm == arm]


def load(folder: Path, baseline: str | None = None) -> RunData:
    """Read a finished run. ``baseline`` is the arm the others are held against: ``full`` where there is one, else the
    first. Raises ``UnreadableInput`` for what is no finished run, ``UnknownName`` for an arm it does not have.
    """
    summary, recipe = read_summary(folder), read_recipe(folder)
    names = [arm.name for arm in recipe.arms if arm.engine != CONTROL]
    if not names:
        raise UnreadableInput(f"{folder}: expected a run with an arm, found controls only")
    if baseline is not None and baseline not in names:
        raise UnknownName(f"arm of {folder}", baseline, names)
    full = next((arm.name for arm in recipe.arms if arm.engine == "full"), names[0])
    rows = sorted(read_tasks(folder), key=lambda row: (row.session, row.position, row.task, row.attempt))
    calls: dict[str, list[Mapping[str, Any]]] = {arm.name: [] for arm in recipe.arms}
    for _, row in read_rows(folder / CALLS):
        calls[row["arm"]].append(row)
    return RunData(folder, recipe, summary, tuple(rows), calls, baseline or full)


def task_keys(rows: Sequence[TaskRow]) -> list[TaskKey]:
    """Every task once, in plan order."""
    return list(dict.fromkeys((row.session, row.task, row.attempt) for row in rows))


def adjusted(row: TaskRow) -> int:
    """Support-adjusted tokens of one task; without measured needs, its tokens."""
    return tokens(row) + (row.repairs or 0)


def cost(row: TaskRow) -> float | None:
    """Price of one task with the cache, repairs included; None where cached tokens are not known."""
    known = total_cost([row])
    return None if known is None else known + repair_cost([row])


def cost_without_cache(row: TaskRow) -> float:
    """Price of one task had no token been cached, repairs included."""
    prompts = row.prompt_tokens + row.memory_prompt_tokens + (row.repairs or 0)
    return price(prompts, 0, row.completion_tokens + row.memory_completion_tokens)


def pack(value: Any) -> str:
    """A value as base64 of deflated JSON, for ``DecompressionStream("deflate")`` in the page."""
    # ASCII, so that half a surrogate pair in a tool output cannot break the file
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("ascii"), 6)).decode("ascii")


def task_columns(data: RunData) -> dict[str, Any]:
    """The task table of the page: what a task is once, and its figures for every arm that has it."""
    keys = task_keys(data.rows)
    place = {key: index for index, key in enumerate(keys)}
    sessions = list(dict.fromkeys(session for session, _, _ in keys))
    first = {(row.session, row.task, row.attempt): row for row in reversed(data.rows)}
    arms: dict[str, list[Any]] = {name: [None] * len(keys) for name in data.arms}
    for row in data.rows:
        if row.arm not in arms:
            continue
        paid = cost(row)
        arms[row.arm][place[row.session, row.task, row.attempt]] = [
            tokens(row), row.repairs, None if paid is None else round(paid), row.needs, row.needs_not_visible,
            row.needs_lost, row.calls, row.peak_prompt, row.state, row.passed, row.actions_unsupported, row.error,
        ]  # fmt: skip
    return {
        "sessions": sessions,
        "id": [task for _, task, _ in keys],
        "session": [sessions.index(session) for session, _, _ in keys],
        "position": [first[key].position for key in keys],
        "attempt": [attempt for _, _, attempt in keys],
        "arms": arms,
    }


def call_columns(data: RunData, arm: str) -> dict[str, Any]:
    """The ledger of one arm as columns. ``task`` is run-length coded as [task, count, ...]; what most calls lack
    (missing and lost needs, repairs, errors, other purposes) is kept by the index of the call.
    """
    rows = data.calls[arm]
    # a ledger row does not say which attempt it belongs to; attempts of one task share its first place
    place: dict[tuple[str, str], int] = {}
    for index, (session, task, _) in enumerate(task_keys(data.rows)):
        place.setdefault((session, task), index)
    runs: list[int] = []
    for first, group in groupby(rows, key=lambda row: place.get((row["session"], row["task"]), -1)):
        runs += [first, sum(1 for _ in group)]
    return {
        "task": runs,
        "prompt": [row["prompt_tokens"] for row in rows],
        "new": [_uncached(row) for row in rows],
        "completion": [row["completion_tokens"] for row in rows],
        "messages": [row["messages"] for row in rows],
        "needs": [row["needs"] for row in rows],
        "missing": _sparse(rows, "missing"),
        "lost": _sparse(rows, "lost"),
        "repairs": _sparse(rows, "repairs"),
        "error": _sparse(rows, "error"),
        "purpose": {str(i): row["purpose"] for i, row in enumerate(rows) if row["purpose"] != "agent"},
    }


def prompts_by_session(data: RunData, arm: str) -> list[list[int]]:
    """Prompt tokens of the agent's calls in each session of an arm, in the order of the log."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in data.calls[arm]:
        if row["purpose"] == "agent" and row["prompt_tokens"] is not None:
            found[row["session"]].append(row["prompt_tokens"])
    return list(found.values())


def _uncached(row: Mapping[str, Any]) -> int | None:
    prompt, cached = row["prompt_tokens"], row["cached_tokens"]
    return None if prompt is None or cached is None else prompt - cached


def _sparse(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    return {str(index): row[name] for index, row in enumerate(rows) if row[name]}
