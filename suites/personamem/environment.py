"""PersonaMem live: the chats of a persona go through the memory first, each question at its place among them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from agentmem.messages import Message
from harness.errors import UnknownName
from harness.protocols import Environment, SuiteContext
from harness.types import Episode, Outcome, Task
from suites.answering import Answering
from suites.personamem.request import SYSTEM_PREFIX
from suites.personamem.score import score
from suites.personamem.tasks import Question, load


class PersonaMem:
    """Option ``size``: 32k (default), 128k or 1M."""

    name = "personamem"
    clustered = True
    ordered = True  # an earlier question must not see later chats
    controls = ("no-context", "longest option", "random")

    def __init__(self, context: SuiteContext) -> None:
        loaded = load(context.data, context.cache, size=context.options.get("size", "32k"))
        self.sha256 = loaded.sha256
        self._mode = context.mode
        # a question sees its chats up to a point, so those with less of them have to come first
        ordered = sorted(loaded.records, key=lambda one: len(one.context))
        self._questions = {one.id: one for one in ordered}
        self._cuts: dict[str, list[int]] = {}
        for one in ordered:
            cuts = self._cuts.setdefault(one.context_id, [0])
            if cuts[-1] != len(one.context):
                cuts.append(len(one.context))

    def tasks(self) -> Sequence[Task]:
        """The questions; those of one persona's context in the order in which they could be asked."""
        return [question.task() for question in self._questions.values()]

    def episodes(self, task: Task) -> Sequence[Episode]:
        """The context up to the question, in the parts that lie between two questions."""
        question = self._questions[task.id]
        cuts = [cut for cut in self._cuts[question.context_id] if cut <= len(question.context)]
        return [
            Episode(f"{question.context_id}[{start}:{end}]", chats(question.context[start:end]))
            for start, end in pairwise(cuts)
        ]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Takes the answer."""
        return Answering(lambda answer: score(answer, self._questions[task.id].answer, mode=self._mode))

    def control(self, name: str, task: Task) -> Outcome:
        """The longest option (options leak their length), or one drawn by the hash of the question's id."""
        question = self._questions[task.id]
        if name == "longest option":
            chosen = max(range(len(question.choices)), key=lambda index: len(question.choices[index]))
        elif name == "random":
            chosen = hashlib.sha256(question.id.encode()).digest()[0] % len(question.choices)
        else:
            raise UnknownName("control", name, self.controls)
        return score(f"<final_answer> ({'abcd'[chosen]})", question.answer, mode=self._mode)

    def question(self, task: str) -> Question:
        """The question behind a task id."""
        return self._questions[task]


def chats(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Earlier messages without system messages of their own: a conversation has one, and it is not theirs."""
    folded = [
        replace(message, role="user", content=SYSTEM_PREFIX + message.content) if message.role == "system" else message
        for message in messages
    ]
    return tuple(folded)
