"""One session as it is played live: its history, the engine in front of the model, a ledger row for every request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import Counter
from harness import lint
from harness.errors import ModelFailed, PromptTooLong
from harness.ledger import Prompts
from harness.needs import Judge, Support, task_needs
from harness.protocols import ContextEngine, Model
from harness.types import Attempt, Call, Episode, Purpose, Step, Usage


class Conversation:
    """The history of one session of one arm. It only grows; the engine decides what of it is sent.

    ``told`` says whether the engine learns where tasks begin.
    """

    def __init__(
        self, arm: str, session: str, engine: ContextEngine, model: Model, counter: Counter, *, told: bool = True
    ) -> None:
        self.arm = arm
        self.session = session
        self.engine = engine
        self.model = model
        self.history: list[Message] = []
        self.fallbacks: set[str] = set()
        self._told = told
        self._prompts = Prompts(counter)
        self._needs = Judge(counter, engine.evidence)
        self._number = 0
        self._task = ""
        self._position = 0
        self._start = 0
        self._calls: list[Call] = []
        self._asked: list[_Asked] = []

    def begin_task(self, task: str, position: int) -> None:
        """Requests from now on are charged to this task."""
        self._task, self._position = task, position
        self._calls, self._asked = [], []
        self._start = len(self.history)

    def open_task(self, earlier: Sequence[Episode] = ()) -> None:
        """The next message opens the task. ``earlier`` chats go through the memory first, at the task's charge."""
        for episode in earlier:
            self._boundary(episode.id)
            for message in episode.messages:
                self.add(message)
        self._boundary(self._task)
        self._start = len(self.history)

    def add(self, message: Message) -> None:
        """Put a message behind the history; the engine sees it first."""
        self.history.append(message)
        self.engine.observe(message)

    def ask(self, tools: Sequence[Mapping[str, Any]] = ()) -> Message:
        """The model's answer to what the engine makes of the history; it is added to the history.

        A prompt that the server finds too long goes back to the engine once. Raises ``ModelFailed`` and
        ``LintError``; every request that was made is in the ledger either way.
        """
        prompt, tokens, cached = self._assemble()
        try:
            step = self._complete(prompt, tools)
        except PromptTooLong as error:
            prompt, tokens, cached = self._compressed(tokens, error)
            step = self._complete(prompt, tools)
        self._asked.append(_Asked(len(self._calls), len(self.history) - self._start, prompt, tokens))
        self._row("agent", _with_cached(step.usage, cached), len(prompt))
        self.fallbacks.update(step.fallbacks)
        self.add(step.message)
        return step.message

    def end_task(self) -> list[Call]:
        """The rows of the task, the engine's own calls among them, with what each action needed."""
        self._charge_memory()
        messages = self.history[self._start :]
        needs = task_needs(messages)
        for asked in self._asked:
            found = self._needs.support(needs.get(asked.index, ()), messages, asked.prompt, asked.tokens)
            self._calls[asked.row] = _with_support(self._calls[asked.row], found)
        return list(self._calls)

    def charge(self, purpose: Purpose, usage: Usage, error: str | None = None) -> None:
        """A row for a request that somebody else made for this task, such as a judge."""
        self._row(purpose, usage, 0, error)

    def charge_failed(self, attempts: Sequence[Attempt]) -> None:
        """Rows for requests of the engine's own model that gave no answer."""
        for attempt in attempts:
            self._row("memory", attempt.usage, 0, attempt.error)

    @property
    def judged(self) -> int:
        """Requests made to a judge in this task so far."""
        return sum(call.purpose == "judge" for call in self._calls)

    @property
    def spent(self) -> list[Usage]:
        """What the agent's requests of this task have used so far."""
        return [call.usage for call in self._calls if call.purpose == "agent"]

    def _boundary(self, name: str) -> None:
        if self._told:
            self.engine.begin_task(name)

    def _assemble(self) -> tuple[Sequence[Message], int, int]:
        """A legal prompt, its tokens, and those of the part that stood in the prompt before."""
        prompt = self.engine.assemble(self.history)
        lint.check(self.arm, prompt, self.history)
        self._charge_memory()
        return prompt, *self._prompts.count(prompt)

    def _compressed(self, before: int, error: PromptTooLong) -> tuple[Sequence[Message], int, int]:
        self.engine.overflow(before)
        prompt, tokens, cached = self._assemble()
        if tokens >= before:
            raise ModelFailed(f"{error}; the engine could not shorten its prompt of {before} tokens") from error
        return prompt, tokens, cached

    def _complete(self, prompt: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Step:
        try:
            step = self.model.complete(prompt, tools)
        except ModelFailed as error:
            self._failed(error.failed, len(prompt))
            raise
        self._failed(step.failed, len(prompt))
        return step

    def _failed(self, attempts: Sequence[Attempt], messages: int) -> None:
        for attempt in attempts:
            self._row("agent", attempt.usage, messages, attempt.error)

    def _charge_memory(self) -> None:
        for usage in self.engine.spent():
            self._row("memory", usage, 0)

    def _row(self, purpose: Purpose, usage: Usage, messages: int, error: str | None = None) -> None:
        self._calls.append(
            Call(
                self.arm, self.session, self._task, self._position, self._number, purpose, usage, messages, error=error
            )
        )
        self._number += 1


class _Asked:
    """A prompt as it was sent: the row of its call, the index of its answer in the task."""

    __slots__ = ("index", "prompt", "row", "tokens")

    def __init__(self, row: int, index: int, prompt: Sequence[Message], tokens: int) -> None:
        self.row, self.index, self.prompt, self.tokens = row, index, prompt, tokens


def _with_cached(usage: Usage, cached: int) -> Usage:
    """Where nobody reports usage and we count the prompt, its cached part is counted as in a replay. A server that
    reports its prompts and no cache is left as it is: what it caches is not known."""
    if usage.cached is not None or usage.prompt_from != "counted":
        return usage
    return replace(usage, cached=min(cached, usage.prompt or 0), cached_from="counted")


def _with_support(call: Call, found: Support) -> Call:
    return replace(
        call,
        needs=found.needs,
        missing=found.missing,
        lost=found.lost,
        repairs=found.repairs,
        repair_calls=found.repair_calls,
        fetched=found.fetched,
    )
