"""``summary``: when the history passes a trigger, all but its newest part becomes one summary of fixed size.

In a replay no model is at hand. The summary is then counted text: the newest lines of what it replaces, up to the
size, and the call that a model would have needed is charged as a memory call (it reads the part it replaces).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from agentmem.messages import Message, sent_text
from harness.engines.base import step_boundary
from harness.engines.full import Full, FullParameters
from harness.protocols import EngineContext
from harness.types import Usage

HEADER = "Summary of the conversation so far:\n"


class SummaryParameters(FullParameters):
    """Parameters of ``summary``."""

    trigger: float = Field(0.85, gt=0, le=1)
    """Share of the window at which the history is replaced."""
    keep: int = Field(20_000, ge=0)
    """Tokens of the newest part that stay as they are."""
    size: int = Field(2_000, ge=50)
    """Tokens of the summary."""


class Summary(Full):
    """Periodic summarising of everything but the newest part."""

    name = "summary"
    Parameters = SummaryParameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self._spent: list[Usage] = []

    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """The history, or a summary and its newest part."""
        if self.working.tokens > self.parameters.trigger * self.context.window:
            self._summarise()
        return super().assemble(history)

    def spent(self) -> list[Usage]:
        """The summary calls since the last time."""
        spent, self._spent = self._spent, []
        return spent

    def _summarise(self) -> None:
        messages = self.working.messages
        start = 1 if messages and messages[0].role == "system" else 0
        stop = step_boundary(messages, self.parameters.keep, self.context.counter)
        requests = [m for m in messages[start:stop] if m.is_request]
        if stop <= start:
            return
        text = newest_lines(messages[start:stop], self.parameters.size, self.context)
        summary = Message("user", HEADER + text, kind="summary")
        # the last request must survive even if nothing newer holds one
        kept = requests[-1:] if not any(m.is_request for m in messages[stop:]) else []
        read = self.context.counter.total(messages[:stop])
        self._spent.append(Usage(read, 0, self.context.counter.message(summary), None, "counted", "counted", "counted"))
        self.working.replace_slice(start, stop, [summary, *kept])


def newest_lines(messages: Sequence[Message], size: int, context: EngineContext) -> str:
    """The newest lines of some messages, at most ``size`` tokens, in their order."""
    lines: list[str] = []
    left = size - context.counter.text(HEADER)
    for message in reversed(messages):
        for line in reversed(sent_text(message).splitlines(keepends=True)):
            left -= context.counter.text(line)
            if left < 0:
                return "".join(reversed(lines))
            lines.append(line)
    return "".join(reversed(lines))
