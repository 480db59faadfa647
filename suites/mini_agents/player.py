"""Plays a policy as a model: it answers a prompt and the tools offered with an assistant message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentmem.messages import Message, ToolCall
from suites.mini_agents.moves import Ask, Done, Policy
from suites.mini_agents.view import view_of

REPEATS = 4  # so often may a call be made again in one task
CALLS = 60
GIVE_UP = "I looked this up and no longer have it. I cannot answer."


class Player:
    """One conversation. It keeps what it has asked for in the task at hand, to know when to give up, and no fact."""

    def __init__(self, policy: Policy, is_request: Callable[[str], bool]) -> None:
        self._policy = policy
        self._is_request = is_request
        self._request = ""
        self._made = 0
        self._given: set[str] = set()
        self._repeats = 0
        self._answers = 0

    def __call__(self, prompt: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        """The answer to a prompt."""
        view = view_of(prompt, tools, self._is_request, self._repeats)
        if view.request != self._request:
            self._request, self._repeats, self._answers = view.request, 0, 0
            self._given.clear()
            view = view_of(prompt, tools, self._is_request)
        move = self._policy(view)
        if isinstance(move, Done):
            return Message("assistant", move.answer)
        self._count(move)
        if self._repeats > REPEATS or self._answers > CALLS:
            return Message("assistant", GIVE_UP)
        return Message("assistant", move.why, tool_calls=tuple(self._call(*call) for call in move.calls))

    def _count(self, move: Ask) -> None:
        keys = [json.dumps(call, sort_keys=True) for call in move.calls]
        self._answers += 1
        self._repeats += all(key in self._given for key in keys)
        self._given.update(keys)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        self._made += 1  # ids are unique in the conversation
        return ToolCall(f"call_{self._made:05d}", name, json.dumps(arguments, ensure_ascii=False))
