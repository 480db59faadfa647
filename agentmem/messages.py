"""One internal form of a chat message. Every provider's shape is read into it and written back from it.

A history is a list of ``Message``; nobody changes one, everybody may share it.
Readers and writers of the provider shapes live in ``agentmem.wire``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model asked for. ``arguments`` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str

    def values(self) -> str:
        """The call as plain text: its name and every key and value of its arguments, unescaped."""
        try:
            decoded = json.loads(self.arguments)
        except ValueError:
            return f"{self.name} {self.arguments}"
        return f"{self.name} " + " ".join(_leaves(decoded))


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message.

    ``kind`` and ``refs`` are book-keeping and never sent: ``kind`` says what the message is for ("task",
    "observation", "canvas", "summary", "recall", ...), ``refs`` lists the evidence pointers that stand in its
    content. ``raw`` is the host's own object, so that an unchanged message is written back as it came.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    kind: str | None = None
    is_error: bool = False
    refs: tuple[str, ...] = ()
    raw: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def is_result(self) -> bool:
        """True for the output of a tool, also where a text protocol sends it as a user message."""
        return self.role == "tool" or self.kind == "observation"

    @property
    def is_request(self) -> bool:
        """True for what a person asked: a user message that is no tool output and was not put in by a memory."""
        return self.role == "user" and self.kind in (None, "task")


def openai_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """The calls in the shape of OpenAI's ``tool_calls``."""
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]


def sent_text(message: Message) -> str:
    """What the model reads of a message: its content and the JSON of its tool calls."""
    if not message.tool_calls:
        return message.content
    return message.content + json.dumps(openai_calls(message.tool_calls), ensure_ascii=False)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value if isinstance(value, str) else json.dumps(value)
