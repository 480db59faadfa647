"""Executes a live run: plans sessions, plays them in threads, writes every task as it ends, resumes by session."""

from __future__ import annotations

import contextlib
import queue
import random
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from harness import recipe as recipes
from harness import transcripts
from harness.agents.loop import Limits
from harness.corrected import with_and_without
from harness.errors import HarnessError, UsageError
from harness.judging import agreement
from harness.ledger import task_row
from harness.names import slug
from harness.protocols import Suite
from harness.runlog import CALLS, RunLog, read_rows
from harness.session import NO_CONTEXT, Parts, Played, play_session
from harness.summary import summarise
from harness.types import Arm, Outcome, Recipe, Session, Task, TaskRow

CONTROL = "control"
TRAJECTORIES = "trajectories"
Progress = Callable[[int, int, str], None]
Job = tuple[Arm, int, Session[Task]]


@dataclass(frozen=True)
class LiveOptions:
    """What a live run is asked to do, as far as it decides the result."""

    arms: tuple[Arm, ...]
    model: str
    protocol: str = "functions"
    per_session: int = 50
    order: Literal["file", "id", "shuffle"] = "file"
    seed: int = 0
    sessions: int | None = None
    limit: int | None = None
    repeats: int = 1
    window: int = 200_000
    tokenizer: str = "o200k_base"
    boundaries: Literal["told", "judged"] = "told"
    limits: Limits = field(default_factory=Limits)
    judge: str | None = None
    judge_repeats: int = 1
    isolation: str = "auto"
    controls: tuple[str, ...] = ()
    asked: Mapping[str, Any] | None = None  # how the model is asked: temperature and the like


def plan(suite: Suite, options: LiveOptions) -> list[Session[Task]]:
    """Order the tasks and split them into sessions ``s000``, ``s001``, ...

    Where tasks share a history (``Task.cluster`` of a suite with ``clustered``), a session never mixes two; where that
    history grows between them (``ordered``) they keep their order, so that none sees what came later.
    """
    tasks = list(suite.tasks())
    if not tasks:
        raise UsageError(f"suite {suite.name!r} has no task")
    if options.per_session < 1 or options.repeats < 1:
        raise UsageError("--per-session and --repeats must be at least 1")
    groups: dict[str | None, list[Task]] = {}
    clustered = getattr(suite, "clustered", False)
    for number, task in enumerate(tasks):
        groups.setdefault(task.cluster if clustered else str(number), []).append(task)
    blocks = list(groups.values())
    if options.order == "id":
        blocks.sort(key=lambda block: block[0].id)
    elif options.order == "shuffle":
        chance = random.Random(options.seed)
        chance.shuffle(blocks)
        for block in blocks if not getattr(suite, "ordered", False) else ():
            chance.shuffle(block)
    if not clustered:
        blocks = [[task for block in blocks for task in block]]
    if options.limit is not None:
        blocks = _first(blocks, options.limit)
    size = options.per_session
    parts = [block[start : start + size] for block in blocks for start in range(0, len(block), size)]
    sessions = [Session(f"s{number:03d}", tuple(part)) for number, part in enumerate(parts)]
    return sessions[: options.sessions]


def _first(blocks: Sequence[list[Task]], limit: int) -> list[list[Task]]:
    """The first tasks of the blocks, so that every history gives its share."""
    share, more = divmod(limit, len(blocks))
    return [block[: share + (number < more)] for number, block in enumerate(blocks) if share + (number < more)]


def make_recipe(
    suite: Suite, sessions: Sequence[Session[Task]], data: Mapping[str, str], options: LiveOptions
) -> Recipe:
    """The recipe of a live run. ``data`` maps file names to the sha256 of what was read."""
    limits = {
        **asdict(options.limits),
        "protocol": options.protocol,
        "boundaries": options.boundaries,
        "repeats": options.repeats,
        "judge": options.judge,
        "judge_repeats": options.judge_repeats,
        "isolation": options.isolation,
        "asked": dict(options.asked or {}),
    }
    return Recipe(
        kind="live",
        suite=suite.name,
        data=dict(data),
        tasks=tuple(task.id for session in sessions for task in session.tasks),
        per_session=options.per_session,
        order=options.order,
        seed=options.seed,
        arms=(*options.arms, *(control_arm(name) for name in options.controls)),
        model=options.model,
        tokenizer=options.tokenizer,
        window=options.window,
        limits=limits,
        code=recipes.code(),
    )


