"""Plays tasks for real and keeps what was said: ``run_task`` one, ``record`` many as replay-trajectory/1 rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentmem.messages import Message
from harness.types import Outcome, Trajectory
from suites.swebench.mini.agent import ScriptedAgent
from suites.swebench.mini.environment import Shell, make_tools, observation
from suites.swebench.mini.generate import generate
from suites.swebench.mini.grade import grade
from suites.swebench.mini.patches import make_patch
from suites.swebench.mini.prompts import SUBMIT, system_message, task_message
from suites.swebench.mini.tasks import MiniTask, write_repo
from suites.swebench.mini.view import command_of

SUITE = "swebench-mini"
AGENT = "scripted agent"
MODEL = "none (scripted)"

Assemble = Callable[[Sequence[Message]], Sequence[Message]]


def run_task(
    task: MiniTask,
    workdir: Path,
    assemble: Assemble = lambda history: history,
    fetch: Callable[[str], str] | None = None,
    before: Sequence[Message] = (),
) -> Trajectory:
    """Let the scripted agent play ``task`` in new folders below ``workdir``, and grade what it leaves behind.

    ``assemble`` turns the history into the prompt the agent sees, ``fetch`` resolves pointers in it; without them it
    sees everything. ``before`` is the history of earlier tasks. The trajectory holds this task's messages only.
    ``outcome.detail`` has ``resolved``, ``fail_to_pass``, ``pass_to_pass`` (numbers of tests that passed),
    ``failed`` (ids), ``calls`` and ``submission`` (a unified diff).
    """
    tools = make_tools(workdir / "tools")
    with tempfile.TemporaryDirectory(dir=workdir) as folder:
        repo = Path(folder) / "testbed"
        write_repo(task, repo)
        messages, calls = _play(task, Shell(repo, tools), assemble, fetch, list(before))
        submission = make_patch(task.files, _files_below(repo))
        result = grade(task, submission, Path(folder), tools)
    detail = {**asdict(result), "calls": calls, "submission": submission}
    outcome = Outcome("scored", passed=result.resolved, score=float(result.resolved), detail=detail)
    return Trajectory(task.id, SUITE, AGENT, MODEL, tuple(messages), outcome, source=f"{SUITE}/{task.id}")


def _play(
    task: MiniTask, shell: Shell, assemble: Assemble, fetch: Callable[[str], str] | None, history: list[Message]
) -> tuple[list[Message], int]:
    """This task's messages, and how many calls it took. ``history`` grows along."""
    agent = ScriptedAgent(task, fetch)
    own = [task_message(task)] if history else [system_message(), task_message(task)]
    history.extend(own)
    while True:
        answer = agent.next(assemble(history))
        own.append(answer)
        history.append(answer)
        command = command_of(answer)
        if command == SUBMIT:
            return own, agent.calls
        seen = Message("user", observation(shell.run(command)), kind="observation")
        own.append(seen)
        history.append(seen)


def _files_below(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8", errors="backslashreplace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def record(seed: int, count: int = 50, jobs: int = 2) -> list[dict[str, Any]]:
    """Play ``count`` tasks, ``jobs`` at a time; rows in the order of the tasks. Same arguments, same rows."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(1, jobs)) as pool:
        make_tools(Path(folder) / "tools")
        return [row(played) for played in pool.map(lambda task: run_task(task, Path(folder)), generate(seed, count))]


def row(played: Trajectory) -> dict[str, Any]:
    """A trajectory as a row of the format replay-trajectory/1."""
    outcome = dict(played.outcome.detail)
    submission = outcome.pop("submission")
    return {
        "schema": "replay-trajectory/1",
        "suite": played.suite,
        "task_id": played.id,
        "agent": played.agent,
        "model": played.model,
        "outcome": {**outcome, "failed": list(outcome["failed"])},
        "submission": submission,
        "messages": [
            {"role": m.role, "content": m.content} | ({"kind": m.kind} if m.kind else {}) for m in played.messages
        ],
        "source": {"repo": "embedded", "path": played.source, "licence": "MIT"},
    }
