"""From the files that were replayed to the sessions that are played again for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import UsageError
from harness.names import slug
from harness.recipe import file_sha256
from harness.report.html_choose import unavailable
from harness.report.html_data import RunData, TaskKey
from harness.report.html_prompts import Job
from harness.run import Options, plan
from harness.trajectories import read
from harness.trajectories.source import files
from harness.types import Arm, Session, Trajectory


def make_jobs(
    data: RunData, chosen: Sequence[TaskKey], paths: Sequence[Path], format: str | None, whole: int
) -> list[Job]:
    """One job a session with a chosen task (a live run: one a session and arm, from its own transcripts).

    Raises ``UsageError`` when the paths are not what was replayed.
    """
    usable = tuple(arm for arm in data.recipe.arms if arm.name not in unavailable(data))
    wanted: dict[str, list[str]] = {}
    for session, task, attempt in chosen:
        if attempt == 0:
            wanted.setdefault(session, []).append(task)
    share = whole // max(1, len(wanted))
    found: list[tuple[str, Session[Trajectory], tuple[Arm, ...]]]
    if data.recipe.kind == "live":
        found = [
            (f"{session.id}|{arm.name}", session, (arm,))
            for arm in usable
            for session in _transcripts(data, arm.name, wanted)
        ]
    else:
        sessions = {session.id: session for session in _replayed(data, paths, format)}
        found = [(name, sessions[name], usable) for name in wanted]
    window, tokenizer = data.recipe.window, data.recipe.tokenizer
    return [
        Job(name, _up_to(session, wanted[session.id]), arms, window, tokenizer, _counted(data, session, wanted), share)
        for name, session, arms in found
    ]


def _replayed(data: RunData, paths: Sequence[Path], format: str | None) -> list[Session[Trajectory]]:
    recipe = data.recipe
    given = {file.path.name: file_sha256(file.path) for file in files(paths)}
    for name, digest in recipe.data.items():
        if given.get(name) != digest:
            found = f"it has sha256 {given[name][:16]}" if name in given else f"found {', '.join(given) or 'nothing'}"
            raise UsageError(f"--data: the run replayed {name} with sha256 {digest[:16]}, {found}")
    options = Options(
        arms=(), per_session=recipe.per_session, order=recipe.order, seed=recipe.seed, limit=len(recipe.tasks)
    )
    sessions = plan(read(paths, format, lambda _: None), options)
    if tuple(task.id for session in sessions for task in session.tasks) != recipe.tasks:
        raise UsageError(
            "--data: these files hold other tasks than the run replayed; give the same files, in that order"
        )
    return sessions


def _transcripts(data: RunData, arm: str, wanted: Mapping[str, Sequence[str]]) -> list[Session[Trajectory]]:
    path = data.folder / "trajectories" / f"{slug(arm)}.jsonl"
    if not path.exists():
        return []
    recorded = {task.id: task for task in read([path], None, lambda _: None)}
    sessions = []
    for name in wanted:
        ids = [row.task for row in data.of(arm) if row.session == name and row.attempt == 0]
        tasks = tuple(recorded[task] for task in ids if task in recorded)
        if len(tasks) == len(ids) and tasks:
            sessions.append(Session(name, tasks))
    return sessions


def _up_to(session: Session[Trajectory], wanted: Sequence[str]) -> Session[Trajectory]:
    last = max(place for place, task in enumerate(session.tasks) if task.id in wanted)
    return replace(session, tasks=session.tasks[: last + 1])


def _counted(
    data: RunData, session: Session[Trajectory], wanted: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[int] | None]]:
    """The prompt tokens of every call of the chosen tasks by arm; None where a server reported them."""
    found: dict[str, dict[str, list[int] | None]] = {task: {} for task in wanted[session.id]}
    for arm in data.arms:
        calls: dict[str, list[int]] = {task: [] for task in found}
        counted = True
        for row in data.calls[arm]:
            if row["session"] == session.id and row["task"] in calls and row["purpose"] == "agent":
                counted &= row["from"][0] == "counted"
                calls[row["task"]].append(row["prompt_tokens"])
        for task, sizes in calls.items():
            found[task][arm] = sizes if counted else None
    return found
