"""What a format reader is and what it hands over: one run as it was recorded, pairs and ids not yet checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.types import Outcome


class Malformed(ValueError):
    """A record does not have the shape its format asks for. Says what was found, without the place."""


@dataclass(slots=True)
class Draft:
    """One recorded run. A result without an id has ``tool_call_id`` None; ids may be empty or repeated.

    ``arguments`` maps the index of a tool message to the recorded arguments of the call it answers; only exports
    without ids need it. ``None`` fields were not recorded.
    """

    messages: list[Message]
    id: str | None = None
    suite: str | None = None
    agent: str | None = None
    model: str | None = None
    outcome: Outcome = field(default_factory=Outcome)
    arguments: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Format:
    """One format. ``matches`` recognises a record by its content, ``parse`` reads it or raises ``Malformed``."""

    name: str
    expects: str
    matches: Callable[[Any], bool]
    parse: Callable[[Any], Draft]


def describe(value: object) -> str:
    """A decoded JSON value in a few words on one line, for error messages."""
    if isinstance(value, dict):
        keys = [" ".join(str(key).split())[:30] for key in value][:6]
        more = ", ..." if len(value) > len(keys) else ""
        return f"an object with the keys {', '.join(keys)}{more}" if keys else "an empty object"
    if isinstance(value, list):
        if not value:
            return "an empty list"
        first = "a list" if isinstance(value[0], list) else describe(value[0])
        return f"a list of {len(value)} items, the first of them {first}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return f"the value {json.dumps(value)[:40]}"


def objects(record: Any, key: str | None, what: str) -> list[dict[str, Any]]:
    """The list of objects under ``key`` (or the record itself for None); raises ``Malformed`` when it is not one."""
    values = record if key is None else mapping(record).get(key)
    if values is None:
        raise Malformed(describe(record))
    if not isinstance(values, list):
        raise Malformed(describe(values) if key is None else f"{describe(values)} as {key!r}")
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise Malformed(f"{describe(value)} as {what} {number}")
    return values


def mapping(value: object) -> Mapping[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def optional(value: object) -> str | None:
    """A name or an id as text; None when there is none."""
    if value is None or value == "" or isinstance(value, (dict, list)):
        return None
    return str(value)


def word(value: object) -> str:
    """The value when it is text, else an empty one: for fields that hold one of a few words."""
    return value if isinstance(value, str) else ""


def text_of(content: object) -> str:
    """The text of a content field: a string, None, or a list of content blocks (joined by newlines).

    Pictures become "(image)": their bytes are no text and must not be counted as such. Blocks of other kinds are
    kept as JSON, so that nothing recorded is lost.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join(_block_text(block) for block in content)
    return _block_text(content)


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, dict):
        if isinstance(block.get("text"), str):
            return str(block["text"])
        if block.get("type") in ("image", "image_url", "input_image"):
            return "(image)"
    return json.dumps(block, ensure_ascii=False)


def call_of(raw: object, number: int) -> ToolCall:
    """A call in the shape of OpenAI's ``tool_calls``; raises ``Malformed`` when it has no function name."""
    function = mapping(mapping(raw).get("function"))
    name = function.get("name")
    if not isinstance(name, str):
        raise Malformed(f"{describe(raw)} as a tool call of message {number}")
    return ToolCall(str(mapping(raw).get("id") or ""), name, arguments_of(function.get("arguments")))


def calls_of(raw: object, number: int) -> tuple[ToolCall, ...]:
    """A ``tool_calls`` field: None, or a list of calls."""
    if not raw:
        return ()
    if not isinstance(raw, list):
        raise Malformed(f"{describe(raw)} as the tool calls of message {number}")
    return tuple(call_of(call, number) for call in raw)


def arguments_of(value: object) -> str:
    """The arguments of a call as JSON text: as written where they are text, encoded where they were decoded."""
    if isinstance(value, str):
        return value
    return json.dumps({} if value is None else value, ensure_ascii=False)


def resolved(value: object, detail: Mapping[str, Any] | None = None) -> Outcome:
    """``scored`` when the record says true or false (or 1 or 0), else ``missing``."""
    if isinstance(value, (bool, int)) and value in (0, 1):
        return Outcome("scored", passed=bool(value), score=float(value), detail=detail or {})
    return Outcome("missing", detail=detail or {})


def is_message_list(value: object) -> bool:
    """True for a non-empty list of objects that have a role."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def first_text(record: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """The first of the keys that holds a name or an id."""
    return next((found for key in keys if (found := optional(record.get(key))) is not None), None)
