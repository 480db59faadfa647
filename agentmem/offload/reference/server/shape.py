"""The server's view of a message: it knows OpenAI's and Anthropic's forms, but not ``toolResult``/``toolCallId``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentmem.offload.reference.script import trim
from agentmem.offload.reference.shape import Raw, body, call_ids, content, is_canvas, role, with_body
from agentmem.offload.reference.summary_text import text_length

REMINDER = "<system-reminder>"


def result_blocks(message: Raw) -> list[Raw]:
    """Anthropic's result blocks of a message."""
    blocks = content(message)
    if not isinstance(blocks, list):
        return []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]


def result_ids(message: Raw) -> list[str]:
    """Every id a message answers."""
    inner = body(message)
    flat = inner.get("tool_call_id") or (inner.get("tool_use_id") if inner.get("type") == "tool_result" else None)
    if flat:
        return [str(flat)]
    if inner.get("role") in ("tool", "toolResult") and inner.get("id"):
        return [str(inner["id"])]
    return [str(block["tool_use_id"]) for block in result_blocks(message) if block.get("tool_use_id")]


def asked_ids(message: Raw) -> list[str]:
    """Every id a message calls, in either form."""
    listed = body(message).get("tool_calls")
    calls = listed if isinstance(listed, list) else []
    return call_ids(message) + [str(call["id"]) for call in calls if isinstance(call, dict) and call.get("id")]


def result_text(message: Raw) -> Any:
    """The content of the result a message holds: of the first block where there are several."""
    blocks = result_blocks(message)
    return blocks[0].get("content") if blocks else content(message)


def with_result_text(message: Raw, text: str) -> Raw:
    """The message with another text as its first result; a list becomes one text block."""
    old = result_text(message)
    fresh: Any = [{"type": "text", "text": text}] if isinstance(old, list) else text
    inner = body(message)
    blocks = result_blocks(message)
    if blocks:
        changed = [{**block, "content": fresh} if block is blocks[0] else block for block in inner["content"]]
        return with_body(message, {**inner, "content": changed})
    return with_body(message, {**inner, "content": fresh})


def result_length(message: Raw) -> int:
    """Length of the first result in UTF-16 units."""
    return text_length(result_text(message))


def last_asked(messages: Sequence[Raw]) -> int:
    """Index of the last message with role user that is no canvas; an Anthropic result counts as one."""
    return next((i for i in range(len(messages) - 1, -1, -1) if _is_user(messages[i])), -1)


def is_reminder(message: Raw) -> bool:
    """A text that begins as a host's reminder."""
    return trim(text(message)).startswith(REMINDER)


def text(message: Raw) -> str:
    """The text of a message, its text blocks joined."""
    blocks = content(message)
    if isinstance(blocks, str):
        return blocks
    if not isinstance(blocks, list):
        return ""
    parts = (
        block if isinstance(block, str) else block.get("text") if isinstance(block, dict) else "" for block in blocks
    )
    return "\n".join(part for part in parts if isinstance(part, str))


def _is_user(message: Raw) -> bool:
    return role(message) == "user" and not is_canvas(message)
