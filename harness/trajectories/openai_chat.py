"""OpenAI chat: ``{"messages": [...]}`` with ``tool_calls``, one conversation a line, or a bare list of messages.

Source: the request body of OpenAI's chat completions. ``trajectory`` is taken for ``messages`` where it holds a list
with roles, as several published data sets name it.
"""

from __future__ import annotations

from typing import Any

from agentmem.messages import Message, ToolCall
from harness.trajectories.draft import (
    Draft,
    Format,
    Malformed,
    arguments_of,
    calls_of,
    describe,
    first_text,
    is_message_list,
    mapping,
    objects,
    optional,
    resolved,
    text_of,
)

ID_KEYS = ("task_id", "instance_id", "traj_id", "trajectory_id", "id")


def messages_key(record: Any) -> str | None:
    """The key that holds the messages; None when there is none (or the record is a bare list)."""
    if not isinstance(record, dict):
        return None
    if record.get("messages") == []:
        return "messages"
    return next((key for key in ("messages", "trajectory") if is_message_list(record.get(key))), None)


def conversation(record: Any) -> list[dict[str, Any]]:
    """The messages of a record, which may be a bare list. Raises ``Malformed`` when there are none."""
    if isinstance(record, list):
        return objects(record, None, "message")
    return objects(record, messages_key(record) or "messages", "message")


def frame(record: Any, messages: list[Message]) -> Draft:
    """A draft with the ids, names and outcome that stand beside the messages of a chat record."""
    about = mapping(record)
    return Draft(
        messages,
        id=first_text(about, ID_KEYS),
        suite=first_text(about, ("suite", "dataset")),
        agent=optional(about.get("agent")),
        model=first_text(about, ("model", "model_name")),
        outcome=resolved(about.get("resolved")),
    )


def chat_message(row: dict[str, Any], number: int) -> Message:
    """One message in OpenAI's shape. Raises ``Malformed`` for a role that does not exist."""
    content = text_of(row.get("content"))
    match row.get("role"):
        case "system" | "developer":
            return Message("system", content)
        case "user":
            return Message("user", content)
        case "assistant":
            calls = calls_of(row.get("tool_calls"), number)
            legacy = mapping(row.get("function_call"))
            if not calls and isinstance(legacy.get("name"), str):
                calls = (ToolCall("", legacy["name"], arguments_of(legacy.get("arguments"))),)
            return Message("assistant", content, calls)
        case "tool" | "function":
            return Message(
                "tool",
                content,
                tool_call_id=optional(row.get("tool_call_id")),
                name=optional(row.get("name")),
                kind="observation",
                is_error=row.get("is_error") is True,
            )
    raise Malformed(f"{describe(row.get('role'))} as the role of message {number}")


def _matches(record: Any) -> bool:
    return messages_key(record) is not None or is_message_list(record)


def _parse(record: Any) -> Draft:
    return frame(record, [chat_message(row, number) for number, row in enumerate(conversation(record))])


FORMAT = Format("openai", 'OpenAI chat JSON Lines ({"messages": [...]})', _matches, _parse)
