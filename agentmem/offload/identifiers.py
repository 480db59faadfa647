"""Identifiers of a text: the words an agent's next action may need again.

Runs of letters, digits and underscores of four or more characters that do not begin with a digit, and numbers
of three or more digits.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"\w+")


def identifiers(text: str) -> list[str]:
    """The distinct identifiers of a text in order of first appearance."""
    return [word for word in dict.fromkeys(_WORDS.findall(text)) if _is_identifier(word)]


def kept(extract: str, text: str) -> float:
    """Which part of the identifiers of ``text`` the extract holds, 0 to 1; 1 when there are none."""
    wanted = identifiers(text)
    if not wanted:
        return 1.0
    there = set(_WORDS.findall(extract))
    return sum(word in there for word in wanted) / len(wanted)


def _is_identifier(word: str) -> bool:
    if word[0].isdigit():
        return len(word) >= 3 and word.isdigit()
    return len(word) >= 4
