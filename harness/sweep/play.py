"""Plays the cells of a sweep: one run folder a cell, named by its recipe; what is there is not played again.

A worker takes one session and plays every open cell of it, so that tokens are counted and needs indexed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from agentmem.tokens import TokenCounter, cache_folder
from harness import recipe as recipes
from harness.replay import PreparedTask, play, prepare
from harness.run import Options, make_recipe
from harness.runfolder import PREFIX
from harness.runlog import SUMMARY, RunLog, sessions_done
from harness.scratch import scratch
from harness.summary import summarise
from harness.sweep.grid import Cell
from harness.types import Arm, Call, Recipe, Session, TaskRow, Trajectory

Progress = Callable[[int, int, str], None]
Sessions = Sequence[Session[Trajectory]]


@dataclass(frozen=True)
class CellRun:
    """A finished cell: where it is kept, its recipe, and its task rows."""

    cell: Cell
    folder: Path
    recipe: Recipe
    rows: tuple[TaskRow, ...]


@dataclass
class _Open:
    """A cell that is being played: its log, and the sessions it still lacks."""

    cell: Cell
    log: RunLog
    missing: list[str]


def play_cells(
    cells: Sequence[Cell],
    sessions: Sessions,
    data: Mapping[str, str],
    options: Options,
    folder: Path,
    progress: Progress,
    workers: Executor | None = None,
) -> list[CellRun]:
    """Play every cell that is not finished and return all of them, in the order given.

    ``folder`` holds a run folder a cell. ``workers`` may be kept from call to call (see ``open_workers``). Raises
    ``LintError`` when an engine breaks a prompt.
    """
    logs = [_open(cell, sessions, data, options, folder) for cell in cells]
    total = len(cells) * len(sessions)
    done = total - sum(len(one.missing) for one in logs)
    progress(done, total, "cells")
    if done < total:
        _count_tokens(sessions, options.tokenizer)
    for session, results in _play(logs, sessions, options, workers):
        for one in logs:
            if one.cell.arm.name in results:
                rows, calls = results[one.cell.arm.name]
                one.log.append(calls, rows)
                done += 1
        progress(done, total, session)
    return [_finish(one) for one in logs]


def cell_recipe(cell: Cell, sessions: Sessions, data: Mapping[str, str], options: Options) -> Recipe:
    """The recipe of a cell: a replay with a single arm."""
    return make_recipe(sessions, data, replace(options, arms=(cell.arm,)))


def _open(cell: Cell, sessions: Sessions, data: Mapping[str, str], options: Options, folder: Path) -> _Open:
    recipe = cell_recipe(cell, sessions, data, options)
    log = RunLog(folder / recipes.sha256(recipe)[:PREFIX], recipe)
    planned = {session.id: [task.id for task in session.tasks] for session in sessions}
    done = sessions_done(log.tasks, planned, [cell.arm.name])
    log.keep(done)
    complete = {session for _, session in done}
    return _Open(cell, log, [session.id for session in sessions if session.id not in complete])


def _finish(one: _Open) -> CellRun:
    log = one.log
    if one.missing or not (log.folder / SUMMARY).exists():
        log.finish(summarise(log.recipe, log.sha256, log.tasks, {"outcomes": "recorded"}))
    return CellRun(one.cell, log.folder, log.recipe, tuple(log.tasks))


Played = dict[str, tuple[list[TaskRow], list[Call]]]


def open_workers(jobs: int) -> ProcessPoolExecutor:
    """Worker processes; they keep the sessions they have seen indexed."""
    # spawned, not forked: the parent has threads (token counting, the progress bar)
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def _play(
    logs: Sequence[_Open], sessions: Sessions, options: Options, workers: Executor | None
) -> Iterator[tuple[str, Played]]:
    """Sessions in their order, each with what was played of it by arm, whatever the number of workers."""
    jobs: list[tuple[Session[Trajectory], tuple[Arm, ...], int, str]] = []
    for session in sessions:
        arms = tuple(one.cell.arm for one in logs if session.id in one.missing)
        for part in _parts(arms, -(-options.jobs // len(sessions))):
            jobs.append((session, part, options.window, options.tokenizer))
    if workers is None and (options.jobs == 1 or len(jobs) <= 1):
        yield from ((job[0].id, play_arms(*job)) for job in jobs)
        return
    with nullcontext(workers) if workers else open_workers(min(options.jobs, len(jobs))) as pool:
        futures = [(job[0].id, pool.submit(play_arms, *job)) for job in jobs]
        for session_id, future in futures:
            yield session_id, future.result()


def play_arms(session: Session[Trajectory], arms: Sequence[Arm], window: int, tokenizer: str) -> Played:
    """Play one session through several arms; tokens are counted and needs indexed once for all."""
    counter = TokenCounter(tokenizer, cache_folder() / "tokens")
    counter.prime([message for task in session.tasks for message in task.messages], threads=1)
    tasks = _prepared(session)
    found: Played = {}
    for arm in arms:
        with scratch() as folder:
            played = list(play(tasks, session.id, arm, window, counter, Path(folder)))
        found[arm.name] = [row for row, _ in played], [call for _, calls in played for call in calls]
    counter.close()
    return found


_KEPT: dict[int, list[PreparedTask]] = {}  # sessions of this process, by what is in them
MOST_KEPT = 32


def _prepared(session: Session[Trajectory]) -> list[PreparedTask]:
    """The session as it is played, with the needs of its actions; indexed once a process."""
    key = hash((session.id, tuple((task.id, task.messages) for task in session.tasks)))
    if key not in _KEPT:
        if len(_KEPT) >= MOST_KEPT:
            _KEPT.clear()
        _KEPT[key] = prepare(session)
    return _KEPT[key]


def _parts(arms: tuple[Arm, ...], most: int) -> list[tuple[Arm, ...]]:
    """The arms in at most ``most`` parts of about equal size, for more workers than sessions."""
    size = -(-len(arms) // max(1, most))
    return [arms[start : start + size] for start in range(0, len(arms), size)] if arms else []


def _count_tokens(sessions: Sessions, tokenizer: str) -> None:
    counter = TokenCounter(tokenizer, cache_folder() / "tokens")
    counter.prime([message for session in sessions for task in session.tasks for message in task.messages])
    counter.close()


def options_facts(options: Options) -> dict[str, Any]:
    """What of the options every cell shares, for the record of a sweep."""
    return {
        "per_session": options.per_session,
        "window": options.window,
        "tokenizer": options.tokenizer,
        "order": options.order,
        "seed": options.seed,
    }
