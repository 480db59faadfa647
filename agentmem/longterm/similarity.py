"""How alike two statements are, by their content words, numbers and negations. No model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentmem.longterm.words import keywords

SAME, NEAR = 0.9, 0.6
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|without|cannot|nor|hate|dislike|detest|avoid|stopped|quit)\b|n't\b|不|没|无|讨厌|别|禁止",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\w*\d\w*(?:[.:/-]\w+)*")  # 12, 2026-01-01, 0b, v1.2


@dataclass(frozen=True, slots=True)
class Statement:
    """A text taken apart once, so that it can be compared often."""

    text: str
    words: frozenset[str]
    numbers: frozenset[str]
    negated: bool
    subject: str

    def likeness(self, other: Statement) -> float:
        """Shared content words over all of them, 0 to 1."""
        every = self.words | other.words
        return len(self.words & other.words) / len(every) if every else float(self.text == other.text)

    def says_the_same(self, other: Statement) -> bool:
        """True for two wordings of one statement: same numbers, same negation, nearly the same words."""
        if self.text == other.text:
            return True
        agree = self.numbers == other.numbers and self.negated == other.negated and self.subject == other.subject
        return agree and self.likeness(other) >= SAME

    def covers(self, other: Statement) -> bool:
        """True when this says all that the other says and more."""
        agree = self.numbers >= other.numbers and self.negated == other.negated and self.subject == other.subject
        return agree and self.words > other.words and self.likeness(other) >= NEAR


def statement(text: str) -> Statement:
    """Take a text apart. The subject is its first word, so that two people are never mixed up."""
    plain = " ".join(text.casefold().split()).rstrip(".!。！ ")
    first = plain.split(" ", 1)[0].removesuffix("'s") if plain else ""
    return Statement(
        text=plain,
        words=frozenset(keywords(text)),
        numbers=frozenset(_NUMBER.findall(text)),
        negated=bool(_NEGATION.search(text)),
        subject=first if first.isascii() else plain[:2],
    )