def control_arm(name: str) -> Arm:
    """A control as an arm: ``no-context`` needs the model, the others are answers the suite makes up."""
    if name == NO_CONTEXT:
        return Arm(NO_CONTEXT, "full", {"fill": 0.95})
    return Arm(f"{CONTROL}: {name}", CONTROL, {})


def execute(
    parts: Parts,
    sessions: Sequence[Session[Task]],
    recipe: Recipe,
    options: LiveOptions,
    concurrency: int,
    progress: Progress,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """Play what the log of ``parts.folder`` does not hold yet, and return the summary.

    A session is played again as a whole when one of its tasks has no row or errored. Raises ``RecipeMismatch``,
    ``ModelRefused`` or ``LintError`` after everything that was finished has been written.
    """
    log = RunLog(parts.folder, recipe)
    jobs = [
        (arm, attempt, session) for session in sessions for arm in recipe.arms for attempt in range(options.repeats)
    ]
    todo = [job for job in jobs if not _complete(log.tasks, job)]
    writer = _Writer(log, parts, len(jobs) - len(todo), len(jobs), progress)
    failure = _play_all(parts, todo, concurrency, writer)
    if failure is not None:
        raise failure
    for path in sorted((parts.folder / TRAJECTORIES).glob("*.jsonl")):
        transcripts.arrange(path)
    rows = latest(log.tasks, sessions)
    details = [row.detail for row in rows]
    facts = {
        "outcomes": "scored",
        "judging": agreement(details),
        "errata": with_and_without(parts.suite, rows),
        "ledger": ledger_totals(parts.folder),
        **extra,
    }
    summary = summarise(recipe, log.sha256, rows, facts)
    log.finish(summary)
    return summary


def latest(rows: Sequence[TaskRow], sessions: Sequence[Session[Task]]) -> list[TaskRow]:
    """One row a task, arm and attempt (the last that was written), in the order of the plan."""
    places = {session.id: number for number, session in enumerate(sessions)}
    last = {(row.arm, row.attempt, row.session, row.task): row for row in rows}
    return sorted(last.values(), key=lambda row: (row.arm, row.attempt, places.get(row.session, -1), row.position))


def ledger_totals(folder: Path) -> dict[str, int]:
    """Sums over every request that was made, those of sessions that had to be played again among them."""
    totals = {"requests": 0, "failed": 0, "prompt_tokens": 0, "completion_tokens": 0, "not_reported": 0}
    for _, row in read_rows(folder / CALLS):
        totals["requests"] += 1
        totals["failed"] += row["error"] is not None
        totals["prompt_tokens"] += row["prompt_tokens"] or 0
        totals["completion_tokens"] += row["completion_tokens"] or 0
        totals["not_reported"] += row["error"] is None and row["from"][0] != "reported"
    return totals


class _Writer:
    """Writes tasks in the main thread, several at once: playing threads never wait for the disk."""

    def __init__(self, log: RunLog, parts: Parts, done: int, total: int, progress: Progress) -> None:
        self._log, self._parts, self._progress = log, parts, progress
        self._done, self._total = done, total

    def write(self, events: Sequence[_Event]) -> None:
        """Rows first, then the transcripts, then the progress."""
        tasks = [(event.job[0], event.played) for event in events if event.played is not None]
        self._log.append((call for _, played in tasks for call in played.calls), [played.row for _, played in tasks])
        agent, model = f"agentmem-bench {self._parts.agent.dialogue.name}", self._parts.model.name
        lines: dict[str, list[dict[str, Any]]] = {}
        for arm, played in tasks:
            if played.messages:
                row = transcripts.record(played.row, played.task, played.messages, played.outcome, agent, model)
                again = f"-{played.row.attempt}" if played.row.attempt else ""
                lines.setdefault(f"{slug(arm.name)}{again}.jsonl", []).append(row)
        for name, rows in lines.items():
            transcripts.append(self._parts.folder / TRAJECTORIES / name, rows)
        for arm, _, session in (event.job for event in events if event.over and event.error is None):
            self._done += 1
            self._progress(self._done, self._total, f"{session.id} {arm.name}")


@dataclass(frozen=True, slots=True)
class _Event:
    """What a playing thread reports: a task that is over, or its job that is over, in order or by an error."""

    job: Job
    played: Played | None = None
    over: bool = False
    error: BaseException | None = None


def _play_all(parts: Parts, todo: Sequence[Job], concurrency: int, writer: _Writer) -> HarnessError | None:
    """Play the jobs; after an error that makes the run invalid no new one begins, and that error is returned."""
    stop = threading.Event()
    events: queue.SimpleQueue[_Event] = queue.SimpleQueue()

    def one(job: Job) -> None:
        arm, attempt, session = job
        try:
            with contextlib.closing(_tasks(parts, arm, attempt, session)) as tasks:
                for played in tasks:
                    events.put(_Event(job, played))
                    if stop.is_set():
                        break
            events.put(_Event(job, over=True))
        except BaseException as error:  # noqa: BLE001 - reported to the main thread, which raises it
            stop.set()  # here and not there, so that no other job begins in between
            events.put(_Event(job, over=True, error=error))

    def guarded(job: Job) -> None:
        if stop.is_set():
            events.put(_Event(job, over=True, error=_Skipped()))
        else:
            one(job)

    errors: list[BaseException] = []
    with ThreadPoolExecutor(max(1, concurrency)) as pool:
        left = len([pool.submit(guarded, job) for job in todo])
        try:
            while left:
                batch = _drain(events)
                writer.write(batch)
                left -= sum(event.over for event in batch)
                errors += [event.error for event in batch if event.error and not isinstance(event.error, _Skipped)]
        except BaseException:  # whatever it was: tell the threads, and let it go on
            stop.set()  # Ctrl-C, or a disk that is full: the threads end at their next task
            raise
    defects = [error for error in errors if not isinstance(error, HarnessError)]
    if defects:
        raise defects[0]
    return next((error for error in errors if isinstance(error, HarnessError)), None)


class _Skipped(Exception):
    """A job that did not begin because the run was stopped."""


def _drain(events: queue.SimpleQueue[_Event]) -> list[_Event]:
    """Wait for an event, then take every other that is there."""
    batch = [events.get()]
    while not events.empty():
        batch.append(events.get())
    return batch


def _tasks(parts: Parts, arm: Arm, attempt: int, session: Session[Task]) -> Generator[Played, None, None]:
    if arm.engine != CONTROL:
        folder = parts.folder / "memory" / slug(arm.name)
        yield from play_session(replace(parts, folder=folder), session, arm, attempt)
        return
    control: Callable[[str, Task], Outcome] = parts.suite.control  # type: ignore[attr-defined]
    name = arm.name.removeprefix(f"{CONTROL}: ")
    for position, task in enumerate(session.tasks):
        try:
            outcome = control(name, task)
        except (HarnessError, OSError) as error:
            outcome = Outcome("errored", error=f"{type(error).__name__}: {error}")
        row = task_row(
            [],
            arm=arm.name,
            session=session.id,
            task=task.id,
            suite=task.suite,
            position=position,
            attempt=attempt,
            state=outcome.state,
            passed=outcome.passed,
            score=outcome.score,
            error=outcome.error,
            detail=dict(outcome.detail) | ({} if task.cluster is None else {"cluster": task.cluster}),
        )
        yield Played(row, [], task, outcome, ())


def _complete(rows: Sequence[TaskRow], job: Job) -> bool:
    arm, attempt, session = job
    wanted = (arm.name, attempt, session.id)
    last = {row.task: row.state for row in rows if (row.arm, row.attempt, row.session) == wanted}
    return all(last.get(task.id, "errored") != "errored" for task in session.tasks)
