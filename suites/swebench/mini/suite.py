"""The embedded repositories live: a shell in each, graded by its tests in another sandbox."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.errors import EnvironmentFailed, UnknownName
from harness.protocols import Environment, Sandbox, SuiteContext
from harness.types import Outcome, SandboxSpec, Task
from suites.swebench.environment import BASH, task_prompt
from suites.swebench.mini.environment import (
    VIRTUAL_ROOT,
    CommandResult,
    command_environment,
    make_tools,
    observation,
    scrubber,
)
from suites.swebench.mini.generate import generate
from suites.swebench.mini.grade import passed_tests, with_original_tests
from suites.swebench.mini.patches import apply_patch
from suites.swebench.mini.script import Script
from suites.swebench.mini.tasks import MiniTask, write_files

NAME = "swebench-mini"
LOG = ".tests.log"
NOT_RUN = (126, 127)  # what a shell says of a command that it could not run, or not find
Opener = Callable[[Path], Sandbox]  # a sandbox on a folder
DEFAULTS = {"seed": 0, "tasks": 10}
HOW = "The tests run with `python -m unittest`; nothing has to be installed."


class SweBenchMini:
    """Options: ``seed``, ``tasks`` (60 are different)."""

    name = NAME
    controls = ("gold patch", "empty patch")

    def __init__(self, context: SuiteContext) -> None:
        seed, count = (int(context.options.get(key, some)) for key, some in DEFAULTS.items())
        self._tasks = {task.id: task for task in generate(seed, count)}
        # one interpreter for all sandboxes, written before there are threads: a script that is open for writing
        # in a process that another thread has just forked cannot be run
        tools = make_tools(Path(tempfile.mkdtemp(prefix="agentmem-tools-")))
        weakref.finalize(self, shutil.rmtree, tools, ignore_errors=True)
        self._open: Opener = lambda repo: context.open_sandbox(_spec(repo, tools))

    def tasks(self) -> Sequence[Task]:
        """One task a repository."""
        return [_task(one) for one in self._tasks.values()]

    def script(self, tasks: Sequence[str]) -> Callable[..., Message]:
        """The scripted agent for one session."""
        return Script([self._tasks[name] for name in tasks])

    def environment(self, task: Task, folder: Path) -> Environment:
        """A copy of the repository with a shell in it."""
        return Repository(self._tasks[task.id], self._open)

    def control(self, name: str, task: Task) -> Outcome:
        """Grade the repository with its gold patch, or as it is."""
        if name not in self.controls:
            raise UnknownName("control", name, self.controls)
        one = self._tasks[task.id]
        return grade(one, apply_patch(one.files, one.gold_patch) if name == "gold patch" else one.files, self._open)


class Repository:
    """One task's environment."""

    def __init__(self, task: MiniTask, open_sandbox: Opener) -> None:
        self._task = task
        self._open = open_sandbox
        self._folder = tempfile.TemporaryDirectory(prefix="agentmem-task-")
        self._repo = Path(self._folder.name) / "repo"
        write_files(task.files, self._repo)
        self._sandbox = open_sandbox(self._repo)
        self._scrub = scrubber(Path(self._sandbox.root))

    def tools(self) -> list[dict[str, Any]]:
        """One tool: bash."""
        return [BASH]

    def execute(self, call: ToolCall) -> Message:
        """Run a command; its exit code and output come back without what differs from run to run."""
        command = json.loads(call.arguments or "{}").get("command")
        if not isinstance(command, str) or not command.strip():
            return Message("tool", "error: bash needs a command", tool_call_id=call.id, name=call.name, is_error=True)
        ran = self._sandbox.run(command)
        code = 124 if ran.code is None else ran.code
        text = observation(CommandResult(code, self._scrub(ran.output)))
        return Message("tool", text, tool_call_id=call.id, name=call.name, is_error=code != 0)

    def finish(self, answer: str) -> Outcome:
        """Grade the sources as they are now. The answer in words plays no part."""
        files = {
            path.relative_to(self._repo).as_posix(): path.read_bytes().decode("utf-8", errors="backslashreplace")
            for path in sorted(self._repo.rglob("*.py"))
            if path.is_file() and not path.is_symlink()
        }
        return grade(self._task, files, self._open)

    def close(self) -> None:
        """Remove the copy."""
        self._sandbox.close()
        self._folder.cleanup()


def grade(task: MiniTask, files: Mapping[str, str], open_sandbox: Opener) -> Outcome:
    """Run the original tests on some sources in a sandbox of their own. Passed is: every deciding test passes.

    Raises ``EnvironmentFailed`` when they could not be started.
    """
    with tempfile.TemporaryDirectory(prefix="agentmem-grade-") as folder:
        repo = Path(folder) / "repo"
        write_files(with_original_tests(task, files), repo)
        sandbox = open_sandbox(repo)
        try:
            ran = sandbox.run(f"{task.test_command} -v >{LOG} 2>&1")  # a file is whole, whatever the machine's load
        finally:
            sandbox.close()
        log = (repo / LOG).read_text(encoding="utf-8", errors="replace") if (repo / LOG).is_file() else ran.output
    if ran.code in NOT_RUN:
        raise EnvironmentFailed(f"the tests of {task.id} could not be started: {log[-300:].strip()}")
    passed = passed_tests(log)
    failed = [name for name in task.test_ids if name not in passed]
    return Outcome("scored", not failed, float(not failed), detail={"failed": failed})


def _spec(repo: Path, tools: Path) -> SandboxSpec:
    return SandboxSpec(
        work=str(repo),
        inside=VIRTUAL_ROOT,
        read_only=tuple(dict.fromkeys((str(tools), sys.prefix, sys.base_prefix))),
        environment=command_environment(tools),
        seconds=60.0,
    )


def _task(one: MiniTask) -> Task:
    system, request = task_prompt(one.repo, one.problem_statement)
    prompt = (system, Message("user", f"{request.content}\n{HOW}", kind="task"))
    return Task(one.id, NAME, prompt, {"kind": one.kind, "domain": one.domain})
