"""A tiny suite and its parts for tests of live runs: real engine, real server or script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentmem.messages import Message, ToolCall
from agentmem.tokens import TokenCounter
from harness.agents.dialogue import dialogue
from harness.agents.loop import Agent, Limits
from harness.engines.registry import parse_arm
from harness.errors import EnvironmentFailed
from harness.live import LiveOptions
from harness.protocols import Environment, Model
from harness.session import Parts
from harness.types import Episode, Outcome, Task

COUNTER = TokenCounter()
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Look a name up.", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}},
}  # fmt: skip


class Riddles:
    """``count`` tasks; the answer to task n is n. ``broken`` tasks have no environment."""

    name = "riddles"
    controls = ("gold",)

    def __init__(self, count: int = 4, broken: Sequence[str] = (), earlier: int = 0, tools: bool = False) -> None:
        self._count, self._broken, self._earlier, self._tools = count, broken, earlier, tools

    def tasks(self) -> Sequence[Task]:
        """The tasks t0, t1, ..."""
        prompt = Message("system", "Answer with a number.")
        return [
            Task(
                f"t{n}",
                self.name,
                (prompt, Message("user", f"Which number has task {n}?", kind="task")),
                {"gold": str(n)},
            )
            for n in range(self._count)
        ]

    def episodes(self, task: Task) -> Sequence[Episode]:
        """Earlier chats, the same for every task."""
        chat = (Message("user", "remember this"), Message("assistant", "noted"))
        return [Episode(f"chat {n}", chat) for n in range(self._earlier)]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Takes a number; may offer one tool."""
        if task.id in self._broken:
            raise EnvironmentFailed("the machine is on fire")
        return Riddle(task.data["gold"], self._tools)

    def control(self, name: str, task: Task) -> Outcome:
        """Always right."""
        return Outcome("scored", True, 1.0)


class Riddle:
    """Compares the answer with the gold number."""

    def __init__(self, gold: str, tools: bool) -> None:
        self._gold, self._tools = gold, tools

    def tools(self) -> list[dict[str, Any]]:
        """One tool, or none."""
        return [LOOK] if self._tools else []

    def execute(self, call: ToolCall) -> Message:
        """Says the number; dies when asked to."""
        if "die" in call.arguments:
            raise EnvironmentFailed("the container is gone")
        return Message("tool", f"the number is {self._gold}", tool_call_id=call.id, name=call.name)

    def finish(self, answer: str) -> Outcome:
        """Right or wrong; no digit is unparsable."""
        digits = "".join(filter(str.isdigit, answer))
        if not digits:
            return Outcome("unparsable", error="no number")
        return Outcome("scored", digits == self._gold, float(digits == self._gold))

    def close(self) -> None:
        """Nothing is open."""


def parts(suite: Any, model: Model, folder: Path, *, protocol: str = "functions", **more: Any) -> Parts:
    """Parts with a real agent and a window of 4,000 tokens."""
    limits = more.pop("limits", Limits(steps=8))
    return Parts(suite, Agent(dialogue(protocol), limits), model, COUNTER, 4_000, folder, **more)


def options(*arms: str, **more: Any) -> LiveOptions:
    """Options for the arms."""
    return LiveOptions(arms=tuple(parse_arm(arm) for arm in arms or ("full",)), model="m", window=4_000, **more)


def quiet(done: int, total: int, what: str) -> None:
    """No progress."""
