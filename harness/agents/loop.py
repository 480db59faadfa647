"""The agent: asks the model, runs the tools it asks for, and stops at an answer or at a limit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentmem.errors import AgentMemError
from agentmem.messages import Message, ToolCall
from harness.agents.conversation import Conversation
from harness.agents.dialogue import Dialogue
from harness.errors import EnvironmentFailed
from harness.models.budget import Prices
from harness.protocols import Environment
from harness.types import Episode, Task

LAST_CALL = "You have reached the limit of this task. Do not ask for tools any more: give your final answer now."


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may take; None is no limit. ``cost`` is in the unit of the price table."""

    steps: int = 100
    seconds: float | None = 3_600.0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How the agent ended a task: its answer, the steps it took, and the limit that stopped it."""

    answer: str
    steps: int
    limit: str | None = None
    complaints: int = 0  # answers that broke the protocol


class Agent:
    """A compact tool-calling loop. One agent may play any number of sessions."""

    def __init__(
        self,
        dialogue: Dialogue,
        limits: Limits = Limits(),
        prices: Prices = Prices(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.dialogue = dialogue
        self.limits = limits
        self._prices = prices
        self._clock = clock

    def open(
        self,
        conversation: Conversation,
        task: Task,
        tools: Sequence[Mapping[str, Any]],
        earlier: Callable[[], Sequence[Episode]] = tuple,
    ) -> None:
        """Add what comes before the first answer: the session's one system message, earlier chats, the request."""
        if not conversation.history:
            given = "\n\n".join(message.content for message in task.prompt if message.role == "system")
            if text := self.dialogue.system(given, tools):
                conversation.add(Message("system", text))
        conversation.open_task(earlier())
        for message in task.prompt:
            if message.role != "system":
                request = message.role == "user" and not message.kind
                conversation.add(replace(message, kind="task") if request else message)

    def play(
        self,
        conversation: Conversation,
        task: Task,
        environment: Environment,
        earlier: Callable[[], Sequence[Episode]] = tuple,
    ) -> Ended:
        """Play one task to its end. Raises what model and environment raise; the history stays legal even then."""
        own = conversation.engine.tools()
        tools = [*environment.tools(), *own]
        mine = {tool["function"]["name"] for tool in own}
        self.open(conversation, task, tools, earlier)
        begun = self._clock()
        complaints = 0
        for step in range(1, self.limits.steps + 1):
            limit = self._reached(conversation, begun)
            if limit:
                return self._last_call(conversation, step - 1, limit, complaints)
            turn = self.dialogue.read(conversation.ask(self.dialogue.offered(tools)), tools)
            if turn.answer is not None:
                return Ended(turn.answer, step, None, complaints)
            if turn.complaint is not None:
                complaints += 1
                conversation.add(Message("user", turn.complaint, kind="observation", is_error=True))
                continue
            handed_in = self._run(conversation, environment, turn.calls, mine)
            if handed_in is not None:
                return Ended(handed_in, step, None, complaints)
        return self._last_call(conversation, self.limits.steps, "steps", complaints)

    def _run(
        self, conversation: Conversation, environment: Environment, calls: Sequence[ToolCall], mine: set[str]
    ) -> str | None:
        """Run the calls in order; every one gets its result, also when the environment dies on the way."""
        for index, call in enumerate(calls):
            try:
                result = self._result(conversation, environment, call, mine)
            except EnvironmentFailed as error:
                for skipped in calls[index:]:
                    conversation.add(self.dialogue.result(_error(skipped, f"not run: {error}")))
                raise
            result = self.dialogue.result(result)
            handed_in = self.dialogue.submitted(result)
            if handed_in is not None:
                return handed_in
            conversation.add(result)
        return None

    def _result(self, conversation: Conversation, environment: Environment, call: ToolCall, mine: set[str]) -> Message:
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError as error:
            return _error(call, f"the arguments of {call.name} are not JSON: {error}")
        if not isinstance(arguments, dict):
            return _error(call, f"the arguments of {call.name} must be a JSON object")
        if call.name in mine:
            try:
                return Message("tool", conversation.engine.call(call), tool_call_id=call.id, name=call.name)
            except AgentMemError as error:  # a wrong ref is for the model to correct
                return _error(call, str(error))
        known = {tool["function"]["name"] for tool in environment.tools()}
        if call.name not in known:
            return _error(call, f"there is no tool {call.name!r}; there are {', '.join(sorted(known | mine))}")
        return environment.execute(call)

    def _reached(self, conversation: Conversation, begun: float) -> str | None:
        if self.limits.seconds is not None and self._clock() - begun >= self.limits.seconds:
            return "seconds"
        if self.limits.cost is not None and sum(map(self._prices.of, conversation.spent)) >= self.limits.cost:
            return "cost"
        return None

    def _last_call(self, conversation: Conversation, steps: int, limit: str, complaints: int) -> Ended:
        """At the step limit the model is asked once more, without tools; time and money are simply over."""
        if limit != "steps":
            return Ended("", steps, limit, complaints)
        conversation.add(Message("user", LAST_CALL, kind="task"))
        answer = conversation.ask()
        for call in answer.tool_calls:  # asked for all the same: the history must stay legal
            conversation.add(self.dialogue.result(_error(call, "not run: the limit of this task is reached")))
        turn = self.dialogue.read(replace(answer, tool_calls=()), ())
        return Ended(turn.answer or "", steps + 1, limit, complaints)


def _error(call: ToolCall, text: str) -> Message:
    return Message("tool", f"error: {text}", tool_call_id=call.id, name=call.name, is_error=True)
