"""What engines share: a base that does nothing, and the part of the history that is still in the prompt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from agentmem.errors import EvidenceNotFound
from agentmem.messages import Message, ToolCall
from agentmem.tokens import Counter
from harness.protocols import EngineContext
from harness.types import Usage


class Parameters(BaseModel):
    """Parameters of an engine: unknown keys are refused, and nobody changes them afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Engine(ABC):
    """An engine that keeps no evidence, offers no tools and calls no model."""

    name: ClassVar[str]
    Parameters: ClassVar[type[BaseModel]] = Parameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        self.parameters = parameters
        self.context = context

    def begin_task(self, task: str) -> None:
        """Nothing to do."""

    def observe(self, message: Message) -> None:
        """Nothing to do."""

    @abstractmethod
    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """The prompt that is sent."""

    def evidence(self, ref: str) -> str:
        """No evidence is kept."""
        raise EvidenceNotFound(f"no evidence {ref!r}: the engine {self.name!r} keeps none")

    def overflow(self, tokens: int) -> None:
        """A prompt of so many tokens was too long for the server: from now on the window is three quarters of it."""
        self.context = replace(self.context, window=min(self.context.window, tokens * 3 // 4))

    def spent(self) -> list[Usage]:
        """No calls of its own."""
        return []

    def tools(self) -> list[dict[str, Any]]:
        """No tools."""
        return []

    def call(self, call: ToolCall) -> str:
        """No tools."""
        raise EvidenceNotFound(f"the engine {self.name!r} offers no tool {call.name!r}")

    def close(self) -> None:
        """Nothing to free."""


class Working:
    """The part of a history that is still in the prompt, with its token count.

    Messages are only added behind and dropped in front, so that a step costs the same at any length.
    """

    def __init__(self, counter: Counter) -> None:
        self.messages: list[Message] = []
        self.tokens = 0
        self._counter = counter

    def add(self, message: Message) -> None:
        """Take in a message that was added to the history."""
        self.messages.append(message)
        self.tokens += self._counter.message(message)

    def replace(self, index: int, message: Message) -> None:
        """Put another message at an index."""
        self.tokens += self._counter.message(message) - self._counter.message(self.messages[index])
        self.messages[index] = message

    def replace_slice(self, start: int, stop: int, messages: Sequence[Message]) -> None:
        """Put other messages in place of a run of them."""
        self.tokens += self._counter.total(messages) - self._counter.total(self.messages[start:stop])
        self.messages[start:stop] = messages

    def shrink(self, limit: float) -> None:
        """While over ``limit`` tokens, leave out the oldest whole step."""
        while self.tokens > limit:
            step = oldest_step(self.messages)
            if step is None:
                return
            self.replace_slice(*step, ())

    def clear(self) -> None:
        """Leave out everything but the system message."""
        start = 1 if self.messages and self.messages[0].role == "system" else 0
        self.replace_slice(start, len(self.messages), ())


def oldest_step(messages: Sequence[Message]) -> tuple[int, int] | None:
    """Start and end of the oldest step that may go, or None when nothing may.

    The system message stays. A request stays in front of the steps that answer it and goes after the last of them;
    the last request and everything newer than the last step stay.
    """
    start = 1 if messages and messages[0].role == "system" else 0
    if start < len(messages) and messages[start].is_request:
        if start + 1 < len(messages) and messages[start + 1].is_request:
            return start, start + 1
        start += 1
    stop = start + 1
    while stop < len(messages) and messages[stop].is_result:
        stop += 1
    if stop >= len(messages):
        return None
    return start, stop


def step_boundary(messages: Sequence[Message], keep: int, counter: Counter) -> int:
    """Where the newest part of at most ``keep`` tokens begins: at the start of a step, and not behind the last one."""
    total = 0
    boundary = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        total += counter.message(messages[index])
        if total > keep and boundary < len(messages):
            break
        if not messages[index].is_result:
            boundary = index
    return boundary
