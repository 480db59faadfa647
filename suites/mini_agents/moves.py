"""What a scripted agent may do next, and how it gets back what the prompt no longer shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suites.mini_agents.view import Found, View, pointers

WHOLE = 4_000  # tokens asked for when a result is read without a pattern
AT_ONCE = 6  # pointers followed in one answer
_REF = re.compile(r"\b(?:result_)?ref\b")


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
    """The tool with which an engine lets an agent follow a pointer, as far as its schema tells how."""

    name: str
    ref: str
    pattern: str | None
    limit: str | None

    def call(self, ref: str, pattern: str | None) -> tuple[str, dict[str, Any]]:
        """The call that reads the lines of a result in which the pattern occurs, or the result."""
        arguments: dict[str, Any] = {self.ref: ref}
        if pattern and self.pattern:
            arguments[self.pattern] = pattern
        elif self.limit:
            arguments[self.limit] = WHOLE
        return self.name, arguments


def drill_of(tools: Mapping[str, Mapping[str, Any]]) -> Drill | None:
    """The first tool that takes a pointer, by the names and descriptions in its schema, or None."""
    for name, fields in tools.items():
        for field, schema in fields.items():
            if _REF.search(f"{field} {schema.get('description', '')}"):
                pattern, limit = (key if key in fields else None for key in ("pattern", "limit"))
                return Drill(name, field, pattern, limit)
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
    pointers in their results or beside them in a memory's notes; when those lead nowhere, the calls again, in turn."""
    fresh = [arguments for arguments in wanted if not view.has(tool, arguments) and not _noted(view, arguments)]
    if fresh:
        return Ask("I look it up.", ((tool, fresh[0]),))
    made = [step for step in view.asked(tool) if step.arguments in wanted]
    refs = [ref for step in reversed(made) for ref in step.refs]
    refs += [ref for arguments in wanted for ref in _noted(view, arguments)]
    again = Ask("I saw it before and cannot recall it. I look again.", ((tool, wanted[view.repeats % len(wanted)]),))
    return follow(view, refs, pattern) or again


def _noted(view: View, arguments: Mapping[str, Any]) -> list[str]:
    """Pointers in lines of a memory's notes that name everything a call was made with."""
    names = [re.compile(rf"(?<!\w){re.escape(str(value))}(?!\w)") for value in arguments.values()]
    lines = [line for note in view.asked("") for line in note.text.splitlines()] if names else []
    return [ref for line in lines if all(name.search(line) for name in names) for ref in pointers(line)]


def follow(view: View, refs: Iterable[str], pattern: str) -> Ask | None:
    """Follow the pointers that were not followed yet, as far as the prompt shows, a few at a time, in order.

    What was read behind a pointer may have left the prompt as well: then the pointer in its place is followed.
    """
    drill = drill_of(view.tools)
    if drill is None:
        return None
    queue, fresh = list(dict.fromkeys(refs)), []
    for ref in queue:  # grows on the way
        name, arguments = drill.call(ref, pattern)
        read = [step for step in view.asked(name) if step.arguments == arguments]
        if not read:
            fresh.append((name, arguments))
        queue += [further for step in read for further in step.refs if further not in queue]
    return Ask("It left the prompt, but there is a pointer to it.", tuple(fresh[:AT_ONCE])) if fresh else None
