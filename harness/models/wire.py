"""Chat completions as they travel: our messages to a request body, a response body to a message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentmem.messages import Message, ToolCall, openai_calls


class Unusable(ValueError):
    """A response that holds no answer. The server may still have charged for it."""


def request_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages in OpenAI's shape, without book-keeping."""
    return [_sent(message) for message in messages]


def read_answer(body: Any) -> tuple[Message, str | None]:
    """(answer, finish reason) of a response body. Raises ``Unusable`` when there is none.

    An answer is text, or tool calls, or both. Arguments that came as an object are written back as JSON.
    """
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise Unusable("the response has no choices")
    raw = choices[0].get("message")
    if not isinstance(raw, Mapping):
        raise Unusable("the first choice has no message")
    content = _text(raw.get("content"))
    calls = tuple(_call(call, number) for number, call in enumerate(raw.get("tool_calls") or ()))
    finish = choices[0].get("finish_reason")
    if not content and not calls:
        raise Unusable(f"the answer is empty (finish reason {finish!r})")
    return Message("assistant", content, calls), finish if isinstance(finish, str) else None


def _sent(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": _clean(message.content)}
    if message.tool_calls:
        sent["tool_calls"] = openai_calls(message.tool_calls)
    if message.role == "tool":
        sent["tool_call_id"] = message.tool_call_id or ""
    elif message.name:
        sent["name"] = message.name
    return sent


def _clean(text: str) -> str:
    # half a surrogate pair cannot be encoded; every server would refuse the request
    return text.encode("utf-8", "replace").decode()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _call(raw: Any, number: int) -> ToolCall:
    function = raw.get("function") if isinstance(raw, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise Unusable(f"tool call {number} has no function name")
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return ToolCall(str(raw.get("id") or f"call_{number}"), function["name"], text)
