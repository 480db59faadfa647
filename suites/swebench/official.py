"""SWE-bench with the official images: a shell in one container, grading in a fresh one by swebench's own functions.

Needs docker, the images of the rows, and the extra ``swebench`` (5.x, whose rows carry ``image``, ``eval_script``,
``log_parser`` and ``eval_type``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.errors import DataError, EnvironmentFailed, UnknownName, UsageError
from harness.protocols import Environment, SuiteContext
from harness.types import Outcome, SandboxSpec, Task
from suites.swebench.environment import Repository
from suites.swebench.tasks import Instance, load

REPOSITORY = "/testbed"
PATH = "/opt/miniconda3/envs/testbed/bin:/opt/miniconda3/bin:/usr/local/bin:/usr/bin:/bin"
SECONDS = 1_800.0
COLUMNS = ("image", "eval_script", "log_parser", "eval_type")
APPLY = """cd /testbed
for how in 'git apply' 'git apply --3way' 'git apply --reject' 'patch --batch --fuzz=5 -p1 -i'; do
  git checkout -q -- . && git clean -fdq
  $how /grade/model.patch && applied=yes && break
done
[ "$applied" = yes ] || { echo '>>>>> Patch Apply Failed'; exit 1; }
bash /grade/eval.sh
"""


class Official:
    """Option ``file``: another file of the data folder than the first found; it must hold the 5.x columns."""

    name = "swebench"
    controls = ("gold patch", "empty patch")

    def __init__(self, context: SuiteContext) -> None:
        if find_spec("swebench") is None:
            raise UsageError(
                "suite swebench grades by swebench's own functions: pip install 'agentmem-bench[swebench]'"
            )
        loaded = load(context.data, file=context.options.get("file"))
        self.sha256 = loaded.sha256
        self._context = context
        self._instances: Mapping[str, Instance] = {one.id: one for one in loaded.records}
        for one in loaded.records:
            lacking = [column for column in COLUMNS if not one.row.get(column)]
            if lacking:
                raise DataError(f"{one.id}: column {lacking[0]!r} is missing; the rows must be those of swebench 5.x")

    def tasks(self) -> Sequence[Task]:
        """The instances in file order."""
        return [one.task() for one in self._instances.values()]

    def environment(self, task: Task, folder: Path) -> Environment:
        """A container of the instance's image, without network."""
        one = self._instances[task.id]
        spec = SandboxSpec(work="", inside=REPOSITORY, image=one.row["image"], environment={"PATH": PATH})
        return Repository(
            copy=lambda target: target,
            sandbox=lambda work: self._context.open_sandbox(spec),
            grade=lambda patch: self._grade(one, patch),
        )

    def control(self, name: str, task: Task) -> Outcome:
        """Grade the gold patch, or none."""
        one = self._instances[task.id]
        if name not in self.controls:
            raise UnknownName("control", name, self.controls)
        return self._grade(one, (one.patch or "") if name == "gold patch" else "")

    def _grade(self, one: Instance, patch: str) -> Outcome:
        """A fresh container: patch, eval script, report. Raises ``EnvironmentFailed`` when no test was started."""
        if not patch.strip():
            return Outcome("scored", False, 0.0, detail={"grader": "none: no patch"})
        from swebench.harness.utils import make_test_spec

        spec = make_test_spec(dict(one.row))
        with tempfile.TemporaryDirectory(prefix="agentmem-grade-") as folder:
            (Path(folder) / "model.patch").write_text(patch, "utf-8", newline="")
            (Path(folder) / "eval.sh").write_text(spec.eval_script, "utf-8", newline="\n")
            box = self._context.open_sandbox(
                SandboxSpec(
                    work=folder,
                    inside="/grade",
                    image=one.row["image"],
                    environment={"PATH": PATH},
                    seconds=SECONDS,
                    output=50_000_000,
                )
            )
            try:
                ran = box.run(APPLY)
            finally:
                box.close()
            log = Path(folder) / "test_output.txt"
            timed_out = "\n>>>>> Tests Timed Out\n" if ran.code is None else ""
            log.write_text(ran.output + timed_out, "utf-8", errors="backslashreplace")
            return _report(one, spec, patch, log)


def _report(one: Instance, spec: Any, patch: str, log: Path) -> Outcome:
    from importlib.metadata import version

    from swebench.harness.grading import get_eval_report

    prediction = {"instance_id": one.id, "model_name_or_path": "", "model_patch": patch}
    report = get_eval_report(spec, prediction, str(log), True)[one.id]
    if report.get("infra_failure"):
        raise EnvironmentFailed(f"{one.id}: {report.get('infra_failure_reason')}")
    detail = {"grader": f"swebench {version('swebench')}", "applied": report["patch_successfully_applied"]}
    return Outcome("scored", report["resolved"], float(report["resolved"]), detail=detail)
