"""Reads host messages. Nothing is changed; ``Message.raw`` keeps the host's object.

One Anthropic user message with several results becomes several messages that share one ``raw``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentmem.errors import MessageError
from agentmem.messages import Message, Role, ToolCall
from agentmem.wire.forms import CALL_BLOCKS, RESULT_IDS, RESULT_ROLES, inner

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "toolResult": "tool",
    "function": "tool",
}


def read(raws: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The messages of a list, in order. Raises ``MessageError`` with the index of what fits no form."""
    messages: list[Message] = []
    for index, raw in enumerate(raws):
        try:
            messages += read_one(raw)
        except MessageError as error:
            raise MessageError(f"message {index}: {error}") from None
    return messages


def read_one(raw: Mapping[str, Any]) -> list[Message]:
    """What one host message holds: one message, or several where it carries several tool results."""
    if not isinstance(raw, Mapping):
        raise MessageError(f"expected an object with a role, got {type(raw).__name__}")
    body = inner(raw)
    role = body.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise MessageError(f"expected a role out of {', '.join(_ROLES)}, got {role!r}")
    content = body.get("content")
    if content is not None and not isinstance(content, str | list):
        raise MessageError(f"expected a text or a list of blocks as content, got {type(content).__name__}")
    kind = "canvas" if body.get("_mmdContextMessage") or body.get("_mmdInjection") else None
    if role in RESULT_ROLES or role == "function":
        return [_result(body, raw)]
    if isinstance(content, list) and _ROLES[role] == "user":
        results = [block for block in content if isinstance(block, Mapping) and block.get("type") == "tool_result"]
        if results:
            return _several(results, content, raw, kind)
    calls = _calls(body) if _ROLES[role] == "assistant" else ()
    return [Message(_ROLES[role], text_of(content), calls, kind=kind, name=_text(body.get("name")), raw=raw)]


def text_of(content: Any) -> str:
    """The text of a content: the string, or the text blocks with a line end between them."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping) and block.get("type", "text") in ("text", "input_text", "output_text"):
            parts.append(_text(block.get("text")) or "")
    return "\n".join(parts)


def _several(
    results: Sequence[Mapping[str, Any]], content: Sequence[Any], raw: Mapping[str, Any], kind: str | None
) -> list[Message]:
    messages = [
        Message(
            "tool",
            text_of(block.get("content")),
            tool_call_id=_text(block.get("tool_use_id")),
            is_error=block.get("is_error") is True,
            raw=raw,
        )
        for block in results
    ]
    rest = [block for block in content if not (isinstance(block, Mapping) and block.get("type") == "tool_result")]
    if rest:
        messages.append(Message("user", text_of(rest), kind=kind, raw=raw))
    return messages


def _result(body: Mapping[str, Any], raw: Mapping[str, Any]) -> Message:
    call = next((body[name] for name in RESULT_IDS if body.get(name)), None)
    name = _text(body.get("toolName")) or _text(body.get("name"))
    failed = body.get("isError") is True or body.get("is_error") is True
    return Message("tool", text_of(body.get("content")), tool_call_id=_text(call), name=name, is_error=failed, raw=raw)


def _calls(body: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for call in body.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise MessageError("a tool call without a function")
        calls.append(_call(call.get("id"), function.get("name"), function.get("arguments")))
    content = body.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") in CALL_BLOCKS:
            given = block["input"] if "input" in block else block.get("arguments")
            calls.append(_call(block.get("id"), block.get("name"), given))
    return tuple(calls)


def _call(call: Any, name: Any, arguments: Any) -> ToolCall:
    if not isinstance(call, str) or not call:
        raise MessageError(f"a tool call without an id (name {name!r})")
    text = (
        arguments
        if isinstance(arguments, str)
        else json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    )
    return ToolCall(call, _text(name) or "", text)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
