"""From the files that were replayed to the sessions that are played again for the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.names import slug
from harness.recipe import file_sha256
from harness.report.html_choose import unavailable
from harness.report.html_data import RunData, TaskKey
from harness.report.html_prompts import Job, Logged
from harness.run import Options, plan
from harness.trajectories import read
from harness.trajectories.source import files
from harness.types import Arm, Recipe, Session, Trajectory

EMBEDDED = re.compile(r"swebench-mini, seed (\d+), (\d+) tasks")  # how `bench` names its recording


def make_jobs(
    data: RunData, chosen: Sequence[TaskKey], paths: Sequence[Path], format: str | None, whole: int
) -> list[Job]:
    """One job a session with a chosen task (a live run: one a session and arm, from its own transcripts).

    Raises ``UsageError`` when the paths are not what was replayed.
    """
    usable = tuple(arm for arm in data.played if arm.name not in unavailable(data))
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
        Job(
            name,
            _up_to(session, wanted[session.id]),
            arms,
            window,
            tokenizer,
            _logged(data, session, wanted),
            share,
            _calls(data, session.id, arms[0].name) if data.recipe.kind == "live" else None,
        )
        for name, session, arms in found
    ]


def embedded(recipe: Recipe) -> tuple[int, int] | None:
    """Seed and number of the embedded tasks that a run of `bench` replayed; None for any other run."""
    found = [EMBEDDED.fullmatch(name) for name in recipe.data]
    return (int(found[0][1]), int(found[0][2])) if len(found) == 1 and found[0] else None


def _replayed(data: RunData, paths: Sequence[Path], format: str | None) -> list[Session[Trajectory]]:
    recipe = data.recipe
    trajectories, given = _read(recipe, paths, format)
    for name, digest in recipe.data.items():
        if given.get(name) != digest:
            found = f"it has sha256 {given[name][:16]}" if name in given else f"found {', '.join(given) or 'nothing'}"
            raise UsageError(f"--data: the run replayed {name} with sha256 {digest[:16]}, {found}")
    options = Options(
        arms=(), per_session=recipe.per_session, order=recipe.order, seed=recipe.seed, limit=len(recipe.tasks)
    )
    sessions = plan(trajectories, options)
    if tuple(task.id for session in sessions for task in session.tasks) != recipe.tasks:
        raise UsageError(
            "--data: these files hold other tasks than the run replayed; give the same files, in that order"
        )
    return sessions


def _read(recipe: Recipe, paths: Sequence[Path], format: str | None) -> tuple[Sequence[Trajectory], Mapping[str, str]]:
    made = embedded(recipe)
    if not paths and made:
        from harness.embedded import recorded

        return recorded(*made, 1)
    return read(paths, format, lambda _: None), {file.path.name: file_sha256(file.path) for file in files(paths)}


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


def _calls(data: RunData, session: str, arm: str) -> dict[str, int]:
    """Answered calls of the agent on each task of a session."""
    rows = [row for row in data.calls[arm] if row["session"] == session]
    return dict(Counter(row["task"] for row in rows if row["purpose"] == "agent" and not row["error"]))


def _logged(
    data: RunData, session: Session[Trajectory], wanted: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Logged]]:
    """What the log says of the prompts of the chosen tasks, by task and arm. Figures of a live run include what a
    server adds, so only the number of messages is held against it."""
    found: dict[str, dict[str, Logged]] = {task: {} for task in wanted[session.id]}
    for arm in data.arms:
        calls: dict[str, list[Mapping[str, Any]]] = {task: [] for task in found}
        for row in data.calls[arm]:
            if row["session"] == session.id and row["task"] in calls and row["purpose"] == "agent":
                calls[row["task"]].append(row)
        for task, rows in calls.items():
            tokens = tuple(row["prompt_tokens"] for row in rows) if data.recipe.kind == "replay" else None
            found[task][arm] = Logged(tokens, tuple(row["messages"] for row in rows if not row["error"]))
    return found
