"""Writes played tasks as ``replay-trajectory/1``, so that a live run can be replayed under every other policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmem.messages import Message, openai_calls
from harness.types import Outcome, Task, TaskRow

SCHEMA = "replay-trajectory/1"


def record(
    row: TaskRow, task: Task, messages: Sequence[Message], outcome: Outcome, agent: str, model: str
) -> dict[str, Any]:
    """One task as a record: every message as it was, in order, with the outcome it had and its place in the run."""
    resolved = {"resolved": outcome.passed, "state": outcome.state, "score": outcome.score, "error": outcome.error}
    return {
        "schema": SCHEMA,
        "suite": task.suite,
        "task_id": task.id,
        "agent": agent,
        "model": model,
        "source": {"session": row.session, "position": row.position, "attempt": row.attempt},
        "outcome": {name: value for name, value in resolved.items() if value is not None},
        "messages": [_row(message) for message in messages],
    }


def append(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add lines. Line breaks of other scripts stay inside their line, because everything else is escaped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="\n") as lines:
        lines.write("".join(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n" for row in rows))


def arrange(path: Path) -> None:
    """Put a finished file in the order of the sessions, which end in any order; of a task that was played again the
    last record stays."""
    last: dict[tuple[str, int], str] = {}
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            source = json.loads(line)["source"]
            last[source["session"], source["position"]] = line
    part = path.with_suffix(".part")
    part.write_text("".join(last[place] for place in sorted(last)), encoding="utf-8", newline="\n")
    part.replace(path)


def _row(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.kind in ("task", "observation"):
        row["kind"] = message.kind
    if message.tool_calls:
        row["tool_calls"] = openai_calls(message.tool_calls)
    if message.role == "tool":
        row |= {"kind": "observation", "tool_call_id": message.tool_call_id, "name": message.name}
    if message.is_error:
        row["is_error"] = True
    return row
