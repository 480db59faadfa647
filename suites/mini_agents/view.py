"""What a scripted agent can read off a prompt: the request, the tool results behind it, and the pointers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentmem.messages import Message

Found = TypeVar("Found")
_NUMBER = re.compile(r"^\d+: ", re.MULTILINE)  # in front of the lines of a slice
POINTER = re.compile(r"\brefs/[0-9a-f]+\.txt\b|\bresult_ref[\"'`]?\s*[:=]\s*[\"'`(<]?([\w./-]*\w)")


@dataclass(frozen=True, slots=True)
class Seen:
    """One tool call as the prompt shows it: name, arguments, and what stands for its result, without line numbers.

    Texts that a memory put in have no name.
    """

    tool: str
    arguments: Mapping[str, Any]
    text: str

    @property
    def refs(self) -> tuple[str, ...]:
        """Pointers in the text, in order."""
        return pointers(self.text)


@dataclass(frozen=True)
class View:
    """A prompt, cut at its last request. ``before`` are the texts in front of it, ``steps`` the calls behind it.

    ``tools`` are the names and properties of what is offered; ``repeats`` counts the calls of this task that had to
    be made again.
    """

    request: str
    before: tuple[str, ...]
    steps: tuple[Seen, ...]
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    repeats: int = 0

    def first(self, read: Callable[[str], Found | None]) -> Found | None:
        """What ``read`` finds in the results of this task, newest first."""
        return next((found for step in reversed(self.steps) if (found := read(step.text)) is not None), None)

    def asked(self, tool: str) -> Iterator[Seen]:
        """The calls of one tool that the prompt still shows."""
        return (step for step in self.steps if step.tool == tool)

    def has(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the prompt still shows this very call."""
        return any(step.arguments == arguments for step in self.asked(tool))


def view_of(
    prompt: Sequence[Message], tools: Sequence[Mapping[str, Any]], is_request: Callable[[str], bool], repeats: int = 0
) -> View:
    """Read a prompt. The request is the last user message for which ``is_request`` holds."""
    starts = [i for i, m in enumerate(prompt) if m.role == "user" and is_request(m.content)]
    start = starts[-1] if starts else 0
    offered = {tool["function"]["name"]: tool["function"]["parameters"].get("properties", {}) for tool in tools}
    before = tuple(message.content for message in prompt[:start] if message.role != "system")
    return View(prompt[start].content, before, tuple(_steps(prompt[start + 1 :])), offered, repeats)


def pointers(text: str) -> tuple[str, ...]:
    """Pointers to evidence that stand in a text, each once, in order."""
    return tuple(dict.fromkeys(found[1] or found[0] for found in POINTER.finditer(text)))


def _steps(messages: Sequence[Message]) -> Iterator[Seen]:
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        call = calls.get(message.tool_call_id or "")
        if call is not None and message.role == "tool":
            yield Seen(call.name, _arguments(call.arguments), _NUMBER.sub("", message.content))
        elif message.role == "user":  # put in by a memory; it may hold pointers
            yield Seen("", {}, message.content)


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
