"""Plays one live session: tasks in one conversation, each ended by a score or by a named error, never by neither."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentmem.errors import AgentMemError
from agentmem.messages import Message
from agentmem.tokens import Counter
from harness.agents.conversation import Conversation
from harness.agents.loop import Agent, Ended
from harness.engines.registry import build
from harness.errors import HarnessError, InvalidRun, ModelFailed, ModelRefused
from harness.judging import charged_to, combine
from harness.ledger import task_row
from harness.models.cassette import lane
from harness.models.embedding import ChargedEmbedder
from harness.protocols import EngineContext, Environment, Model, Suite
from harness.types import Arm, Call, Episode, Outcome, Session, Step, Task, TaskRow, Usage

if TYPE_CHECKING:
    from agentmem.embed.protocol import Embedder

NO_CONTEXT = "no-context"


@dataclass(frozen=True)
class Parts:
    """What a live session is played with. ``memory`` serves the engines' own calls, ``embedder`` makes what a session
    embeds with; either may be None."""

    suite: Suite
    agent: Agent
    model: Model
    counter: Counter
    window: int
    folder: Path
    memory: Model | None = None
    embedder: Callable[[], Embedder] | None = None
    boundaries: Literal["told", "judged"] = "told"
    judge_repeats: int = 1
    clock: Callable[[], float] = field(default=lambda: 0.0)


@dataclass(frozen=True, slots=True)
class Played:
    """One task that is over: its row, the rows of its requests, and its part of the history."""

    row: TaskRow
    calls: list[Call]
    task: Task
    outcome: Outcome
    messages: tuple[Message, ...]


def play_session(parts: Parts, session: Session[Task], arm: Arm, attempt: int = 0) -> Iterator[Played]:
    """Play a session task by task.

    A failing model, environment or memory makes the task ``errored`` and the next one begins. Raises
    ``ModelRefused`` (wrong key, model or URL) and ``InvalidRun`` (a broken engine): no task can be trusted then.
    """
    with lane(arm.name, f"{session.id}-{attempt}"):
        player = _Player(parts, session, arm, attempt)
        try:
            for position, task in enumerate(session.tasks):
                yield player.task(task, position)
        finally:
            player.close()


class _Player:
    def __init__(self, parts: Parts, session: Session[Task], arm: Arm, attempt: int) -> None:
        self._parts = parts
        self._session = session
        self._arm = arm
        self._attempt = attempt
        self._folder = parts.folder / f"{attempt}" / session.id
        self._seen: set[str] = set()
        self._open()

    def task(self, task: Task, position: int) -> Played:
        """Play one task."""
        if self._arm.name == NO_CONTEXT and position:
            self.close()
            self._open(position)
        conversation = self._conversation
        conversation.begin_task(task.id, position)
        start = len(conversation.history)
        outcome, ended = self._attempted(task, conversation)
        calls = conversation.end_task()
        row = self._row(task, position, calls, outcome, ended)
        return Played(row, calls, task, outcome, tuple(conversation.history[start:]))

    def close(self) -> None:
        """Close the engine."""
        self._conversation.engine.close()

    def _open(self, number: int = 0) -> None:
        parts, name = self._parts, f"{self._session.id}-{self._attempt}"
        memory = _Reported(parts.memory) if parts.memory else None
        embedder = ChargedEmbedder(parts.embedder(), self._embedded) if parts.embedder else None
        folder = self._folder / f"{number}"
        context = EngineContext(name, parts.window, parts.counter, folder, parts.clock, memory, embedder)
        shutil.rmtree(context.folder, ignore_errors=True)  # of a try that was stopped; a session begins without memory
        engine = build(self._arm, context)
        told = parts.boundaries == "told"
        per_session: Callable[[Session[Task], int], Model] | None = getattr(parts.model, "for_session", None)
        model = per_session(self._session, number) if per_session else parts.model
        self._conversation = Conversation(self._arm.name, self._session.id, engine, model, parts.counter, told=told)
        if memory is not None:
            memory.report = self._conversation.charge_failed

    def _embedded(self, usage: Usage, error: str | None) -> None:
        self._conversation.charge("embedding", usage, error)

    def _earlier(self, task: Task) -> list[Episode]:
        """What came before the task and was not played in this session yet."""
        find: Callable[[Task], Sequence[Episode]] | None = getattr(self._parts.suite, "episodes", None)
        if find is None or self._arm.name == NO_CONTEXT:
            return []
        fresh = [episode for episode in find(task) if episode.id not in self._seen]
        self._seen.update(episode.id for episode in fresh)
        return fresh

    def _attempted(self, task: Task, conversation: Conversation) -> tuple[Outcome, Ended | None]:
        environment: Environment | None = None
        ended: Ended | None = None
        try:
            environment = self._parts.suite.environment(task, self._folder)
            ended = self._parts.agent.play(conversation, task, environment, lambda: self._earlier(task))
            with charged_to(lambda usage, error: conversation.charge("judge", usage, error)):
                outcome = self._graded(environment, ended.answer, conversation)
        except (ModelRefused, InvalidRun):
            raise
        except (HarnessError, AgentMemError, OSError) as error:
            outcome = Outcome("errored", error=f"{type(error).__name__}: {error}")
        finally:
            if environment is not None:
                environment.close()
        return outcome, ended

    def _graded(self, environment: Environment, answer: str, conversation: Conversation) -> Outcome:
        """Grade once, and again as often as asked for where a judge took part."""
        before = conversation.judged
        first = environment.finish(answer)
        again = getattr(environment, "regrade", None)
        if again is None or conversation.judged == before:
            return first
        detail = {**first.detail, "judged": True}
        first = Outcome(first.state, first.passed, first.score, first.error, detail)
        return combine([first, *(again(answer) for _ in range(self._parts.judge_repeats - 1))])

    def _row(self, task: Task, position: int, calls: Sequence[Call], outcome: Outcome, ended: Ended | None) -> TaskRow:
        detail: dict[str, Any] = dict(outcome.detail)
        if task.cluster is not None:
            detail["cluster"] = task.cluster  # comparisons resample whole clusters
        if ended is not None:
            detail |= {"answer": ended.answer, "steps": ended.steps, "complaints": ended.complaints}
            detail |= {"limit": ended.limit} if ended.limit else {}
        if self._conversation.fallbacks:
            detail["fallbacks"] = sorted(self._conversation.fallbacks)
        return task_row(
            calls,
            arm=self._arm.name,
            session=self._session.id,
            task=task.id,
            suite=task.suite,
            position=position,
            attempt=self._attempt,
            state=outcome.state,
            passed=outcome.passed,
            score=outcome.score,
            error=outcome.error,
            detail=detail,
        )


class _Reported:
    """The model an engine is given: its failed requests reach the ledger too (the engine reports the others)."""

    def __init__(self, inner: Model) -> None:
        self.name = inner.name
        self.report: Callable[[Sequence[Any]], None] = lambda failed: None
        self._inner = inner

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> Step:
        """Pass on."""
        try:
            step = self._inner.complete(messages, tools)
        except ModelFailed as error:
            self.report(error.failed)
            raise
        self.report(step.failed)
        return step
