"""Turns a first-person sentence into one about a named person: "I've moved" becomes "Ana has moved"."""

from __future__ import annotations

import re

from agentmem.longterm.rules_english import IRREGULAR_PAST

_CONTRACTED = {"'m": " is", "'ve": " has", "'ll": " will", "'d": " would"}
_AUXILIARY = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "was": "was"}
_FIXED = """
will would can could should must might may did was had didn't won't wouldn't can't couldn't shouldn't wasn't hadn't
cannot ought used shall
"""
_UNCHANGED = frozenset(_FIXED.split()) | IRREGULAR_PAST
_ADVERB = re.compile(
    r"\w+ly|just|also|still|always|never|often|usually|now|even|already|sometimes|and|or|not", re.IGNORECASE
)
_I = re.compile(r"\bI('m|'ve|'ll|'d)?\b((?:\s+[\w']+){0,4})")
_OBJECT = {"me": "them", "myself": "themselves", "mine": "theirs"}


def third_person(sentence: str, name: str) -> str:
    """The sentence with ``name`` in place of the speaker. What it cannot turn with certainty stays as it was said."""
    sentence = sentence.replace("’", "'")
    owned = bool(_I.match(sentence))  # the name stands in front already
    sentence = _I.sub(lambda match: _subject(match, name), sentence)

    def own(match: re.Match[str]) -> str:
        nonlocal owned
        if owned:
            return "Their" if match[0][0] == "M" else "their"
        owned = True
        return f"{name}'s"

    sentence = re.sub(r"\b[Mm]y\b", own, sentence)
    sentence = re.sub(r"\b(?:me|myself|mine)\b", lambda match: _OBJECT[match[0]], sentence)
    return sentence[:1].upper() + sentence[1:]


def third_person_chinese(sentence: str, name: str) -> str:
    """The same for Chinese: 我 becomes the name; 我们 stays, since it is more than one person."""
    return re.sub(r"我(?!们|国)", name, sentence)


def _subject(match: re.Match[str], name: str) -> str:
    contraction, rest = match[1], match[2]
    if contraction:
        return f"{name}{_CONTRACTED[contraction]}{rest}"
    words = rest.split()
    for i, word in enumerate(words):
        if _ADVERB.fullmatch(word):
            continue
        words[i] = _verb(word)
        break
    return f"{name} {' '.join(words)}" if words else name + rest


def _verb(word: str) -> str:
    if word in _AUXILIARY:
        return _AUXILIARY[word]
    if word in _UNCHANGED or not word.isalpha() or word.endswith("ed") or not word.islower():
        return word
    if word.endswith(("s", "sh", "ch", "x", "z", "o")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"
