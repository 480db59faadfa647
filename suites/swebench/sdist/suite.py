"""The ``sdist`` split: real SWE-bench instances on package sdists, built once, played and graded in a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agentmem.messages import Message
from harness.errors import DataError, UnknownName
from harness.protocols import Environment, SuiteContext
from harness.types import Outcome, Task
from suites.sources import used
from suites.swebench.environment import Repository, task_prompt
from suites.swebench.sdist import instances
from suites.swebench.sdist.breaking import breaking_patch
from suites.swebench.sdist.build import Built, build
from suites.swebench.sdist.explorer import script
from suites.swebench.sdist.grade import fresh_copy, grade, outcome, sandbox_for
from suites.swebench.sdist.instances import Instance


class Sdist:
    """Option ``only``: parts of instance ids, separated by ``+``; an instance that holds one of them is played."""

    name = "swebench-sdist"
    controls = ("gold patch", "empty patch", "breaking patch")

    def __init__(self, context: SuiteContext) -> None:
        if context.data is None:
            raise DataError("suite swebench-sdist needs the data folder (--data or AGENTMEM_DATA)")
        self._context = context
        only = [part for part in context.options.get("only", "").split("+") if part]
        self.sha256 = used(context.data / instances.FILE)
        found = [one for one in instances.load(context.data) if not only or any(part in one.id for part in only)]
        if not found:
            raise DataError(f"no instance id holds {' or '.join(only)}")
        self._instances: Mapping[str, Instance] = {one.id: one for one in found}
        self._building = threading.Lock()

    def tasks(self) -> Sequence[Task]:
        """One task an instance: the issue, and a shell in the repository."""
        return [
            Task(one.id, self.name, task_prompt(one.repo, one.problem), {"instance_id": one.instance_id}, one.repo)
            for one in self._instances.values()
        ]

    def environment(self, task: Task, folder: Path) -> Environment:
        """A fresh copy of the repository in a sandbox; grading takes place in another one."""
        instance = self._instances[task.id]
        built = self.built(instance)
        return Repository(
            copy=lambda target: fresh_copy(built, target),
            sandbox=lambda work: sandbox_for(instance, built, work, self._context.open_sandbox),
            grade=lambda patch: outcome(grade(instance, built, patch, self._context.open_sandbox)),
        )

    def control(self, name: str, task: Task) -> Outcome:
        """Grade the gold patch, no patch, or the gold patch with functions that raise."""
        instance = self._instances[task.id]
        built = self.built(instance)
        patches: dict[str, Callable[[], str]] = {
            "gold patch": lambda: instance.patch,
            "empty patch": lambda: "",
            "breaking patch": lambda: breaking_patch(instance, built),
        }
        if name not in patches:
            raise UnknownName("control", name, patches)
        return outcome(grade(instance, built, patches[name](), self._context.open_sandbox))

    def script(self, tasks: Sequence[str]) -> Callable[..., Message]:
        """The scripted agent of this suite, for the tasks of one session."""
        return script(self.instance, tasks)

    def instance(self, task: str) -> Instance:
        """The instance behind a task id."""
        return self._instances[task]

    def built(self, instance: Instance) -> Built:
        """Its environment, built when it is not in the cache yet."""
        with self._building:  # one build at a time: they saturate a machine
            return build(instance, self._context.cache)
