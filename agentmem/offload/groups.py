"""Which messages must go together: a call with all its results, wherever they stand."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.messages import Message


class Grouping:
    """Names the leader of each message's group as the messages come in.

    A result belongs to the nearest call in front of it that asked for its id; one without an id (a text protocol)
    to the group of the message in front of it; one whose call is missing stands alone. Everything else leads its
    own group. Leaders are named by their number, counted from 0.
    """

    def __init__(self) -> None:
        self._callers: dict[str, int] = {}
        self._spelled: dict[str, int] = {}  # the same without underscores, which some hosts leave out
        self._last = -1
        self._number = -1

    def add(self, message: Message) -> int:
        """The leader's number for the next message."""
        self._number += 1
        leader = self._number
        if message.is_result:
            if message.tool_call_id is not None:
                exact = self._callers.get(message.tool_call_id)
                leader = self._spelled.get(_bare(message.tool_call_id), leader) if exact is None else exact
            elif self._last >= 0:
                leader = self._last
        for call in message.tool_calls:
            self._callers[call.id] = leader
            self._spelled[_bare(call.id)] = leader
        self._last = leader
        return leader


def _bare(call: str) -> str:
    return call.replace("_", "")


def is_closed(messages: Sequence[Message]) -> bool:
    """True when every call has exactly its results and every result its call in front of it."""
    open_calls: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                return False
            open_calls.remove(message.tool_call_id or "")
        open_calls += [call.id for call in message.tool_calls]
    return not open_calls
