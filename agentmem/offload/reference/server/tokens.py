"""Per-message token counts of the server: a heuristic, an exact count, and the calibration to the client's total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agentmem.offload.reference.counting import Count, heuristic
from agentmem.offload.reference.script import cut, stringify, units
from agentmem.offload.reference.shape import Raw, body, role

PER_MESSAGE = 4
LONGEST = 50_000  # characters of one string in an exact count
TOLERANCE = 0.15
LEAST, MOST = 0.5, 3.0


def level(ratio: float, config: dict[str, float] | None = None) -> str:
    """The stage for a share of the window; the highest is tested first."""
    given = config or {}
    if ratio >= given.get("emergencyRatio", 0.95):
        return "emergency"
    if ratio >= given.get("aggressiveRatio", 0.85):
        return "aggressive"
    return "mild" if ratio >= given.get("mildRatio", 0.5) else "fastpath"


def token_array(messages: Sequence[Raw], total: float, given: Sequence[int] | None) -> list[int]:
    """Tokens of each message: what the client gave, the rest estimated and scaled to its total (0.5 to 3)."""
    known = list(given or [])[: len(messages)]
    array = known + [estimate(message) for message in messages[len(known) :]]
    summed = sum(array)
    if total <= 0 or summed <= 0 or abs(total - summed) / summed <= TOLERANCE:
        return array
    scale = min(MOST, max(LEAST, total / summed))
    return known + [math.floor(tokens * scale + 0.5) for tokens in array[len(known) :]]


def estimate(message: Raw) -> int:
    """The heuristic over what the model sees; call blocks as their JSON."""
    return heuristic("".join(_parts(message, blocks_as_json=True)))


def exact(message: Raw, count: Count) -> int:
    """Role, texts, names and arguments on lines of their own, and four more."""
    return count("\n".join([str(role(message) or ""), *_parts(message)])) + PER_MESSAGE


def _parts(message: Raw, blocks_as_json: bool = False) -> list[str]:
    inner = body(message)
    parts: list[str] = []
    blocks = inner.get("content")
    for block in [blocks] if isinstance(blocks, str) else blocks if isinstance(blocks, list) else []:
        if isinstance(block, str):
            parts.append(block if blocks_as_json else _short(block))
        elif isinstance(block, dict):
            parts += _block(block, blocks_as_json)
    for call in inner.get("tool_calls") or []:
        function = call.get("function") or {}
        arguments = str(function.get("arguments") or "")
        parts += [str(function.get("name") or ""), arguments if blocks_as_json else _short(arguments)]
    return parts


def _block(block: Raw, as_json: bool) -> list[str]:
    if isinstance(block.get("text"), str):
        return [block["text"] if as_json else _short(block["text"])]
    if as_json:
        return [stringify(block)]
    if block.get("type") == "tool_result":
        inner = block.get("content")
        return (
            [_short(inner)] if isinstance(inner, str) else [stringify(_cut_strings(inner))] if inner is not None else []
        )
    given = block["input"] if "input" in block else block.get("arguments")
    return [str(block.get("name") or ""), _short(given) if isinstance(given, str) else stringify(_cut_strings(given))]


def _cut_strings(value: Any) -> Any:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, dict):
        return {key: _cut_strings(inner) for key, inner in value.items()}
    return [_cut_strings(inner) for inner in value] if isinstance(value, list) else value


def _short(text: str) -> str:
    return text if units(text) <= LONGEST else cut(text, LONGEST) + "...[truncated]"
