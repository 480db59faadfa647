"""The default summariser: no model, the same bytes every time, never more tokens than its budget.

It keeps the lines that carry decisions, then names the identifiers that those lines do not hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from agentmem.offload.identifiers import identifiers, kept
from agentmem.offload.ranking import Line, ranked
from agentmem.offload.shapes import NUMBERED, Body, Shape, shape_of, unwrap
from agentmem.offload.summaries import Result, Summary, short_call
from agentmem.tokens import Counter

BUDGET = 90  # tokens of one extract
NAMES = 0.5  # part of the budget for identifiers without their line
CHARACTERS = 3.4  # a token, roughly, in tool outputs; the exact count is taken at the end
ENOUGH = 0.85  # part of the budget that is worth no second try
TRIES = 6
NOTHING = "(no output)"
ALWAYS = 8.0  # weight from which a line is kept even when it brings nothing new


_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d{1,3}|_+|.")


@dataclass(frozen=True, slots=True)
class Extract:
    """An extract, the shape that was recognised, and a score: ten times the kept part of the identifiers."""

    text: str
    score: float
    shape: Shape


class Extractive:
    """Extracts of at most ``budget`` tokens, of which about ``names`` may go to bare identifiers."""

    name = "extractive"

    def __init__(self, counter: Counter, budget: int = BUDGET, names: float = NAMES) -> None:
        if budget < 1 or not 0 <= names <= 1:
            raise ValueError(f"budget must be at least 1 and names within 0 to 1, got {budget} and {names}")
        self._counter = counter
        self._budget = budget
        self._names = names

    def summarise(self, results: Sequence[Result], context: str = "") -> dict[str, Summary]:
        """A summary for every result."""
        made = {}
        for result in results:
            extract = self.extract(result.text)
            made[result.key] = Summary(short_call(result.call), extract.text, extract.score)
        return made

    def extract(self, text: str, known: Set[str] = frozenset()) -> Extract:
        """The extract of one output; the output itself, without its wrapping, where that fits the budget."""
        body = unwrap(text)
        shape = shape_of(body)
        head = _head(body, shape)
        if not any(body.lines):
            return Extract(self._cut(head or NOTHING), 10.0, shape)
        whole = "\n".join(filter(None, [head, *body.lines])) if body.total == len(body.lines) else ""
        if whole and len(whole) <= self._budget * 2 * CHARACTERS and self._counter.text(whole) <= self._budget:
            return Extract(whole, 10.0, shape)
        words = identifiers("\n".join([*body.lines, body.note]))
        words.sort(key=lambda word: (_cost(word), word.isdigit()))  # stable: ties in order of appearance
        extract = self._fit(head, ranked(shape, body), words, shape, known)
        return Extract(extract, round(10 * kept(extract, body.text), 1), shape)

    def _fit(self, head: str, lines: list[Line], words: list[str], shape: Shape, known: Set[str]) -> str:
        room = self._budget * (1 - self._names) * CHARACTERS - len(head)
        held = head
        for _ in range(TRIES):
            held = "\n".join(filter(None, [head, _render(_choose(lines, room, known), shape)]))
            used = self._counter.text(held)
            if used <= self._budget:
                return self._named(held, used, words, known)
            room *= 0.9 * self._budget / used
        return self._cut(held)

    def _named(self, held: str, used: int, words: list[str], known: Set[str]) -> str:
        # costs are estimated and the whole is counted: too much, again with less; too little, once with more
        free = room = float(self._budget - used - 2)
        best = held
        there = known | set(identifiers(held))
        for turn in range(TRIES):
            names = _names(words, there, room)
            extract = "\n".join(filter(None, [held, names]))
            count = self._counter.text(extract)
            if count > self._budget:
                room *= min(0.95, 0.98 * free / (count - used))
            elif turn or not names or count - used >= ENOUGH * free:
                return extract
            else:
                best, room = extract, room * 0.97 * free / (count - used)
        return best

    def _cut(self, text: str) -> str:
        while text and self._counter.text(text) > self._budget:
            text = text[: len(text) * 2 // 3]
        return text


def _head(body: Body, shape: Shape) -> str:
    """Exit code, shape, size, and for a view the numbers of its lines."""
    parts = [f"exit {body.exit_code}"] if body.exit_code else []
    if body.total > 3:
        parts.append(f"{body.total} lines" if shape == "plain" else f"{shape}, {body.total} lines")
    if shape == "view":
        numbers = [found["line"] for found in map(NUMBERED.match, body.lines) if found]
        parts.append(f"{numbers[0]}-{numbers[-1]}")
    return " ".join(parts)


def _choose(lines: list[Line], room: float, known: Set[str]) -> list[Line]:
    """The weightiest lines that fit ``room`` characters, without those that bring no new identifier."""
    chosen: list[Line] = []
    there = set(known)
    paths: set[str] = set()
    for line in sorted(lines, key=lambda line: (-line.weight, line.position)):
        cost = len(line.text) + 2 + (len(line.path) if line.path not in paths else 0)
        if cost > room:
            if room < 12:
                break
            continue
        names = identifiers(f"{line.path} {line.text}")
        if line.weight < ALWAYS and there.issuperset(names):
            continue
        chosen.append(line)
        there.update(names)
        paths.add(line.path)
        room -= cost
    return sorted(chosen, key=lambda line: line.position)


def _render(chosen: list[Line], shape: Shape) -> str:
    if shape == "listing":
        return " ".join(line.text for line in chosen)
    shown: list[str] = []
    path = ""
    for line in chosen:
        if line.path and line.path != path:
            shown.append(f"{line.path}:")
        path = line.path
        shown.append(line.text)
    return "\n".join(shown)


def _names(words: list[str], there: Set[str], room: float) -> str:
    """Identifiers that no kept line holds; the cheapest first, so that the most of them fit ``room`` tokens."""
    names: list[str] = []
    for name in words:
        if name in there:
            continue
        room -= _cost(name)
        if room < 0:
            break
        names.append(name)
    return f"also: {' '.join(names)}" if names else ""


@lru_cache(maxsize=65_536)  # the same names come in output after output
def _cost(name: str) -> float:
    """About how many tokens a word is: one for each part of it that a tokenizer may know."""
    if name.islower() and len(name) <= 8 and "_" not in name:
        return 1.0
    return sum(1.0 + max(0, len(part) - 8) / 5 for part in _PARTS.findall(name))
