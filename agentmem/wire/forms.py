"""The forms of a chat message and how to tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

CALL_BLOCKS = ("tool_use", "toolCall")
RESULT_ROLES = ("tool", "toolResult")
RESULT_IDS = ("toolCallId", "tool_call_id")
MARKERS = ("_offloaded", "_mmdContextMessage", "_mmdInjection", "_contextOffloadProcessed")


class Form(Enum):
    """How a list of messages is written.

    OPENAI: ``tool_calls`` and role ``tool``. ANTHROPIC: ``tool_use`` blocks, results in user messages. FLAT:
    ``toolCall`` or ``tool_use`` blocks and role ``toolResult`` (or ``tool``). TRANSCRIPT: FLAT inside
    ``{"type": "message", "message": ...}``.
    """

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    FLAT = "flat"
    TRANSCRIPT = "transcript"


def inner(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message itself, without the transcript wrapper."""
    wrapped = raw.get("message")
    if raw.get("type") == "message" and isinstance(wrapped, Mapping):
        return wrapped
    return raw


def blocks_of(message: Mapping[str, Any], *types: str) -> list[Mapping[str, Any]]:
    """The content blocks of the given types, in order."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, Mapping) and block.get("type") in types]


def form_of(raws: Sequence[Mapping[str, Any]]) -> Form:
    """The form of a list: that of the first message that shows one, else OPENAI."""
    for raw in raws:
        form = _form(raw)
        if form is not None:
            return form
    return Form.OPENAI


def _form(raw: Mapping[str, Any]) -> Form | None:
    message = inner(raw)
    if message is not raw:
        return Form.TRANSCRIPT
    if message.get("tool_calls"):
        return Form.OPENAI
    if blocks_of(message, "tool_result"):
        return Form.ANTHROPIC
    if message.get("role") == "toolResult" or blocks_of(message, "toolCall"):
        return Form.FLAT
    return None
