"""Prompts of chosen tasks, assembled again by the engines and packed for the page, one record a session.

A run log holds numbers only. Here the session is played once more up to the last chosen task, and every prompt that
was counted is held against its number in the log: an arm whose prompts come out different is left out and named.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from agentmem.errors import AgentMemError
from agentmem.messages import Message
from agentmem.tokens import TokenCounter, cache_folder
from harness.engines.registry import build
from harness.errors import HarnessError
from harness.ledger import Prompts, common_prefix
from harness.protocols import ContextEngine, EngineContext
from harness.replay import PreparedTask, prepare
from harness.report.html_data import pack
from harness.report.html_pool import Pool
from harness.scratch import scratch
from harness.types import Arm, Session, Trajectory

POINTER = re.compile(r"refs/[\w.-]*\w")
MOST_EVIDENCE = 5_000  # texts behind pointers of one arm in one session
CHANGED = (
    "its prompts come out different from those of the run (other code, or a run that cannot be repeated from this)"
)


@dataclass(frozen=True)
class Logged:
    """What the log says of the prompts of one task: tokens of each (None where they were reported, not counted), and
    how many messages each had."""

    tokens: tuple[int, ...] | None
    messages: tuple[int, ...]


@dataclass(frozen=True)
class Job:
    """One session to be played again. ``chosen`` maps a task to what the log says of its prompts, by arm. ``name`` is
    how the page asks for the record, ``whole`` the characters of earlier tasks that may be kept whole. ``calls`` says
    how many of the last answers of each task were calls (earlier chats come before them); None: all of them."""

    name: str
    session: Session[Trajectory]
    arms: tuple[Arm, ...]
    window: int
    tokenizer: str
    chosen: Mapping[str, Mapping[str, Logged]]
    whole: int
    calls: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Packed:
    """A record for the page, the tasks in it, and the arms left out with the reason."""

    name: str
    data: str
    tasks: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def assemble_all(jobs: Sequence[Job], workers: int) -> list[Packed]:
    """Play the sessions again, ``workers`` at a time; the records come back in the order of the jobs."""
    if workers == 1 or len(jobs) <= 1:
        return [assemble(job) for job in jobs]
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn")) as pool:
        return list(pool.map(assemble, jobs))


def assemble(job: Job) -> Packed:
    """Play one session through every arm and pack what the chosen tasks were sent."""
    counter = TokenCounter(job.tokenizer, cache_folder() / "tokens")
    tasks = prepare(job.session)
    counter.prime([message for task in tasks for message in task.messages], threads=1)
    pool = Pool(tasks, counter)
    found: dict[str, dict[str, Any]] = {name: _task_record(pool, tasks, name) for name in job.chosen}
    evidence: dict[str, Evidence] = {}
    left_out: dict[str, str] = {}
    for arm in job.arms:
        try:
            prompts, behind = _play(job, arm, tasks, pool, counter)
        except (HarnessError, AgentMemError) as error:
            left_out[arm.name] = f"{type(error).__name__}: {error}"
            continue
        if prompts is None:
            left_out[arm.name] = CHANGED
            continue
        evidence[arm.name] = behind
        for task, calls in prompts.items():
            found[task]["arms"][arm.name] = calls
    counter.close()
    record = {**pool.record(set(job.chosen), evidence, job.whole), "tasks": found}
    return Packed(job.name, pack(record), tuple(job.chosen), left_out)


Calls = list[list[Any]]
Evidence = dict[str, tuple[str, bool]]  # pointer -> the text behind it, and whether it stands in a prompt itself


def _play(
    job: Job, arm: Arm, tasks: Sequence[PreparedTask], pool: Pool, counter: TokenCounter
) -> tuple[dict[str, Calls] | None, Evidence]:
    """Prompts of the chosen tasks as [place of the call, messages shared with the prompt before, runs of the rest], and
    the texts behind their pointers; None instead of prompts that are not those of the log."""
    found: dict[str, Calls] = {}
    refs: dict[str, None] = {}
    with scratch() as folder:
        ticks = iter(range(10**9))
        context = EngineContext(job.session.id, job.window, counter, Path(folder), clock=lambda: float(next(ticks)))
        engine = build(arm, context)
        try:
            for task, prompts in _prompts(engine, tasks, job):
                calls, sizes = _coded(prompts, pool, counter, refs)
                if not _as_logged(job.chosen[task][arm.name], sizes, [len(prompt) for _, prompt in prompts]):
                    return None, {}
                found[task] = calls
            return found, _evidence(engine, refs)
        finally:
            engine.close()


def _prompts(
    engine: ContextEngine, tasks: Sequence[PreparedTask], job: Job
) -> Iterator[tuple[str, list[tuple[int, list[Message]]]]]:
    """Every chosen task with its prompts and the place of their calls; the engine is driven as in a replay."""
    history: list[Message] = []
    for task in tasks:
        name = task.trajectory.id
        engine.begin_task(name)
        answers = sorted(task.needs)
        called = set(answers if job.calls is None else answers[len(answers) - job.calls.get(name, 0) :])
        prompts: list[tuple[int, list[Message]]] = []
        for index, message in enumerate(task.messages):
            if index in called:
                prompt = engine.assemble(history)
                engine.spent()
                if name in job.chosen:
                    prompts.append((len(history), list(prompt)))
            history.append(message)
            engine.observe(message)
        if name in job.chosen:
            yield name, prompts


def _as_logged(logged: Logged, tokens: list[int], messages: list[int]) -> bool:
    return list(logged.messages) == messages and logged.tokens in (None, tuple(tokens))


def _coded(
    prompts: Sequence[tuple[int, list[Message]]], pool: Pool, counter: TokenCounter, refs: dict[str, None]
) -> tuple[Calls, list[int]]:
    counted = Prompts(counter)
    before: list[Message] = []
    calls: Calls = []
    sizes = []
    for place, prompt in prompts:
        shared = common_prefix(before, prompt)
        calls.append([place, shared, runs([pool.place(message) for message in prompt[shared:]])])
        sizes.append(counted.count(prompt)[0])
        refs.update(dict.fromkeys(ref for message in prompt[shared:] for ref in message.refs))
        before = prompt
    return calls, sizes


def runs(places: Sequence[int]) -> list[int]:
    """[3, 4, 5, 9] as [3, 3, 9, 1]: first place and length of each ascending run."""
    found: list[int] = []
    for place in places:
        if found and place == found[-2] + found[-1]:
            found[-1] += 1
        else:
            found += [place, 1]
    return found


def _evidence(engine: ContextEngine, refs: Iterable[str]) -> Evidence:
    """The texts behind pointers, and behind pointers in those texts; one that leads nowhere is left out, and the page
    says so."""
    found: Evidence = {}
    waiting = deque((ref, True) for ref in refs)
    while waiting and len(found) < MOST_EVIDENCE:
        ref, direct = waiting.popleft()
        if ref in found:
            continue
        try:
            text = engine.evidence(ref)
        except AgentMemError:
            continue
        found[ref] = text, direct
        waiting.extend((inner, False) for inner in POINTER.findall(text))
    return found


def _task_record(pool: Pool, tasks: Sequence[PreparedTask], name: str) -> dict[str, Any]:
    """Where a task stands in the history, and for each call with needs the place that last held each of them."""
    position = next(index for index, task in enumerate(tasks) if task.trajectory.id == name)
    start = pool.starts[position]
    needs = {
        str(start + index): {need.identifier: start + need.holders[-1] for need in found}
        for index, found in tasks[position].needs.items()
        if found
    }
    return {"start": start, "end": start + len(tasks[position].messages), "needs": needs, "arms": {}}
