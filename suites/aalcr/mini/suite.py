"""The suite as the harness plays it: the environment and the scorer of AA-LCR, a judge that compares values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agentmem.messages import Message
from harness.errors import JudgeFailed, UnknownName
from harness.protocols import Environment, SuiteContext
from harness.types import Outcome, Task
from suites.aalcr.environment import REFUSAL, SYSTEM, Documents
from suites.aalcr.mini.agent import is_request, policy
from suites.aalcr.mini.generate import MiniQuestion, generate
from suites.aalcr.score import RIGHT, WRONG, score
from suites.answering import Library
from suites.mini_agents.player import Player

NAME = "aalcr-mini"
DEFAULTS = {"seed": 0, "sets": 4, "each": 4}
PAGE = 2_400  # characters: a few hundred tokens, so that a document takes several results
JUDGED_BY = "embedded judge: the value, exactly"
_PARTS = re.compile(r"Official answer:\n(.*?)\n\nCandidate answer:\n(.*)\n\nReply with one word", re.DOTALL)
_NUMBER = re.compile(r"\d[\d,]*")


class ExactJudge:
    """No model: right is an answer whose only number is the one of the official answer. Reads protocol 1.0."""

    def ask(self, messages: Sequence[Message]) -> str:
        """The verdict. Raises ``JudgeFailed`` for a prompt of other words than ours."""
        found = _PARTS.search(messages[-1].content)
        if found is None:
            raise JudgeFailed("the embedded judge reads only the prompt of protocol 1.0 in our words")
        gold, answer = (set(_NUMBER.findall(part)) for part in found.groups())
        return RIGHT if gold == answer else WRONG


class AaLcrMini:
    """Options: ``seed``, ``sets`` (document sets), ``each`` (questions a set). ``context.judge`` goes before ours."""

    name = NAME
    controls = ("gold answer", "refusal")

    def __init__(self, context: SuiteContext) -> None:
        seed, sets, each = (int(context.options.get(key, some)) for key, some in DEFAULTS.items())
        self._questions = {one.id: one for one in generate(seed, sets, each)}
        self._context = context
        self._libraries: dict[str, Library] = {}

    def tasks(self) -> Sequence[Task]:
        """The questions, set by set."""
        return [_task(question) for question in self._questions.values()]

    def script(self, tasks: Sequence[str]) -> Callable[..., Message]:
        """The scripted agent for one session."""
        return Player(policy, is_request)

    def environment(self, task: Task, folder: Path) -> Environment:
        """Tools over the documents of the question's set."""
        question = self._questions[task.id]
        library = self._libraries.get(question.set_id)
        if library is None:
            library = self._libraries[question.set_id] = Library(question.documents, PAGE)
        return Documents(library, lambda answer: self._score(question, answer))

    def control(self, name: str, task: Task) -> Outcome:
        """Grade the gold answer, or an agent that says that the documents do not say."""
        question = self._questions[task.id]
        answers = {"gold answer": question.answer, "refusal": REFUSAL}
        if name not in answers:
            raise UnknownName("control", name, answers)
        return self._score(question, answers[name])

    def _score(self, question: MiniQuestion, answer: str) -> Outcome:
        judge = self._context.judge or ExactJudge()
        outcome = score(answer, question.question, question.answer, judge=judge, mode=self._context.mode)
        if self._context.judge is not None:
            return outcome
        return replace(outcome, detail={**outcome.detail, "judged_by": JUDGED_BY})


def _task(question: MiniQuestion) -> Task:
    text = f"Answer this question from the documents.\n\n{question.question}"
    prompt = (Message("system", SYSTEM), Message("user", text, kind="task"))
    return Task(question.id, NAME, prompt, {"document_set_id": question.set_id}, question.set_id)
