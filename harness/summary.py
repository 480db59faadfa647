"""``summary.json``: one record an arm, computed from the task rows alone. Its shape is a contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.errors import TooManyErrors
from harness.ledger import PRICES, denominators, price
from harness.types import Recipe, TaskRow

SCHEMA = "agentmem-run/1"
MOST_ERRORS = 0.05  # share of errored tasks beyond which a run is invalid


def summarise(recipe: Recipe, sha256: str, rows: Sequence[TaskRow], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of a finished run. ``extra`` is added at the top level (labels, checks)."""
    return {
        "schema": SCHEMA,
        "recipe": sha256,
        "kind": recipe.kind,
        "suite": recipe.suite,
        "window": recipe.window,
        "tokenizer": recipe.tokenizer,
        "prices": dict(PRICES),
        **extra,
        "arms": [arm_record(arm.name, [row for row in rows if row.arm == arm.name]) for arm in recipe.arms],
    }


def arm_record(arm: str, rows: Sequence[TaskRow]) -> dict[str, Any]:
    """Sums over the tasks of one arm; what was not measured is None."""
    prompt = sum(row.prompt_tokens for row in rows)
    completion = sum(row.completion_tokens for row in rows)
    memory = sum(row.memory_prompt_tokens + row.memory_completion_tokens for row in rows)
    cached = add(row.cached_tokens for row in rows)
    repairs = add(row.repairs for row in rows)
    tokens = prompt + completion + memory
    cost = total_cost(rows)
    return {
        "arm": arm,
        "calls": sum(row.calls for row in rows),
        "tokens": tokens,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": cached,
        "memory_tokens": memory,
        "repairs": repairs,
        "support_adjusted": None if repairs is None else tokens + repairs,
        "cost": cost,
        "support_adjusted_cost": None if cost is None or repairs is None else cost + repair_cost(rows),
        "needs": add(row.needs for row in rows),
        "needs_not_visible": add(row.needs_not_visible for row in rows),
        "needs_lost": add(row.needs_lost for row in rows),
        "actions": add(row.actions for row in rows),
        "actions_unsupported": add(row.actions_unsupported for row in rows),
        "peak_prompt": max((row.peak_prompt for row in rows), default=0),
        "score": mean_score(rows),
        "tasks": task_counts(rows),
    }


def mean_score(rows: Sequence[TaskRow]) -> float | None:
    """Mean of the suite's score (0 to 1) over all attempted tasks, one without a score counting 0; None when no task
    has a score."""
    known = [row.score for row in rows if row.score is not None]
    return sum(known) / len(rows) if known else None


def task_counts(rows: Sequence[TaskRow]) -> dict[str, int | None]:
    """The denominators, as ``harness.ledger.denominators`` counts them."""
    counted = denominators(rows)
    return {name: getattr(counted, name) for name in counted.__slots__}


def total_cost(rows: Sequence[TaskRow]) -> float | None:
    """Price of the calls of agent and memory, in prices of an uncached prompt token; None without cached counts."""
    cached = add(row.cached_tokens for row in rows)
    if cached is None:
        return None
    agent = price(sum(row.prompt_tokens for row in rows), cached, sum(row.completion_tokens for row in rows))
    memory = price(sum(r.memory_prompt_tokens for r in rows), 0, sum(r.memory_completion_tokens for r in rows))
    return round(agent + memory, 1)


def repair_cost(rows: Sequence[TaskRow]) -> float:
    """Price of the repairs: the prompt again is cached, what is fetched is not."""
    fetched = sum(row.fetched or 0 for row in rows)
    again = sum(row.repairs or 0 for row in rows) - fetched
    return round(again * PRICES["cached"] + fetched * PRICES["uncached"], 1)


def require_valid(summary: Mapping[str, Any]) -> None:
    """Raise ``TooManyErrors`` when more than 5 % of the tasks of an arm errored."""
    for arm in summary["arms"]:
        tasks = arm["tasks"]
        if tasks["attempted"] and tasks["errored"] > MOST_ERRORS * tasks["attempted"]:
            raise TooManyErrors(
                f"arm {arm['arm']!r}: {tasks['errored']} of {tasks['attempted']} tasks errored, "
                f"more than {MOST_ERRORS:.0%}; the run is invalid"
            )


def add(figures: Any) -> int | None:
    """Sum of what was measured, None when nothing was."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
