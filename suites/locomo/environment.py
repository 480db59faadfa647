"""LoCoMo live: a conversation of many sessions goes through the memory first, then its questions are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentmem.messages import Message, Role
from harness.errors import UnknownName, UsageError
from harness.protocols import Environment, SuiteContext
from harness.types import Episode, Outcome, Task
from suites.answering import Answering
from suites.errata import load_errata
from suites.locomo.prompt import REFUSAL
from suites.locomo.score import score
from suites.locomo.tasks import MINUTE, Conversation, Sitting, load


class LoCoMo:
    """Option ``categories``: the categories that are asked, such as ``1+2+4`` (default: all)."""

    name = "locomo"
    clustered = True  # a session never mixes two conversations
    controls = ("no-context", "refusal")

    def __init__(self, context: SuiteContext) -> None:
        loaded = load(context.data)
        self.errata = load_errata(self.name)
        self.sha256 = {**loaded.sha256, f"errata {self.errata.version}": self.errata.sha256}
        self._mode = context.mode
        try:
            wanted = {int(part) for part in context.options.get("categories", "1+2+3+4+5").split("+")}
        except ValueError:
            raise UsageError("--option categories takes numbers joined by +, such as 1+2+4") from None
        self._questions = {one.id: one for one in loaded.records if one.category in wanted}

    def tasks(self) -> Sequence[Task]:
        """The questions, conversation by conversation."""
        return [question.task() for question in self._questions.values()]

    def episodes(self, task: Task) -> Sequence[Episode]:
        """The sessions of the conversation, oldest first."""
        conversation = self._questions[task.id].conversation
        return [
            Episode(f"{conversation.id}/session_{sitting.number}", turns(conversation, sitting))
            for sitting in conversation.sittings
        ]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Takes the answer."""
        return Answering(lambda answer: score(answer, self._questions[task.id].row, mode=self._mode))

    def control(self, name: str, task: Task) -> Outcome:
        """An agent that always says that it was not mentioned."""
        if name != "refusal":
            raise UnknownName("control", name, self.controls)
        outcome = score(REFUSAL, self._questions[task.id].row, mode=self._mode)
        return replace(outcome, detail={**outcome.detail, "answer": REFUSAL})

    def corrected(self, task: str, answer: str) -> Outcome:
        """The outcome of an answer with the corrected gold answer. Raises ``DataError`` where the errata were written
        for another question."""
        row = self._questions[task].row
        return score(answer, self.errata.mend(task, row["question"], row), mode=self._mode)


def turns(conversation: Conversation, sitting: Sitting) -> tuple[Message, ...]:
    """A session as messages: the first speaker of the conversation as the user, the other as the assistant.

    Every turn carries its date and speaker, so that it can be understood alone; pictures appear as their caption.
    A memory learns the time too, a minute a turn, so that "last week" means the week before that day.
    """
    messages, start = [], sitting.start
    for place, turn in enumerate(sitting.turns):
        picture = f" [shares a picture: {turn.caption}]" if turn.caption else ""
        text = f"[{sitting.date}] {turn.speaker}: {turn.text}{picture}"
        role: Role = "user" if turn.speaker == conversation.speakers[0] else "assistant"
        messages.append(Message(role, text, raw={"timestamp": start + place * MINUTE}))
    if messages and messages[0].role == "assistant":  # a history has to begin with a user
        joins = f"[{sitting.date}] {conversation.speakers[0]} joins."
        messages.insert(0, Message("user", joins, raw={"timestamp": start}))
    return tuple(messages)
