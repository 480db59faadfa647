"""The scripted agent as a model in a live session: prompts are put before it in the form it reads, a task at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentmem.messages import Message, ToolCall
from suites.mini_agents.moves import Drill, drill_of
from suites.mini_agents.view import view_of
from suites.swebench.mini.agent import ScriptedAgent
from suites.swebench.mini.prompts import SUBMIT
from suites.swebench.mini.tasks import MiniTask
from suites.swebench.mini.view import command_of

OPENS = "<issue>"


class Script:
    """Plays the tasks of one session. The task at hand is the one whose issue the last request holds.

    A pointer is followed with the tool the engine offers for it; without one, commands are given again.
    """

    def __init__(self, tasks: Sequence[MiniTask]) -> None:
        self._tasks = tasks
        self._agent: ScriptedAgent | None = None
        self._request = ""
        self._made = 0
        self._drills = 0
        self._prompt: Sequence[Message] = ()
        self._drill: Drill | None = None

    def __call__(self, prompt: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        """The answer to a prompt: a tool call, a fenced command where no tools travel in the request, or the end."""
        view = view_of(prompt, tools, lambda text: OPENS in text)
        if self._agent is None or view.request != self._request:
            self._request, self._drills = view.request, 0
            task = next(task for task in self._tasks if task.problem_statement.strip() in view.request)
            self._agent = ScriptedAgent(task, self._fetch)
        self._prompt, self._drill = prompt, drill_of(view.tools)
        try:
            answer = self._agent.next(list(as_text(_current(prompt))))
        except _Follow as follow:
            return Message("assistant", "There is a pointer to what I look for.", (self._call(*follow.call),))
        command = command_of(answer)
        if not tools:
            return answer
        said = answer.content.partition("\n\n```bash\n")[0]
        if command == SUBMIT:
            return Message("assistant", said)
        return Message("assistant", said, (self._call("bash", {"command": command}),))

    def _fetch(self, ref: str) -> str:
        """What the prompt shows behind a pointer; asks for it when it shows nothing, within a limit."""
        if self._drill is None:
            raise LookupError(ref)
        shown = [
            text for arguments, text in _results(self._prompt, self._drill.name) if arguments[self._drill.ref] == ref
        ]
        if shown:
            return shown[-1]
        self._drills += 1
        if self._drills > DRILLS:
            raise LookupError(ref)
        raise _Follow(self._drill.call(ref, None))

    def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        self._made += 1
        return ToolCall(f"call_{self._made:05d}", name, json.dumps(arguments, ensure_ascii=False))


DRILLS = 8  # so many pointers may be followed in one task


class _Follow(Exception):
    def __init__(self, call: tuple[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self.call = call


def as_text(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with calls of ``bash`` as fenced commands and results as observations; other calls are left out."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in messages:
        shell = [call for call in message.tool_calls if call.name == "bash"]
        if shell:
            command = json.loads(shell[0].arguments)["command"]
            yield Message("assistant", f"{message.content}\n\n```bash\n{command}\n```", refs=message.refs)
        elif message.role != "tool" and not message.tool_calls:
            yield message
        elif message.role == "tool" and calls[message.tool_call_id or ""].name == "bash":
            yield replace(message, role="user", kind="observation", tool_call_id=None, name=None)


def _current(prompt: Sequence[Message]) -> Sequence[Message]:
    """What follows on the last request."""
    starts = [i for i, m in enumerate(prompt) if m.role == "user" and OPENS in m.content and not m.is_result]
    return prompt[starts[-1] + 1 :]


def _results(prompt: Sequence[Message], tool: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    calls = {call.id: call for message in prompt for call in message.tool_calls if call.name == tool}
    for message in prompt:
        call = calls.get(message.tool_call_id or "")
        if call is not None and message.role == "tool":
            yield json.loads(call.arguments), message.content
