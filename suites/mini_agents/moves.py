"""What a scripted agent may do next, and how it gets back what the prompt no longer shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suites.mini_agents.view import Seen, View

REF_FIELDS = ("result_ref", "ref", "reference")
PATTERN_FIELDS = ("pattern", "query", "search")
AT_ONCE = 4  # pointers followed in one answer


@dataclass(frozen=True, slots=True)
class Ask:
    """Tool calls, each a name and its arguments, and why."""

    why: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The final answer."""

    answer: str


Move = Ask | Done
Policy = Callable[[View], Move]


@dataclass(frozen=True, slots=True)
class Drill:
    """The tool with which an engine lets an agent follow a pointer, as far as its schema says how to call it."""

    name: str
    ref: str
    pattern: str | None

    def call(self, ref: str, pattern: str) -> tuple[str, dict[str, Any]]:
        """The call that reads the lines of a result in which the pattern occurs, or the result."""
        return self.name, {self.ref: ref} | ({self.pattern: pattern} if self.pattern else {})


def drill_of(tools: Mapping[str, Mapping[str, Any]]) -> Drill | None:
    """The first tool that takes a pointer, or None."""
    for name, properties in tools.items():
        ref = next((field for field in REF_FIELDS if field in properties), None)
        if ref is not None:
            return Drill(name, ref, next((field for field in PATTERN_FIELDS if field in properties), None))
    return None


def follow(view: View, refs: Iterable[str], pattern: str) -> Ask | None:
    """Follow the pointers that were not followed yet, as far as the prompt shows, a few at a time, in order."""
    drill = drill_of(view.tools)
    if drill is None:
        return None
    calls = [drill.call(ref, pattern) for ref in dict.fromkeys(refs)]
    fresh = [(name, arguments) for name, arguments in calls if not view.has(name, arguments)]
    return Ask("It is no longer in front of me, but there is a pointer to it.", tuple(fresh[:AT_ONCE])) if fresh else None


def again(view: View, steps: Sequence[Seen]) -> Ask | None:
    """Make one of these calls again, each in turn; None when the prompt shows none of them."""
    calls = list(dict.fromkeys((step.tool, _frozen(step.arguments)) for step in steps if step.tool))
    if not calls:
        return None
    tool, arguments = calls[view.repeats % len(calls)]
    return Ask("I looked it up before and cannot recall it. I look again.", ((tool, dict(arguments)),))


def _frozen(arguments: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(arguments.items())
