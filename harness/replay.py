"""Judges an engine on a recorded run without a model: only the prompt in front of each recorded call is rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentmem.messages import Message
from agentmem.tokens import TokenCounter
from harness import lint
from harness.engines.registry import build
from harness.ledger import Prompts, task_row
from harness.needs import Judge, Need, task_needs
from harness.protocols import ContextEngine, EngineContext
from harness.types import Arm, Call, Session, TaskRow, Trajectory, Usage

NOT_IN_CONVERSATION = ("submission", "judge")  # kinds of rows that never were in the agent's conversation


@dataclass(frozen=True)
class PreparedTask:
    """One recorded task as it is played: its messages in this session and the needs of its actions, by index."""

    trajectory: Trajectory
    messages: tuple[Message, ...]
    needs: Mapping[int, tuple[Need, ...]]


def prepare(session: Session[Trajectory]) -> list[PreparedTask]:
    """The tasks of a session, without rows that were never sent and without repeated system messages."""
    prepared = []
    for position, task in enumerate(session.tasks):
        messages = tuple(
            message
            for message in task.messages
            if message.kind not in NOT_IN_CONVERSATION and not (position and message.role == "system")
        )
        prepared.append(PreparedTask(task, messages, task_needs(messages)))
    return prepared


def play(
    tasks: Sequence[PreparedTask], session: str, arm: Arm, window: int, counter: TokenCounter, folder: Path
) -> Iterator[tuple[TaskRow, list[Call]]]:
    """Play one session through one arm; yields each task's row with its calls.

    Raises ``LintError`` when the engine assembles a prompt that no provider would accept.
    """
    ticks = iter(range(10**9))
    context = EngineContext(session, window, counter, folder, clock=lambda: float(next(ticks)))
    engine = build(arm, context)
    player = _Player(engine, arm.name, session, counter)
    try:
        for position, task in enumerate(tasks):
            calls = player.task(task, position)
            yield _row(task, arm.name, session, position, calls), calls
    finally:
        engine.close()


class _Player:
    """The history of one session of one arm while it is played."""

    def __init__(self, engine: ContextEngine, arm: str, session: str, counter: TokenCounter) -> None:
        self.engine = engine
        self.arm = arm
        self.session = session
        self.counter = counter
        self.history: list[Message] = []
        self.prompts = Prompts(counter)
        self.judge = Judge(counter, engine.evidence)
        self.number = 0

    def task(self, task: PreparedTask, position: int) -> list[Call]:
        """Play one task; its calls, the engine's own among them."""
        calls: list[Call] = []
        self.engine.begin_task(task.trajectory.id)
        for index, message in enumerate(task.messages):
            if index in task.needs:
                calls += self._call(task, position, index)
            self.history.append(message)
            self.judge.observe(message)
            self.engine.observe(message)
        return calls

    def _call(self, task: PreparedTask, position: int, index: int) -> list[Call]:
        prompt = self.engine.assemble(self.history)
        tokens, cached = self.prompts.count(prompt)
        lint.check(self.arm, prompt, self.history, self.prompts.shared)
        support = self.judge.support(task.needs[index], task.messages, prompt, tokens)
        completion = self.counter.message(task.messages[index])
        new = self._new_row(task, position)
        calls = [new("memory", usage, 0) for usage in self.engine.spent()]
        usage = Usage(tokens, cached, completion, None, "counted", "counted", "counted")
        calls.append(
            new(
                "agent",
                usage,
                len(prompt),
                needs=support.needs,
                missing=support.missing,
                lost=support.lost,
                repairs=support.repairs,
                repair_calls=support.repair_calls,
                fetched=support.fetched,
            )
        )
        return calls

    def _new_row(self, task: PreparedTask, position: int) -> Callable[..., Call]:
        def new(purpose: str, usage: Usage, messages: int, **measured: object) -> Call:
            self.number += 1
            return Call(
                self.arm,
                self.session,
                task.trajectory.id,
                position,
                self.number - 1,
                purpose,  # type: ignore[arg-type]
                usage,
                messages,
                **measured,  # type: ignore[arg-type]
            )

        return new


def _row(task: PreparedTask, arm: str, session: str, position: int, calls: Sequence[Call]) -> TaskRow:
    outcome = task.trajectory.outcome
    return task_row(
        calls,
        arm=arm,
        session=session,
        task=task.trajectory.id,
        suite=task.trajectory.suite,
        position=position,
        attempt=0,
        state=outcome.state,
        passed=outcome.passed,
        score=outcome.score,
        detail={"outcome": "recorded"},
    )
