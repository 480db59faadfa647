"""LongMemEval live: dated chats go through the memory first, then one question is asked and judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentmem.messages import Message
from harness.errors import UnknownName, UsageError
from harness.protocols import Environment, SuiteContext
from harness.types import Episode, Outcome, Probe, Task
from suites.answering import Answering
from suites.judging import judge_templates
from suites.longmemeval.judge import TEMPLATES, judge_prompt
from suites.longmemeval.score import label, score
from suites.longmemeval.tasks import Question, load

REFUSAL = "I do not know; this was not mentioned in our conversations."


class LongMemEval:
    """Needs a judge. Options: ``file``, another file of the data folder than the first found; ``judge_prompts``, a
    folder."""

    name = "longmemeval"
    clustered = True  # every question has its own history
    controls = ("no-context", "refusal")

    def __init__(self, context: SuiteContext) -> None:
        loaded = load(context.data, context.cache, file=context.options.get("file"))
        self._templates, prompts = judge_templates(context.options, TEMPLATES)
        self.sha256 = {**loaded.sha256, **prompts}
        self._context = context
        self._questions = {one.id: one for one in loaded.records}

    def tasks(self) -> Sequence[Task]:
        """The questions in file order."""
        return [question.task() for question in self._questions.values()]

    def episodes(self, task: Task) -> Sequence[Episode]:
        """The chats of the question, oldest first, the date in front of each."""
        return [Episode(chat.id, dated(chat.date, chat.messages)) for chat in self._questions[task.id].history]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Takes the answer."""
        return Answering(lambda answer: self._score(self._questions[task.id], answer))

    def control(self, name: str, task: Task) -> Outcome:
        """An agent that never knows: right for the questions that cannot be answered."""
        if name != "refusal":
            raise UnknownName("control", name, self.controls)
        return self._score(self._questions[task.id], REFUSAL)

    def probes(self) -> list[Probe]:
        """Ten gold answers, and the same questions with a refusal for an answer."""
        found = []
        for question in [one for one in self._questions.values() if not one.abstention][:10]:
            for answer, right in ((question.answer, True), (REFUSAL, False)):
                prompt, _ = judge_prompt(
                    question.type, question.question, question.answer, answer, templates=self._templates
                )
                found.append(Probe(f"{question.id}/{right}", (Message("user", prompt),), right))
        return found

    def read_verdict(self, reply: str) -> bool | None:
        """The strict reading of a reply."""
        return label(reply, "guarded")

    def _score(self, question: Question, answer: str) -> Outcome:
        judge = self._context.judge
        if judge is None:
            raise UsageError("suite longmemeval needs a judge: --judge MODEL")
        return score(answer, question.row, judge=judge, mode=self._context.mode, templates=self._templates)


def dated(date: str, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages of a chat, its date in front of the first one of each speaker; a memory learns it of all of them."""
    moment = f"{date[:10].replace('/', '-')}T{date[-5:]}"  # 2023/05/30 (Tue) 12:00
    seen: set[str] = set()
    found = []
    for message in messages:
        first = message.role not in seen
        seen.add(message.role)
        content = f"[{date}] {message.content}" if first else message.content
        found.append(replace(message, content=content, raw={"timestamp": moment}))
    return tuple(found)
