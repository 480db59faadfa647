"""The sentences in which a persona says what it likes or asks about it, and the patterns that read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

FIRST = (
    "When it comes to {topic}, my choice is {value}.",
    "When it comes to {topic}, nothing beats {value}, I find.",
)
CHANGED = "When it comes to {topic}, I gave up {old} because {reason}; my choice is now {value}."
LATEST = "I have an hour to myself. What would you suggest when it comes to {topic}, knowing me?"
FORMER = "What was it that I gave up last when it comes to {topic}?"
REASON = "Why did I give up {old} when it comes to {topic}? I have told you once."
OFFERS = {"latest": "I would suggest {it}.", "former": "You gave up {it}.", "reason": "Because {it}."}

_TOPIC = re.compile(r"when it comes to ([a-z ]+)[?,]")
_OLD = re.compile(r"Why did I give up (.+?) when it comes to")
_OPTION = re.compile(r"\(([a-d])\) (?:I would suggest|You gave up|Because) ([^'\"]+?)\.['\"]")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a persona said: the value it chose, and what it gave up for it and why, if it did."""

    value: str
    old: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its kind (``latest``, ``former`` or ``reason``), its topic, and for a reason what was given up."""

    kind: str
    topic: str
    old: str | None = None


def asked(request: str) -> Asked | None:
    """The question in a request, or None when it holds none of ours."""
    topic = _TOPIC.search(request)
    if topic is None:
        return None
    if old := _OLD.search(request):
        return Asked("reason", topic[1], old[1])
    return Asked("former" if "gave up last" in request else "latest", topic[1])


def options(request: str) -> dict[str, str]:
    """What is offered -> its letter."""
    return {what: letter for letter, what in _OPTION.findall(request)}


def statements(topic: str, texts: Iterable[str]) -> list[Statement]:
    """Everything that texts say about a topic."""
    about = f"When it comes to {re.escape(topic)}, "
    first = re.compile(rf"{about}(?:my choice is (?!now )(.+?)\.|nothing beats (.+?), I find)")
    changed = re.compile(rf"{about}I gave up (.+?) because (.+?); my choice is now (.+?)\.")
    found = []
    for text in texts:
        found += [Statement(one or other) for one, other in first.findall(text)]
        found += [Statement(value, old, reason) for old, reason, value in changed.findall(text)]
    return found


def latest(said: Iterable[Statement]) -> Statement | None:
    """The statement whose choice none of the others gave up: nobody takes up again here what was given up."""
    said = list(said)
    given_up = {one.old for one in said}
    return next((one for one in said if one.value not in given_up), None)
