"""Anthropic-style content blocks: ``tool_use`` in assistant messages, ``tool_result`` in user messages.

Source: the request body of Anthropic's Messages API. Several results may stand in one user message; each becomes a
message of its own. Thinking blocks are not kept; blocks of server-side tools stay in the text as JSON.
"""

from __future__ import annotations

from typing import Any

from agentmem.messages import Message, ToolCall
from harness.trajectories.draft import (
    Draft,
    Format,
    Malformed,
    arguments_of,
    describe,
    is_message_list,
    mapping,
    optional,
    text_of,
    word,
)
from harness.trajectories.openai_chat import conversation, frame, messages_key

OWN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"})
THINKING = frozenset({"thinking", "redacted_thinking"})


def _matches(record: Any) -> bool:
    key = messages_key(record)
    if key is None and not is_message_list(record):
        return False
    rows = record if key is None else record[key]
    if any(row.get("role") == "tool" or row.get("tool_calls") for row in rows):
        return False
    top_level_system = key is not None and isinstance(record.get("system"), (str, list))
    return top_level_system or any(_type(block) in OWN_BLOCKS for row in rows for block in _blocks(row))


def _parse(record: Any) -> Draft:
    messages: list[Message] = []
    if isinstance(record, dict) and record.get("system"):
        messages.append(Message("system", text_of(record["system"])))
    for number, row in enumerate(conversation(record)):
        match row.get("role"):
            case "user":
                messages += _user(row)
            case "assistant":
                messages.append(_assistant(row, number))
            case "system":
                messages.append(Message("system", text_of(row.get("content"))))
            case other:
                raise Malformed(f"{describe(other)} as the role of message {number}")
    return frame(record, messages)


def _user(row: dict[str, Any]) -> list[Message]:
    results = [block for block in _blocks(row) if _type(block) == "tool_result"]
    if not results:
        return [Message("user", text_of(row.get("content")))]
    messages = [
        Message(
            "tool",
            text_of(block.get("content")),
            tool_call_id=optional(block.get("tool_use_id")),
            kind="observation",
            is_error=block.get("is_error") is True,
        )
        for block in results
    ]
    said = [block for block in _blocks(row) if _type(block) != "tool_result"]
    return [*messages, Message("user", text_of(said))] if said else messages


def _assistant(row: dict[str, Any], number: int) -> Message:
    calls = []
    for block in _blocks(row):
        if _type(block) == "tool_use":
            if not isinstance(block.get("name"), str):
                raise Malformed(f"{describe(block)} as a tool call of message {number}")
            calls.append(ToolCall(str(block.get("id") or ""), block["name"], arguments_of(block.get("input"))))
    content = row.get("content")
    if isinstance(content, list):
        content = [block for block in content if _type(block) != "tool_use" and _type(block) not in THINKING]
    return Message("assistant", text_of(content), tuple(calls))


def _blocks(row: dict[str, Any]) -> list[dict[str, Any]]:
    content = row.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _type(block: object) -> str:
    return word(mapping(block).get("type"))


FORMAT = Format("anthropic", "Anthropic-style content blocks (tool_use, tool_result)", _matches, _parse)
