"""Upstream's own view of its four message shapes (memory_core.md 2). Every accessor looks through the wrapper.

Messages are plain dictionaries. Nothing here changes one; what must differ is copied along its path.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

Raw = dict[str, Any]
Entries = Mapping[str, Raw]

INTERNAL = ("_offloaded", "_mmdContextMessage", "_mmdInjection", "_contextOffloadProcessed", "details")
CALL_BLOCKS = ("tool_use", "toolCall")
HEARTBEAT = "HEARTBEAT.md"


def body(message: Raw) -> Raw:
    """The message itself, without the transcript wrapper."""
    wrapped = message.get("message")
    return wrapped if message.get("type") == "message" and isinstance(wrapped, dict) else message


def with_body(message: Raw, fresh: Raw) -> Raw:
    """The message with another body."""
    return fresh if body(message) is message else {**message, "message": fresh}


def role(message: Raw) -> Any:
    """Its role, else its type."""
    inner = body(message)
    return inner.get("role") or inner.get("type")


def content(message: Raw) -> Any:
    """Its content, whatever that is."""
    return body(message).get("content")


def is_result(message: Raw) -> bool:
    """A tool result of the two shapes upstream knows."""
    return role(message) in ("toolResult", "tool")


def result_id(message: Raw) -> str | None:
    """The call a tool result answers."""
    inner = body(message)
    return next((str(inner[name]) for name in ("toolCallId", "tool_call_id") if inner.get(name)), None)


def is_call(block: Any) -> bool:
    """A tool-use block."""
    return isinstance(block, dict) and block.get("type") in CALL_BLOCKS


def calls(message: Raw) -> list[Raw]:
    """The tool-use blocks in order; the role is not looked at."""
    blocks = content(message)
    return [block for block in blocks if is_call(block)] if isinstance(blocks, list) else []


def call_ids(message: Raw) -> list[str]:
    """The ids of the tool-use blocks."""
    return [str(block["id"]) for block in calls(message) if block.get("id")]


def only_calls(message: Raw) -> bool:
    """An assistant message that is nothing but tool-use blocks."""
    blocks = content(message)
    return role(message) == "assistant" and isinstance(blocks, list) and bool(blocks) and all(map(is_call, blocks))


def is_canvas(message: Raw) -> bool:
    """An injected canvas, active or history."""
    return bool(message.get("_mmdContextMessage") or message.get("_mmdInjection"))


def is_active_canvas(message: Raw) -> bool:
    """The injected canvas of the current task."""
    return message.get("_mmdContextMessage") == "active"


def is_user(message: Raw) -> bool:
    """A real user message: no canvas."""
    return role(message) == "user" and not is_canvas(message)


def last_user(messages: Sequence[Raw]) -> int:
    """Index of the last real user message; -1 when there is none."""
    return next((i for i in range(len(messages) - 1, -1, -1) if is_user(messages[i])), -1)


def bare(call: str) -> str:
    """An id without underscores, since some providers rewrite them."""
    return call.replace("_", "")


def by_id(entries: Iterable[Raw]) -> dict[str, Raw]:
    """Entries under their id (a later one wins) and under its form without underscores (the first one keeps it)."""
    table: dict[str, Raw] = {}
    for entry in entries:
        call = entry["tool_call_id"]
        table[call] = entry
        table.setdefault(bare(call), entry)
    return table


def has(ids: Container[str], call: str) -> bool:
    """Whether an id is among stored ones, as it is or without underscores; the stored side is not stripped."""
    return call in ids or bare(call) in ids


def find(table: Entries, call: str) -> Raw | None:
    """The entry of an id in either spelling."""
    return table.get(call) or table.get(bare(call))
