"""Reads what a host hands over: messages of the usual provider shapes become one form with ids and times.

``agentmem.messages.Message``, OpenAI and Anthropic mappings, and the wrapped transcript shape are read. System
messages and what a memory put in itself are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentmem.errors import MessageError
from agentmem.longterm.clock import milliseconds_of
from agentmem.messages import Message

OWN_KINDS = frozenset({"canvas", "summary", "recall", "notice"})
_TOOL_ROLES = frozenset({"tool", "toolResult", "function"})


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said, or one tool result. ``timestamp`` is in milliseconds, None when the host gave none."""

    role: str
    content: str
    id: str = ""
    timestamp: int | None = None
    speaker: str = ""
    tool: str = ""
    call: str = ""
    is_error: bool = False
    refs: tuple[str, ...] = ()


def read_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[Said]:
    """All messages in order. Raises ``MessageError`` naming the place of one that has no role."""
    found: list[Said] = []
    tools: dict[str, str] = {}
    for index, message in enumerate(messages):
        if isinstance(message, Message):
            tools.update((call.id, call.name) for call in message.tool_calls)
            found.extend(_of_message(message, tools))
        elif isinstance(message, Mapping):
            found.extend(_of_mapping(_unwrapped(message), tools, index))
        else:
            raise MessageError(f"message {index}: expected a Message or a mapping, got {type(message).__name__}")
    return found


def _of_message(message: Message, tools: Mapping[str, str]) -> Iterator[Said]:
    raw = message.raw or {}
    if message.role == "system" or message.kind in OWN_KINDS:
        return
    yield Said(
        role="tool" if message.is_result else message.role,
        content=message.content,
        id=str(raw.get("id") or ""),
        timestamp=milliseconds_of(raw.get("timestamp")),
        speaker=message.name or "" if message.role != "tool" else "",
        tool=tools.get(message.tool_call_id or "", message.name or "tool") if message.is_result else "",
        call=message.tool_call_id or "",
        is_error=message.is_error,
        refs=message.refs,
    )


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = message.get("message")
    if message.get("type") == "message" and isinstance(inner, Mapping):
        return {**{key: message[key] for key in ("id", "timestamp") if key in message}, **inner}
    return message


def _of_mapping(message: Mapping[str, Any], tools: dict[str, str], index: int) -> Iterator[Said]:
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise MessageError(f"message {index}: no role; expected user, assistant, tool or system")
    if role in ("system", "developer") or message.get("kind") in OWN_KINDS:
        return
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    tools.update(_calls(message, blocks))
    id = str(message.get("id") or "")
    timestamp = milliseconds_of(message.get("timestamp"))
    if role in _TOOL_ROLES:
        call = str(message.get("tool_call_id") or message.get("toolCallId") or "")
        name = tools.get(call) or str(message.get("name") or message.get("toolName") or "tool")
        error = bool(message.get("is_error") or message.get("isError"))
        yield Said("tool", _text(blocks), id, timestamp, "", name, call, error, _refs(message))
        return
    for number, block in enumerate(block for block in blocks if isinstance(block, Mapping)):
        if block.get("type") == "tool_result":
            call = str(block.get("tool_use_id") or "")
            inner = block.get("content")
            text = _text(inner) if isinstance(inner, list) else str(inner or "")
            own = f"{id}#{number}" if id else ""
            is_error = bool(block.get("is_error"))
            yield Said("tool", text, own, timestamp, "", tools.get(call, "tool"), call, is_error)
    text = _text(blocks)
    if text:
        speaker = str(message.get("speaker") or message.get("name") or "")
        yield Said("user" if role == "user" else "assistant", text, id, timestamp, speaker)


def _calls(message: Mapping[str, Any], blocks: list[Any]) -> Iterator[tuple[str, str]]:
    for call in message.get("tool_calls") or ():
        if isinstance(call, Mapping):
            function = call.get("function") or {}
            yield str(call.get("id") or ""), str(function.get("name") or "tool")
    for block in blocks:
        if isinstance(block, Mapping) and block.get("type") in ("tool_use", "toolCall"):
            yield str(block.get("id") or ""), str(block.get("name") or "tool")


def _text(blocks: list[Any]) -> str:
    parts = []
    for block in blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping) and block.get("type") in ("text", "input_text", "output_text", None):
            parts.append(block["text"] if isinstance(block.get("text"), str) else json.dumps(dict(block)))
    return "\n".join(part for part in parts if part)


def _refs(message: Mapping[str, Any]) -> tuple[str, ...]:
    refs = message.get("refs")
    return tuple(str(ref) for ref in refs) if isinstance(refs, list | tuple) else ()
