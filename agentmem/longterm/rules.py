"""Rules that say what a sentence is worth: a table of patterns, the first that fits wins. No model.

A rule names a type, a priority and, where only one value can be true at a time, a slot ("home", "work"), so that a
later statement replaces an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table. ``patterns`` are alternatives; ``{words}`` in them are put in from the table's vocabulary.

    A group named ``what`` is added to the slot ("favourite colour").
    """

    name: str
    type: str
    priority: int
    patterns: tuple[str, ...]
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says of a sentence."""

    rule: str
    type: str
    priority: int
    slot: str = ""


class Table:
    """Rules of one language, tried in order."""

    def __init__(self, rules: Sequence[Rule], vocabulary: Mapping[str, str], flags: int = 0) -> None:
        self._rules = [(rule, re.compile(_joined(rule.patterns, vocabulary), flags)) for rule in rules]

    def find(self, sentence: str) -> Finding | None:
        """The first rule that fits."""
        for rule, pattern in self._rules:
            match = pattern.search(sentence)
            if match:
                what = match.groupdict().get("what")
                slot = f"{rule.slot} {what.strip().lower()}" if what else rule.slot
                return Finding(rule.name, rule.type, rule.priority, slot)
        return None


def pattern_of(patterns: Sequence[str], vocabulary: Mapping[str, str], flags: int = 0) -> re.Pattern[str]:
    """Alternatives with the vocabulary put in, as one pattern."""
    return re.compile(_joined(patterns, vocabulary), flags)


def _joined(patterns: Sequence[str], vocabulary: Mapping[str, str]) -> str:
    filled = []
    for pattern in patterns:
        for word, meaning in vocabulary.items():
            pattern = pattern.replace("{" + word + "}", meaning)
        filled.append(pattern)
    return "|".join(f"(?:{pattern})" for pattern in filled)
