"""Turns one run as recorded into a history every provider accepts, without losing a tool output.

A result belongs to the latest answer of the model: by id, or without ids by name and arguments, or in order. What
cannot be paired stays as a user message of kind "observation"; a call nobody answered gets ``NO_RESULT``.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.trajectories.draft import Draft

NO_RESULT = "(no result was recorded)"
NO_MESSAGE = "(no message was recorded)"
OUTSIDE = frozenset({"submission", "judge"})  # never in the agent's conversation, and left out of a replay

REPAIRS = {
    "unanswered": f"tool calls have no result in front of the next answer and were answered with {NO_RESULT!r}",
    "unmatched": "tool results answer no call of the message before them and are kept as user messages",
    "gaps": f"answers follow no message of their own and were given {NO_MESSAGE!r}",
    "systems": "system messages after the first were left out",
    "renamed": "tool calls had no id, or one that was used before, and were given a new one",
}


def legal(draft: Draft, run: str) -> tuple[tuple[Message, ...], Counter[str]]:
    """The messages of a draft as a legal history, and how often each of ``REPAIRS`` was needed.

    ``run`` is the id of the trajectory; ids for calls without one are derived from it.
    """
    weaver = _Weaver(run)
    for index, message in enumerate(_with_task(draft.messages)):
        weaver.add(message, draft.arguments.get(index))
    return weaver.finish(), weaver.repairs


def _with_task(messages: list[Message]) -> list[Message]:
    """The first thing a person said is the task, where the record does not say which message is."""
    if any(message.kind == "task" for message in messages):
        return messages
    for index, message in enumerate(messages):
        if message.role == "user" and message.kind is None:
            return [*messages[:index], replace(message, kind="task"), *messages[index + 1 :]]
    return messages


class _Weaver:
    """Adds one message after the other; between an answer with calls and its results nothing else may stand."""

    def __init__(self, run: str) -> None:
        self.repairs: Counter[str] = Counter()
        self._run = run
        self._system: Message | None = None
        self._out: list[Message] = []
        self._last: str | None = None  # role of the last message that is part of the conversation
        self._open: list[tuple[str, ToolCall]] = []  # unanswered calls of the latest answer, by recorded id
        self._late: list[Message] = []  # what came between a call and its result
        self._ids: set[str] = set()

    def add(self, message: Message, arguments: Any) -> None:
        """Take the next recorded message; ``arguments`` are those recorded beside a tool result."""
        if message.role == "system":
            if self._system is None:
                self._system = message
            else:
                self.repairs["systems"] += 1
        elif message.kind in OUTSIDE:
            self._put(message)
        elif message.role == "assistant":
            self._answer(message)
        elif message.role == "tool":
            self._result(message, arguments)
        else:
            self._put(message)

    def finish(self) -> tuple[Message, ...]:
        """Everything taken. Calls of the very last answer have no result by nature: the run ended with them."""
        self._close()
        return (self._system, *self._out) if self._system is not None else tuple(self._out)

    def _put(self, message: Message) -> None:
        if self._open:
            self._late.append(message)
        else:
            self._append(message)

    def _append(self, message: Message) -> None:
        self._out.append(message)
        if message.kind not in OUTSIDE:
            self._last = message.role

    def _answer(self, message: Message) -> None:
        self.repairs["unanswered"] += len(self._open)
        self._close()
        if self._last in (None, "assistant"):
            self.repairs["gaps"] += 1
            self._append(Message("user", NO_MESSAGE, kind="task" if self._last is None else "observation"))
        named = [(call.id, self._named(call)) for call in message.tool_calls]
        if any(recorded != call.id for recorded, call in named):
            message = replace(message, tool_calls=tuple(call for _, call in named))
        self._append(message)
        self._open = named

    def _named(self, call: ToolCall) -> ToolCall:
        """The call with an id of its own: strict providers refuse an empty one and one used twice."""
        if call.id and call.id not in self._ids:
            self._ids.add(call.id)
            return call
        self.repairs["renamed"] += 1
        stem = f"call_{hashlib.sha256(self._run.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        number = self.repairs["renamed"]
        while f"{stem}_{number}" in self._ids:
            number += 1
        self._ids.add(f"{stem}_{number}")
        return replace(call, id=f"{stem}_{number}")

    def _result(self, message: Message, arguments: Any) -> None:
        index = self._match(message, arguments)
        if index is None:
            self.repairs["unmatched"] += 1
            self._put(replace(message, role="user", tool_call_id=None, kind="observation"))
            return
        _, call = self._open.pop(index)
        self._append(replace(message, tool_call_id=call.id, name=call.name))
        if not self._open:
            self._close()

    def _match(self, message: Message, arguments: Any) -> int | None:
        """The place among the open calls that a result answers. Other arguments mean another call."""
        for index, (recorded, call) in enumerate(self._open):
            if message.tool_call_id is not None:
                fits = recorded == message.tool_call_id
            else:
                fits = message.name in (None, call.name) and (arguments is None or _same(call.arguments, arguments))
            if fits:
                return index
        return None

    def _close(self) -> None:
        for _, call in self._open:
            pad = Message("tool", NO_RESULT, tool_call_id=call.id, name=call.name, kind="observation")
            self._append(pad)
        self._open = []
        late, self._late = self._late, []
        for message in late:
            self._append(message)


def _same(written: str, recorded: Any) -> bool:
    """True when the arguments a model wrote are the ones recorded beside a result."""
    if written == recorded:
        return True
    try:
        return bool(json.loads(written) == recorded)
    except ValueError:
        return False
