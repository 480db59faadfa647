"""Executes a replay: plans sessions, plays them in worker processes, writes the log in a fixed order, resumes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from agentmem.tokens import TokenCounter, cache_folder
from harness import recipe as recipes
from harness.errors import UsageError
from harness.needs import SLICE
from harness.replay import play, prepare
from harness.runlog import RunLog, sessions_done
from harness.scratch import scratch
from harness.summary import summarise
from harness.types import Arm, Call, Recipe, Session, TaskRow, Trajectory

ORDERS = ("file", "id", "shuffle")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Options:
    """What a replay is asked to do. Token figures are in tokens of ``tokenizer``."""

    arms: tuple[Arm, ...]
    per_session: int = 50
    window: int = 200_000
    tokenizer: str = "o200k_base"
    order: str = "file"
    seed: int = 0
    limit: int | None = None
    jobs: int = 1
    keep_evidence: bool = False


def plan(trajectories: Sequence[Trajectory], options: Options) -> list[Session[Trajectory]]:
    """Order, limit and split the recorded tasks into sessions named ``s000``, ``s001``, ..."""
    tasks = list(trajectories)
    if options.order == "id":
        tasks.sort(key=lambda task: task.id)
    elif options.order == "shuffle":
        random.Random(options.seed).shuffle(tasks)
    if options.limit is not None:
        tasks = tasks[: options.limit]
    size = options.per_session
    if size < 1:
        raise UsageError(f"--per-session must be at least 1, got {size}")
    return [
        Session(f"s{number:03d}", tuple(tasks[start : start + size]))
        for number, start in enumerate(range(0, len(tasks), size))
    ]


def make_recipe(sessions: Sequence[Session[Trajectory]], data: Mapping[str, str], options: Options) -> Recipe:
    """The recipe of a replay. ``data`` maps file names to the sha256 of what was read."""
    tasks = [task for session in sessions for task in session.tasks]
    return Recipe(
        kind="replay",
        suite=", ".join(sorted({task.suite for task in tasks})),
        data=dict(data),
        tasks=tuple(task.id for task in tasks),
        per_session=options.per_session,
        order=options.order,
        seed=options.seed,
        arms=options.arms,
        model=", ".join(sorted({f"{task.model} ({task.agent})" for task in tasks})),
        tokenizer=options.tokenizer,
        window=options.window,
        limits={"drill_down_slice": SLICE},
        code=recipes.code(),
    )


def execute(
    sessions: Sequence[Session[Trajectory]],
    recipe: Recipe,
    folder: Path,
    options: Options,
    progress: Progress,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """Play what the log does not hold yet and return the summary, with ``extra`` in it.

    Raises ``RecipeMismatch`` when the folder holds another run, ``LintError`` when an engine breaks a prompt.
    """
    log = RunLog(folder, recipe)
    arms = [arm.name for arm in options.arms]
    planned = {session.id: [task.id for task in session.tasks] for session in sessions}
    done = sessions_done(log.tasks, planned, arms)
    log.keep(done)
    todo = _todo(sessions, options.arms, set(done))
    total = len(sessions) * len(arms)
    if todo:
        progress(len(done), total, "playing")
    finished = len(done)
    for results in _play_all(todo, folder, options):
        for arm, session, tasks, calls in results:
            log.append(calls, tasks)
            finished += 1
            progress(finished, total, f"{session} {arm}")
    summary = summarise(recipe, log.sha256, log.tasks, {"outcomes": "recorded", **extra})
    log.finish(summary)
    return summary


Result = tuple[str, str, list[TaskRow], list[Call]]


def _todo(
    sessions: Sequence[Session[Trajectory]], arms: Sequence[Arm], done: set[tuple[str, str]]
) -> list[tuple[Session[Trajectory], tuple[Arm, ...]]]:
    left = [(session, tuple(arm for arm in arms if (arm.name, session.id) not in done)) for session in sessions]
    return [(session, open_arms) for session, open_arms in left if open_arms]


def _play_all(
    todo: Sequence[tuple[Session[Trajectory], tuple[Arm, ...]]], folder: Path, options: Options
) -> Iterator[list[Result]]:
    """Results in the order of ``todo``, whatever the number of workers."""
    evidence = folder / "evidence" if options.keep_evidence else None
    alone = options.jobs == 1 or len(todo) <= 1
    threads = options.jobs if alone else 1
    jobs = [(session, arms, options.window, options.tokenizer, evidence, threads) for session, arms in todo]
    if alone:
        yield from (_play_session(*job) for job in jobs)
        return
    # spawned, not forked: the parent has threads (token counting, the progress bar)
    with ProcessPoolExecutor(min(options.jobs, len(jobs)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_play_session, *job) for job in jobs]
        for future in futures:
            yield future.result()


def _play_session(
    session: Session[Trajectory], arms: Sequence[Arm], window: int, tokenizer: str, evidence: Path | None, threads: int
) -> list[Result]:
    """Play one session through its arms. ``threads`` count tokens that were never counted before."""
    counter = TokenCounter(tokenizer, cache_folder() / "tokens")
    counter.prime([message for task in session.tasks for message in task.messages], threads)
    tasks = prepare(session)
    results: list[Result] = []
    for number, arm in enumerate(arms):
        with scratch() as temporary:
            place = (evidence or Path(temporary)) / f"{number:02d}-{arm.engine}" / session.id
            played = list(play(tasks, session.id, arm, window, counter, place))
        results.append((arm.name, session.id, [row for row, _ in played], [c for _, calls in played for c in calls]))
    counter.close()
    return results
