"""The messages of one session as the page gets them: each text once, long texts of earlier tasks by their beginning."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import TokenCounter
from harness.replay import PreparedTask

HEAD = 240  # characters kept of a text that is cut
MOST = 60_000  # characters of one text that are ever kept


class Pool:
    """Recorded messages by their place in the session; messages an engine made stand behind them, each once.

    ``starts`` holds the place at which each task begins.
    """

    def __init__(self, tasks: Sequence[PreparedTask], counter: TokenCounter) -> None:
        self._counter = counter
        self._messages = [message for task in tasks for message in task.messages]
        self._recorded = {id(message): place for place, message in enumerate(self._messages)}
        self._made: dict[Message, int] = {}
        self._texts: dict[str, int] = {}
        self.starts = list(accumulate((len(task.messages) for task in tasks), initial=0))[: len(tasks)]
        self._names = [task.trajectory.id for task in tasks]

    def place(self, message: Message) -> int:
        """The place of a message, recorded or made."""
        found = self._recorded.get(id(message))
        if found is not None:
            return found
        return self._made.setdefault(message, len(self._messages) + len(self._made))

    def _number(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def record(
        self, chosen: set[str], evidence: Mapping[str, Mapping[str, tuple[str, bool]]], whole: int
    ) -> dict[str, Any]:
        """Everything packed: columns over all messages, the texts, and the full length of those that are cut.

        Texts of the chosen tasks, of the engines and behind pointers of prompts are kept whole; those of other tasks,
        from the newest back, and behind pointers of other texts, while ``whole`` characters last.
        """
        everything = [*self._messages, *self._made]
        for message in self._kept_first(chosen):
            self._number(shown(message))
        behind = [pair for found in evidence.values() for pair in found.values()]
        for text in (text for text, direct in behind if direct):
            self._number(text)
        important = len(self._texts)
        for message in reversed(self._messages):
            self._number(shown(message))
        pointers = {
            arm: {ref: self._number(text) for ref, (text, _) in found.items()} for arm, found in evidence.items()
        }
        numbers = [self._texts[shown(message)] for message in everything]
        texts, cut = _shortened(list(self._texts), important, whole)
        return {
            "history": len(self._messages),
            "names": self._names,
            "starts": self.starts,
            "role": [message.role for message in everything],
            "kind": [message.kind for message in everything],
            "result": [int(message.is_result) for message in everything],
            "tokens": [self._counter.message(message) for message in everything],
            "text": numbers,
            "refs": {str(place): message.refs for place, message in enumerate(everything) if message.refs},
            "texts": texts,
            "evidence": pointers,
            "cut": cut,
        }

    def _kept_first(self, chosen: set[str]) -> list[Message]:
        stops = [*self.starts[1:], len(self._messages)]
        spans = zip(self._names, self.starts, stops, strict=True)
        return [
            *(message for name, start, stop in spans if name in chosen for message in self._messages[start:stop]),
            *self._made,
        ]


def shown(message: Message) -> str:
    """A message as a person reads it: its content, and its tool calls one a line."""
    calls = [f"→ {call.name}({_arguments(call.arguments)})" for call in message.tool_calls]
    return "\n".join(filter(None, [message.content, *calls]))


def _arguments(text: str) -> str:
    try:
        decoded = json.loads(text)
    except ValueError:
        return text
    if not isinstance(decoded, dict):
        return text
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in decoded.items()
    )


def _shortened(texts: list[str], important: int, whole: int) -> tuple[list[str], dict[str, int]]:
    cut: dict[str, int] = {}
    for number, text in enumerate(texts):
        most = MOST
        if number >= important:
            whole -= len(text)
            most = MOST if whole >= 0 else HEAD
        if len(text) > most:
            cut[str(number)] = len(text)
            texts[number] = text[:most]
    return texts, cut
