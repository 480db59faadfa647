"""Scripted judges: they give fixed replies in order and keep what they were asked."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.messages import Message
from harness.errors import JudgeFailed, ModelRefused


class Scripted:
    """Gives one reply after the other, the last one for ever; ``None`` is a judge that is down."""

    def __init__(self, *replies: str | None) -> None:
        self.replies = list(replies)
        self.heard: list[tuple[Message, ...]] = []

    def ask(self, messages: Sequence[Message]) -> str:
        self.heard.append(tuple(messages))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply is None:
            raise JudgeFailed("scripted: down")
        return reply


class Refused:
    """A judge whose key is wrong."""

    def ask(self, messages: Sequence[Message]) -> str:
        raise ModelRefused("scripted: wrong key")
