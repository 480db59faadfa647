"""What suites of questions share: an environment that only takes an answer, and a folder of texts to look into."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.types import Outcome

PAGE = 8_000  # characters of a page
HITS = 8
AROUND = 160  # characters shown on each side of a hit
_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Answering:
    """An environment without tools: the answer is graded, and may be graded again by a judge."""

    def __init__(self, grade: Callable[[str], Outcome]) -> None:
        self._grade = grade

    def tools(self) -> list[dict[str, Any]]:
        """None."""
        return []

    def execute(self, call: ToolCall) -> Message:
        """There is nothing to run."""
        return failed(call, f"there is no tool {call.name!r}")

    def finish(self, answer: str) -> Outcome:
        """Grade the answer."""
        return self._grade(answer)

    def regrade(self, answer: str) -> Outcome:
        """Grade it once more, for judges that are asked several times."""
        return self._grade(answer)

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in a text: its name, the page it stands on (from 1), and the words around it."""

    name: str
    page: int
    excerpt: str


class Library:
    """Named texts: read page by page (``size`` characters at most), searched by words (BM25 over pages)."""

    def __init__(self, texts: Mapping[str, str], size: int = PAGE) -> None:
        self._pages = {name: pages(text, size) for name, text in texts.items()}
        self._bags = {
            (name, number): Counter(words(page))
            for name, parts in self._pages.items()
            for number, page in enumerate(parts, 1)
        }
        self._found = Counter(word for bag in self._bags.values() for word in bag)
        self._mean = sum(bag.total() for bag in self._bags.values()) / max(1, len(self._bags))

    @property
    def sizes(self) -> dict[str, int]:
        """Name -> number of pages, in the given order."""
        return {name: len(parts) for name, parts in self._pages.items()}

    def page(self, name: str, number: int) -> str:
        """One page. Raises ``LookupError`` that says what there is."""
        if name not in self._pages:
            raise LookupError(f"there is no document {name!r}; there are: {', '.join(self._pages)}")
        parts = self._pages[name]
        if not 1 <= number <= len(parts):
            raise LookupError(f"{name!r} has pages 1 to {len(parts)}, not {number}")
        return parts[number - 1]

    def search(self, query: str, count: int = HITS) -> list[Hit]:
        """The best pages, best first; equal scores in the order of the texts."""
        wanted = list(dict.fromkeys(words(query)))
        scores = {place: self._score(bag, wanted) for place, bag in self._bags.items()}
        best = sorted((place for place in scores if scores[place] > 0), key=lambda place: -scores[place])[:count]
        return [Hit(name, number, excerpt(self._pages[name][number - 1], wanted)) for name, number in best]

    def _score(self, bag: Counter[str], wanted: Sequence[str]) -> float:
        """BM25 with k1 = 1.2, b = 0.75."""
        length = 1.2 * (0.25 + 0.75 * bag.total() / (self._mean or 1))
        total = 0.0
        for word in wanted:
            if bag[word]:
                rare = math.log(1 + (len(self._bags) - self._found[word] + 0.5) / (self._found[word] + 0.5))
                total += rare * bag[word] * 2.2 / (bag[word] + length)
        return total


def pages(text: str, size: int = PAGE) -> list[str]:
    """The text in parts of at most ``size`` characters, cut at a line end where there is one in the last fifth."""
    parts = []
    start = 0
    while len(text) - start > size:
        newline = text.rfind("\n", start + size * 4 // 5, start + size)
        cut = newline + 1 if newline > 0 else start + size
        parts.append(text[start:cut])
        start = cut
    return [*parts, text[start:]]


def words(text: str) -> list[str]:
    """Lower-case words; of scripts without spaces every pair of neighbours as well."""
    found = []
    for word in _WORD.findall(text.lower()):
        found.append(word)
        if _CJK.search(word):
            found += [word[i : i + 2] for i in range(len(word) - 1)]
    return found


def excerpt(text: str, wanted: Sequence[str]) -> str:
    """The text around the first of the wanted words, on one line."""
    lower = text.lower()
    places = [place for word in wanted if (place := lower.find(word)) >= 0]
    middle = min(places, default=0)
    return " ".join(text[max(0, middle - AROUND) : middle + AROUND].split())


def tool(name: str, description: str, required: Sequence[str] = (), **fields: tuple[str, str]) -> dict[str, Any]:
    """A tool in OpenAI's schema; ``fields`` maps a name to (JSON type, description)."""
    properties = {field: {"type": kind, "description": text} for field, (kind, text) in fields.items()}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object; anything else is an empty one."""
    found = json.loads(call.arguments or "{}")
    return found if isinstance(found, dict) else {}


def result(call: ToolCall, text: str) -> Message:
    """A tool's result."""
    return Message("tool", text, tool_call_id=call.id, name=call.name)


def failed(call: ToolCall, text: str) -> Message:
    """A tool's error, for the model to read."""
    return Message("tool", f"error: {text}", tool_call_id=call.id, name=call.name, is_error=True)
