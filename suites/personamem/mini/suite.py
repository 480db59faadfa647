"""The suite as the harness plays it: chats go through the memory first, each question at its place among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agentmem.messages import Message
from harness.errors import UnknownName
from harness.protocols import Environment, SuiteContext
from harness.types import Episode, Outcome, Task
from suites.answering import Answering
from suites.mini_agents.player import Player
from suites.personamem.mini.agent import is_request, policy
from suites.personamem.mini.generate import MiniQuestion, generate
from suites.personamem.request import FINAL, question_text
from suites.personamem.score import score

NAME = "personamem-mini"
SYSTEM = "You are an assistant who has known the user for a long time and remembers what was said."
DEFAULTS = {"seed": 0, "personas": 2, "each": 12}


class PersonaMemMini:
    """Options: ``seed``, ``personas``, ``each`` (questions of a persona). A session never mixes personas."""

    name = NAME
    clustered = True
    controls = ("gold option", "longest option", "no answer")

    def __init__(self, context: SuiteContext) -> None:
        seed, personas, each = (int(context.options.get(key, some)) for key, some in DEFAULTS.items())
        self._mode = context.mode
        self._personas = {persona.name: persona for persona in generate(seed, personas, each)}
        self._questions = {one.id: one for persona in self._personas.values() for one in persona.questions}

    def tasks(self) -> Sequence[Task]:
        """The questions, persona by persona, in the order in which they are asked."""
        return [_task(question) for question in self._questions.values()]

    def script(self, tasks: Sequence[str]) -> Callable[..., Message]:
        """The scripted agent for one session."""
        return Player(policy, is_request)

    def episodes(self, task: Task) -> Sequence[Episode]:
        """The chats before the question."""
        question = self._questions[task.id]
        chats = self._personas[question.persona].chats[: question.after]
        return [Episode(f"{question.persona}/chat-{number:02d}", chat) for number, chat in enumerate(chats)]

    def environment(self, task: Task, folder: Path) -> Environment:
        """Takes the answer."""
        return Answering(lambda answer: score(answer, self._questions[task.id].answer, mode=self._mode))

    def control(self, name: str, task: Task) -> Outcome:
        """The right option, the longest one, or a reply that chooses none."""
        question = self._questions[task.id]
        longest = max(range(len(question.choices)), key=lambda index: len(question.choices[index]))
        replies = {
            "gold option": f"{FINAL} {question.answer}",
            "longest option": f"{FINAL} ({'abcd'[longest]})",
            "no answer": "It is not for me to say.",
        }
        if name not in replies:
            raise UnknownName("control", name, replies)
        return score(replies[name], question.answer, mode=self._mode)


def _task(question: MiniQuestion) -> Task:
    request = question_text(question.question, question.options)
    prompt = (Message("system", SYSTEM), Message("user", request, kind="task"))
    return Task(question.id, NAME, prompt, {"question_type": question.kind}, question.persona)
