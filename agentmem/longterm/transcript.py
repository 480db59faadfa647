"""Reads what a host hands over: what was said and what tools returned, with the host's ids, times and names.

Any form that ``agentmem.wire`` reads will do. System messages, empty ones and what a memory put in are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentmem.errors import MessageError
from agentmem.longterm.clock import milliseconds_of
from agentmem.messages import Message
from agentmem.wire.forms import inner
from agentmem.wire.reading import read_one

OWN_KINDS = frozenset({"canvas", "summary", "recall", "notice"})


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said, or one tool result. ``timestamp`` is in milliseconds, None when the host gave none."""

    role: str
    content: str
    id: str = ""
    timestamp: int | None = None
    speaker: str = ""
    tool: str = ""
    is_error: bool = False
    refs: tuple[str, ...] = ()


def read_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[Said]:
    """All messages in order. ``id``, ``timestamp`` and ``speaker`` (or ``name``) are taken from mappings and from
    ``Message.raw``. Raises ``MessageError`` naming the place of one that cannot be read."""
    found: list[Said] = []
    tools: dict[str, str] = {}
    for index, given in enumerate(messages):
        try:
            parts = [given] if isinstance(given, Message) else read_one(given)
        except MessageError as error:
            raise MessageError(f"message {index}: {error}") from None
        for number, message in enumerate(parts):
            tools.update((call.id, call.name) for call in message.tool_calls)
            said = _said(message, tools, number if len(parts) > 1 else None)
            if said is not None:
                found.append(said)
    return found


def _said(message: Message, tools: Mapping[str, str], part: int | None) -> Said | None:
    raw = message.raw or {}
    facts = {**inner(raw), **{name: raw[name] for name in ("id", "timestamp") if name in raw}}
    if message.role == "system" or message.kind in OWN_KINDS or facts.get("kind") in OWN_KINDS:
        return None
    is_result = message.is_result
    if not is_result and not message.content:
        return None  # a turn of tool calls only
    id = str(facts.get("id") or "")
    return Said(
        role="tool" if is_result else message.role,
        content=message.content,
        id=f"{id}#{part}" if id and part is not None else id,
        timestamp=milliseconds_of(facts.get("timestamp")),
        speaker="" if is_result else str(facts.get("speaker") or message.name or ""),
        tool=tools.get(message.tool_call_id or "") or message.name or "tool" if is_result else "",
        is_error=message.is_error,
        refs=message.refs,
    )
