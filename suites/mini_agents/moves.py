"""What a scripted agent may do next, and how it gets back what the prompt no longer shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suites.mini_agents.view import Found, View

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


class Gap(Exception):
    """Something that is needed does not stand in the prompt; ``move`` is the way to it."""

    def __init__(self, move: Move) -> None:
        super().__init__()
        self.move = move


Policy = Callable[[View], Move]


@dataclass(frozen=True, slots=True)
class Drill:
    """The tool with which an engine lets an agent follow a pointer, as far as its schema says how to call it."""

    name: str
    ref: str
    pattern: str | None

    def call(self, ref: str, pattern: str | None) -> tuple[str, dict[str, Any]]:
        """The call that reads the lines of a result in which the pattern occurs, or the result."""
        return self.name, {self.ref: ref} | ({self.pattern: pattern} if self.pattern and pattern else {})


def drill_of(tools: Mapping[str, Mapping[str, Any]]) -> Drill | None:
    """The first tool that takes a pointer, or None."""
    for name, properties in tools.items():
        ref = next((field for field in REF_FIELDS if field in properties), None)
        if ref is not None:
            return Drill(name, ref, next((field for field in PATTERN_FIELDS if field in properties), None))
    return None


def find(
    view: View,
    read: Callable[[str], Found | None],
    tool: str,
    wanted: Sequence[Mapping[str, Any]],
    pattern: str,
) -> Found:
    """What ``read`` finds in the results in sight. Raises ``Gap`` with a move of ``look`` when it is in none."""
    found = view.first(read)
    if found is None:
        raise Gap(look(view, tool, wanted, pattern))
    return found


def look(view: View, tool: str, wanted: Sequence[Mapping[str, Any]], pattern: str) -> Move:
    """The first of the wanted calls that was not made yet, as far as the prompt shows; when all of them were, the
    pointers in their results; without pointers, or when they lead nowhere, the calls again, each in turn."""
    fresh = [arguments for arguments in wanted if not view.has(tool, arguments)]
    if fresh:
        return Ask("I look it up.", ((tool, fresh[0]),))
    made = [step for step in view.asked(tool) if step.arguments in wanted]
    refs = [ref for step in reversed(made) for ref in step.refs]
    again = Ask("I saw it before and cannot recall it. I look again.", ((tool, wanted[view.repeats % len(wanted)]),))
    return follow(view, refs, pattern) or again


def follow(view: View, refs: Iterable[str], pattern: str) -> Ask | None:
    """Follow the pointers that were not followed yet, as far as the prompt shows, a few at a time, in order."""
    drill = drill_of(view.tools)
    if drill is None:
        return None
    calls = [drill.call(ref, pattern) for ref in dict.fromkeys(refs)]
    fresh = [(name, arguments) for name, arguments in calls if not view.has(name, arguments)]
    return Ask("It left the prompt, but there is a pointer to it.", tuple(fresh[:AT_ONCE])) if fresh else None
