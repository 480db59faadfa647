"""Reads the chosen option out of a reply and scores it.

    score(reply, gold, mode=...) -> Outcome

Parser of ``inference_standalone_openai.py`` at bowen-upenn/PersonaMem 041d82a; earlier versions of it read other
things out of the same reply (a letter anywhere, or sentence embeddings), so state which one a number is from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.types import Outcome
from suites import outcomes
from suites.outcomes import Mode
from suites.personamem.request import FINAL

PARSER = "041d82a"
CLOSING = "</final_answer>"
OPTIONS = "abcd"
_BRACKETED = re.compile(r"\(([a-d])\)")
_ALONE = re.compile(r"\b([a-d])\b")
_LONE_LETTER = re.compile(r"[\s*_`\"'$({\[（]*(?:\\boxed\{)?([a-d])[\s*_`\"'$)}\]）.]*", re.IGNORECASE)
_REASONING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reply chose. ``text`` is the part behind the last token; ``options`` is empty when none is found."""

    text: str
    options: frozenset[str]
    correct: bool


def score(reply: str | None, gold: str, *, mode: Mode = "reference") -> Outcome:
    """The outcome of one reply; ``gold`` is the letter of the data set, such as ``(c)``.

    A reply without any option is unparsable, one with several is wrong. In ``guarded`` mode only a bracketed option
    or a lone letter behind the token counts. Never raises for what a reply holds.
    """
    if reply is None or not reply.strip():
        return outcomes.missing()
    letter = gold_letter(gold)
    if letter not in tuple(OPTIONS):
        return outcomes.scorer_error(f"the gold answer {gold!r} is none of (a) to (d)")
    found = read(reply, gold) if mode == "reference" else read_guarded(reply, gold)
    detail = {"parser": PARSER, "extracted": found.text[-200:], "options": sorted(found.options)}
    if not found.options:
        return outcomes.unparsable("no option in the reply", **detail)
    return outcomes.scored(found.correct, float(found.correct), **detail)


def read(reply: str, gold: str) -> Choice:
    """The published reading: the options behind the last token, and if they are not the gold one, in the whole reply.

    Raises ``AttributeError`` when reply or gold is no text, as the published code does.
    """
    letter = gold_letter(gold)
    text = reply.strip().rpartition(FINAL)[2].strip()
    text = text.removesuffix(CLOSING).strip()
    chosen = _options(text)
    if chosen == {letter}:
        return Choice(text, chosen, True)
    whole = _options(reply)
    return Choice(text, chosen or whole, whole == {letter})


def read_guarded(reply: str, gold: str) -> Choice:
    """Strict reading: bracketed options, or one letter alone, behind the last token or else in the whole reply.

    Reasoning blocks are left out. The article "a" and the d of "I'd" are never options.
    """
    visible = _REASONING.sub("", reply)
    before, token, text = visible.rpartition(FINAL)
    text = text.strip().removesuffix(CLOSING).strip()
    chosen = _strict(text)
    if not chosen and token:
        chosen = _strict(before)
    return Choice(text, chosen, chosen == {gold_letter(gold)})


def gold_letter(gold: str) -> str:
    """The gold option without brackets, blanks at its ends and capitals."""
    return gold.lower().strip("() ")


def _options(text: str) -> frozenset[str]:
    """Bracketed options, or stand-alone letters where there are none."""
    lower = text.lower()
    return frozenset(_BRACKETED.findall(lower) or _ALONE.findall(lower))


def _strict(text: str) -> frozenset[str]:
    bracketed = frozenset(_BRACKETED.findall(text.lower()))
    if bracketed:
        return bracketed
    lone = _LONE_LETTER.fullmatch(text.strip())
    return frozenset({lone.group(1).lower()}) if lone else frozenset()
