"""What stands in place of a result and of a call's input (A13): replacement text, compacted call text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentmem.offload.reference.script import cut, ordered, parse, stringify, units
from agentmem.offload.reference.shape import Raw, body, with_body

CALL = 300  # length of a call text that stays as it is
ARGUMENT = 60  # length of one argument
MORE = "…"


@dataclass(frozen=True, slots=True)
class Replaced:
    """A message with its summary as content, and the lengths of both texts in UTF-16 units."""

    message: Raw
    original: int
    summary: int


def compact_call(text: str | None) -> str:
    """A call text of at most about 300 characters: arguments shortened, else cut."""
    text = text or ""
    if units(text) <= CALL:
        return text
    name, parenthesis, rest = text.partition("(")
    if not parenthesis:
        return cut(text, CALL) + MORE
    given = rest[:-1] if rest.endswith(")") else rest
    try:
        arguments = parse(given)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict | list):
        return f"{name}({cut(given, CALL - units(name) - 5)}{MORE})"
    pairs = ordered(arguments) if isinstance(arguments, dict) else [(str(i), v) for i, v in enumerate(arguments)]
    short = f"{name}({stringify({key: _argument(value) for key, value in pairs})})"
    return short if units(short) <= CALL else cut(short, CALL) + MORE


def _argument(value: Any) -> Any:
    if isinstance(value, str) and units(value) > ARGUMENT:
        return cut(value, ARGUMENT) + MORE
    if isinstance(value, dict | list) and units(stringify(value)) > ARGUMENT:
        return "[object]"
    return value


def summary_of(entry: Raw) -> str:
    """The three lines that stand for a result."""
    return (
        f"[Offloaded Tool Result | node: {_node(entry)}]\n"
        f"Summary: {_shown(entry, 'summary')}\n"
        f"result_ref: {_shown(entry, 'result_ref')} (read this file for full tool call and raw result)"
    )


def replace_result(message: Raw, entry: Raw) -> Replaced:
    """The message with the summary as its content: a list becomes one text block, anything else a text.

    A wrapper without a message inside stays as it is.
    """
    text = summary_of(entry)
    if message.get("type") == "message" and body(message) is message:
        return Replaced(message, 0, units(text))
    inner = body(message)
    old = inner.get("content")
    fresh: Any = [{"type": "text", "text": text}] if isinstance(old, list) else text
    return Replaced(with_body(message, {**inner, "content": fresh}), text_length(old), units(text))


def text_length(old: Any) -> int:
    """Length of the texts of a content: the string, or its strings and text fields."""
    if isinstance(old, str):
        return units(old)
    if not isinstance(old, list):
        return 0
    parts = (block if isinstance(block, str) else block.get("text") if isinstance(block, dict) else "" for block in old)
    return sum(units(part) for part in parts if isinstance(part, str))


def short_input(block: Raw, entry: Raw) -> Raw:
    """A tool-use block whose input is only a pointer: node and compacted call."""
    short = {"_offloaded": True, "node_id": _node(entry), "tool_call": compact_call(entry.get("tool_call"))}
    name = "arguments" if "arguments" in block and "input" not in block else "input"
    return {**block, name: short}


def _node(entry: Raw) -> Any:
    node = entry.get("node_id")
    return "N/A" if node is None else node


def _shown(entry: Raw, field: str) -> Any:
    value = entry.get(field)
    return "" if value is None else value
