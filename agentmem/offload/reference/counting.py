"""Upstream's token counters (A10): the character-class estimate, the heuristic, and the totals of a message list.

``count`` parameters are exact counters of one encoding (text to tokens).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentmem.offload.reference.script import stringify, trim, units
from agentmem.offload.reference.shape import INTERNAL, Raw, content, role

Count = Callable[[str], int]

LETTERS = 100  # more Latin letters than this, and
ACCENTS = 0.005  # a larger share of accented ones: text that is not English
NEAR = 100  # characters between a word and an accent
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_ACCENT = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]")
_LETTER = re.compile(f"[{_LATIN}]")
_CJK = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]")
_CLASSES = re.compile(
    f"(?P<word>[{_LATIN}]+(?:'[{_LATIN}]+)*)"
    r"|(?P<number>[0-9]+(?:[.,][0-9]+)*)"
    "|(?P<han>[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]+)"
    "|(?P<kana>[\u3040-\u30ff]+)"
    "|(?P<hangul>[\uac00-\ud7af\u1100-\u11ff\u3130-\u318f])"
    "|(?P<cyrillic>[\u0400-\u04ff])"
    "|(?P<arabic>[\u0600-\u06ff])"
    "|(?P<greek>[\u0370-\u03ff])"
    r"|(?P<newline>\n)"
    r"|(?P<blank>[\x00-\x20])"
    r"|(?P<ascii>[\x21-\x7e])"
    "|(?P<wide>[\u3000-\u303f\uff00-\uffef\u2010-\u2027])"
    r"|(?P<other>[\s\S])"
)
_EACH = {
    "hangul": 1.4,
    "cyrillic": 0.55,
    "arabic": 0.82,
    "greek": 0.85,
    "newline": 1.0,
    "blank": 0.0,
    "ascii": 0.6,
    "wide": 1.0,
}
_KANA = {1: 1.0, 2: 1.6, 3: 2.65, 4: 3.7}


def heuristic(text: str) -> int:
    """Tokens from the number of Chinese characters and of all others."""
    chinese = len(_CJK.findall(text))
    return math.ceil(chinese / 1.7 + (units(text) - chinese) / 4)


def fast(text: str) -> int:
    """Tokens from character classes; at least 1 for a text that is not empty."""
    if not text:
        return 0
    accents = _accents(text)
    total = 0.0
    for found in _CLASSES.finditer(text):
        kind, piece = found.lastgroup, found[0]
        if kind == "word":
            total += _word(len(piece), _is_near(accents, found.start(), found.end()))
        elif kind == "number":
            total += _number(piece)
        elif kind == "han":
            total += 1.3 * len(piece) * (0.94 if len(piece) >= 4 else 0.97 if len(piece) >= 2 else 1)
        elif kind == "kana":
            total += _KANA.get(len(piece)) or len(piece) * (0.93 if len(piece) <= 6 else 0.95)
        elif kind == "other":
            total += 2.5 * units(piece)
        else:
            total += _EACH[kind or "other"]
    return max(1, math.floor(total + 0.5))


def fast_list(messages: Sequence[Raw]) -> int:
    """The estimate of a message list: over the JSON of each, with half a token for every message."""
    return sum(fast(stringify(message)) for message in messages) + math.ceil(0.5 * len(messages))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Exact totals of a message list, in tokens."""

    total: int
    system: int
    messages: int
    prompt: int
    count: int


def snapshot(messages: Sequence[Raw], system: str | None, prompt: str | None, count: Count) -> Snapshot:
    """Messages as JSON without internal keys, the system prompt, and the prompt unless it is the last user text."""
    listed = sum(count(visible(message)) for message in messages) + math.ceil(0.5 * len(messages))
    before = count(system) if system else 0
    asked = trim(prompt or "")
    added = count(prompt) if prompt and asked and asked != trim(last_text(messages)) else 0
    return Snapshot(listed + before + added, before, listed, added, len(messages))


def visible(message: Any) -> str:
    """The JSON of a value without the internal keys, at any depth."""
    return stringify(without_internal(message))


def last_text(messages: Sequence[Raw]) -> str:
    """Text of the last message with role user; an injected canvas is one, as upstream takes it."""
    message = next((message for message in reversed(messages) if role(message) == "user"), None)
    if message is None:
        return ""
    given = content(message)
    if isinstance(given, str):
        return given
    blocks = given if isinstance(given, list) else []
    return "\n".join(
        block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def without_internal(value: Any) -> Any:
    """A value without the internal keys, at any depth."""
    if isinstance(value, dict):
        return {key: without_internal(inner) for key, inner in value.items() if key not in INTERNAL}
    return [without_internal(inner) for inner in value] if isinstance(value, list) else value


def _accents(text: str) -> list[int]:
    """Positions of accented letters, where there are enough of them to take the text for another language."""
    positions = [found.start() for found in _ACCENT.finditer(text)]
    if not positions:
        return []
    letters = len(_LETTER.findall(text))
    return positions if letters > LETTERS and len(positions) / letters > ACCENTS else []


def _is_near(accents: Sequence[int], start: int, end: int) -> bool:
    first = bisect_left(accents, start - NEAR)
    return first < len(accents) and accents[first] < end + NEAR


def _word(length: int, foreign: bool) -> float:
    steps = ((3, 1.0), (5, 1.35), (7, 1.85), (9, 2.5), (12, 3.2)) if foreign else ((4, 1.0), (8, 1.1), (13, 1.5))
    for limit, cost in steps:
        if length <= limit:
            return cost
    return 3.2 + 0.32 * (length - 12) if foreign else 1.5 + 0.3 * (length - 13)


def _number(piece: str) -> float:
    commas, dots = piece.count(","), piece.count(".")
    digits = len(piece) - commas - dots
    if commas:
        return 2 * commas + 1
    if dots:
        return max(2, digits / 3 + 1.5 * dots)
    return 1 if digits <= 3 else max(1, digits / 2.5)
