"""Finds the JSON in a model's answer: behind reasoning, fences and prose, damaged or cut off.

``find_json`` is ours; ``extract_reference`` gives the results of the upstream extractor, for parity tests only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from agentmem.errors import BadAnswer
from agentmem.llm.tolerant import STRICT, Broken, Value, finite, read_value

Kind = Literal["list", "object"]
# what JavaScript's trim() removes
JS_BLANKS = "\t\n\v\f\r \xa0\ufeff\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
MAX_TRIES = 2_000  # brackets tried in one answer; text full of stray ones is no answer
_OPENER = re.compile(r"[\[{]")
_THOUGHT = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*([\s\S]*?)```")
_TRAILING = re.compile(r",\s*([}\]])")


@dataclass(frozen=True, slots=True)
class Found:
    """The JSON value of an answer. ``complete`` is False when the text ended inside it and the rest is missing."""

    value: Any
    complete: bool = True


def find_json(answer: str, want: Kind | None = None) -> Found:
    """The value an answer holds.

    The whole text is read strictly first. Else every decodable object or list outside of reasoning is a candidate:
    one of the wanted kind wins over another, one that holds objects over one that does not, a later one over an
    earlier one. Raises ``BadAnswer`` when nothing can be decoded.
    """
    text = answer.strip(JS_BLANKS)
    if not text:
        raise BadAnswer("the answer is empty")
    try:
        return Found(STRICT.decode(text))
    except (ValueError, RecursionError):
        pass
    candidates = list(_candidates(text))
    thoughts = _thoughts(text, candidates)
    outside = [(start, value) for start, value in candidates if not any(a <= start < b for a, b in thoughts)]
    if not outside and thoughts and thoughts[-1][1] == len(text):
        outside = candidates  # the reasoning was never closed: the answer may stand in it
    if not outside:
        raise BadAnswer(f"no JSON in the answer, which begins {text[:60]!r}")
    _, best = max(outside, key=lambda pair: (_fits(pair[1].value, want), _holds_objects(pair[1].value), pair[0]))
    return Found(best.value, best.whole)


def find_items(answer: str) -> Found:
    """The list of objects an answer holds; ``value`` is a ``list[dict]``.

    An object where a list was asked for is taken as its only item, or unwrapped when exactly one of its values is a
    list of objects. Elements that are no objects are left out. Raises ``BadAnswer`` when there is no object and the
    list is not empty.
    """
    found = find_json(answer, want="list")
    value = found.value
    if isinstance(value, dict):
        inner = [part for part in value.values() if isinstance(part, list) and part and _holds_objects(part)]
        value = inner[0] if len(inner) == 1 and not _is_item(value, inner[0]) else [value]
    if not isinstance(value, list):
        raise BadAnswer(f"expected a list of objects, got {json.dumps(value)[:60]}")
    items = [item for item in value if isinstance(item, dict)]
    if value and not items:
        raise BadAnswer(f"expected a list of objects, got {json.dumps(value)[:60]}")
    return Found(items, found.complete)


def extract_reference(answer: str) -> Any:
    """What the upstream extractor returns (memory_core.md A6); None when it finds nothing.

    Tried in order: the whole text, the first fence, the outermost braces, the same without trailing commas, the
    outermost brackets, the whole text without trailing commas.
    """
    text = answer.strip(JS_BLANKS)
    fence = _FENCE.search(text)
    braces = _span(text, "{", "}")
    attempts = (
        text,
        fence.group(1).strip(JS_BLANKS) if fence else None,
        braces,
        _TRAILING.sub(r"\1", braces) if braces else None,
        _span(text, "[", "]"),
        _TRAILING.sub(r"\1", text),
    )
    for attempt in attempts:
        if attempt:
            try:
                return json.loads(attempt, parse_constant=finite)
            except (ValueError, RecursionError):
                continue
    return None


def escape_controls(raw: str) -> str:
    """Make control characters in a JSON text legal: escapes inside strings, and when the text still cannot be
    parsed, removal of the rare ones elsewhere (memory_core.md B2, ``sanitizeJsonForParse``)."""
    out: list[str] = []
    inside = escaped = False
    for char in raw:
        if escaped:
            escaped = False
        elif char == "\\" and inside:
            escaped = True
        elif char == '"':
            inside = not inside
        elif inside and char < " ":
            out.append(json.dumps(char)[1:-1])
            continue
        out.append(char)
    text = "".join(out)
    try:
        json.loads(text, parse_constant=finite)
    except (ValueError, RecursionError):
        return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", text)
    return text


def _candidates(text: str) -> Iterator[tuple[int, Value]]:
    at = tries = 0
    while tries < MAX_TRIES:
        opener = _OPENER.search(text, at)
        if opener is None:
            return
        tries += 1
        try:
            value = read_value(text, opener.start())
        except Broken:
            at = opener.start() + 1
            continue
        if not value.whole and not value.value:
            # cut off before its first element was complete: what stands inside is a piece, not an answer
            if not text[opener.end() :].lstrip().startswith("'"):
                return
            at = opener.end()
            continue
        yield opener.start(), value
        at = value.end


def _thoughts(text: str, candidates: list[tuple[int, Value]]) -> list[tuple[int, int]]:
    """Spans of reasoning. Tags inside a decoded value are text, not tags; a lone closing tag ends a span from 0."""
    inside_values = [(start, value.end) for start, value in candidates]
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for tag in _THOUGHT.finditer(text):
        if any(a < tag.start() < b for a, b in inside_values):
            continue
        if not tag.group(1):
            opened = tag.start() if opened is None else opened
        else:
            start = opened if opened is not None else (0 if not spans else spans[-1][1])
            spans.append((start, tag.end()))
            opened = None
    if opened is not None:
        spans.append((opened, len(text)))
    return spans


def _fits(value: Any, want: Kind | None) -> bool:
    if want is None:
        return True
    return isinstance(value, list if want == "list" else dict)


def _holds_objects(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return isinstance(value, list) and any(isinstance(part, dict) for part in value)


def _is_item(value: dict[str, Any], inner: list[Any]) -> bool:
    # {"scene_name": ..., "memories": [...]} is one item with a list in it; {"scenes": [...]} only wraps a list
    return any(other is not inner for other in value.values())


def _span(text: str, opener: str, closer: str) -> str | None:
    start, end = text.find(opener), text.rfind(closer)
    return text[start : end + 1] if 0 <= start < end else None
