"""replay-trajectory/1: this project's own form, one run a line, roles and kinds as recorded."""

from __future__ import annotations

from typing import Any

from agentmem.messages import Message
from harness.trajectories.draft import (
    Draft,
    Format,
    Malformed,
    calls_of,
    describe,
    mapping,
    objects,
    optional,
    resolved,
    text_of,
    word,
)

SCHEMA = "replay-trajectory/"
USER_KINDS = frozenset({"task", "observation", "demo", "submission", "judge"})
ASSISTANT_KINDS = frozenset({"demo", "submission", "judge"})


def _matches(record: Any) -> bool:
    return isinstance(record, dict) and str(record.get("schema", "")).startswith(SCHEMA)


def _parse(record: Any) -> Draft:
    messages: list[Message] = []
    arguments: dict[int, Any] = {}
    for number, row in enumerate(objects(record, "messages", "message")):
        message = _message(row, number)
        if message.role == "tool" and "arguments" in row:
            arguments[number] = row["arguments"]
        messages.append(message)
    outcome = mapping(record.get("outcome"))
    return Draft(
        messages,
        id=optional(record.get("task_id")),
        suite=optional(record.get("suite")),
        agent=optional(record.get("agent")),
        model=optional(record.get("model")),
        outcome=resolved(outcome.get("resolved"), outcome),
        arguments=arguments,
    )


def _message(row: dict[str, Any], number: int) -> Message:
    content = text_of(row.get("content"))
    kind = word(row.get("kind"))
    match row.get("role"):
        case "user":
            return Message("user", content, kind=kind if kind in USER_KINDS else None)
        case "assistant":
            kept = kind if kind in ASSISTANT_KINDS else None
            return Message("assistant", content, calls_of(row.get("tool_calls"), number), kind=kept)
        case "tool":
            return Message(
                "tool",
                content,
                tool_call_id=optional(row.get("tool_call_id")),
                name=optional(row.get("name")),
                kind="observation",
                is_error=row.get("is_error") is True,
            )
        case "system":
            return Message("system", content)
    raise Malformed(f"{describe(row.get('role'))} as the role of message {number}")


FORMAT = Format("replay", "replay-trajectory/1 JSON Lines", _matches, _parse)
