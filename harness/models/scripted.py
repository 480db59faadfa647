"""Models without a server: a list of answers, or a function of the prompt. Their tokens are counted, never reported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import Counter
from harness.errors import ModelFailed
from harness.models.usage import counted_usage
from harness.types import Session, Step, Task

Script = Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], Message]


class Scripted:
    """Answers with what ``script`` makes of the prompt and the tools offered."""

    def __init__(self, name: str, script: Script, counter: Counter) -> None:
        self.name = name
        self._script = script
        self._counter = counter

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Step:
        """The script's answer."""
        answer = self._script(messages, tools)
        return Step(answer, counted_usage(messages, answer, self._counter), finish="stop", seconds=0.0)


class PerSession:
    """A scripted model that begins anew in each session: ``make`` gets the ids of the tasks that are left in it."""

    def __init__(self, name: str, make: Callable[[Sequence[str]], Script], counter: Counter) -> None:
        self.name = name
        self._make = make
        self._counter = counter

    def for_session(self, session: Session[Task], position: int) -> Scripted:
        """The model of one conversation."""
        return Scripted(self.name, self._make([task.id for task in session.tasks[position:]]), self._counter)

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Step:
        """Never asked itself."""
        raise ModelFailed(f"{self.name} answers only within a session")


def playlist(answers: Iterable[Message]) -> Script:
    """A script that gives the answers one after another. Raises ``ModelFailed`` when there are no more."""
    left = iter(answers)
    lock = threading.Lock()

    def play(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        with lock:
            answer = next(left, None)
        if answer is None:
            raise ModelFailed("the script has no answer left")
        return answer

    return play
