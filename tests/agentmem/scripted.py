"""A language model at the network's edge: answers in order, or raises what stands in the list."""

from __future__ import annotations

from agentmem.llm.protocol import Ask, Attempt, Reply


class Scripted:
    """Answers are used up in order; the last one is repeated when ``again`` is True."""

    name = "scripted"

    def __init__(self, *answers: str | Exception, again: bool = False) -> None:
        self.answers = list(answers)
        self.again = again
        self.asked: list[Ask] = []

    def ask(self, request: Ask) -> Reply:
        self.asked.append(request)
        answer = self.answers[0] if self.again and len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer)

    def spent(self) -> list[Attempt]:
        return []
