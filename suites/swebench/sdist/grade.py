"""Grades a patch on a real instance: fresh sandbox, base, model patch, hidden tests, then the log is read.

Uses swebench's own grading functions where that extra is installed, else the parser port of this suite. The log
format (markers, exit code) is that of swebench 5.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.errors import EnvironmentFailed
from harness.protocols import Sandbox
from harness.types import Outcome, SandboxSpec
from suites.swebench.sdist.build import Built
from suites.swebench.sdist.instances import Instance

SECONDS = 900.0
LOG_BYTES = 50_000_000
START, END, EXIT = ">>>>> Start Test Output", ">>>>> End Test Output", ">>>>> Test Exit Code"
PATCH_FAILED = ">>>>> Patch Apply Failed"
PATCH, TESTS, SCRIPT = ".model.patch", ".tests.patch", ".eval.sh"
Opener = Callable[[SandboxSpec], Sandbox]


@dataclass(frozen=True, slots=True)
class Graded:
    """What a grading run showed. ``grader`` says whose functions read the log."""

    resolved: bool
    applied: bool
    grader: str
    seconds: float
    log: str
    tests: Mapping[str, Any]


def sandbox_for(instance: Instance, built: Built, work: Path, open_sandbox: Opener, **limits: Any) -> Sandbox:
    """A sandbox in which ``work`` stands where the repository was built, so that its installed paths still fit."""
    return open_sandbox(
        SandboxSpec(
            work=str(work),
            inside=str(built.repo),
            read_only=(str(built.venv), str(built.python_root)),
            environment={
                "PATH": f"{built.venv}/bin:/usr/bin:/bin",
                # where there is no isolation the work folder is not at its place: it has to come first
                "PYTHONPATH": f"{work}/src:{work}" if not _mounted(open_sandbox) else "",
                "LANG": "C.UTF-8",
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
            },
            **limits,
        )
    )


def fresh_copy(built: Built, target: Path) -> Path:
    """The repository at its base, in a folder of its own."""
    shutil.copytree(built.repo, target, symlinks=True)
    return target


def grade(instance: Instance, built: Built, patch: str | None, open_sandbox: Opener) -> Graded:
    """Apply ``patch`` to a fresh base, run the hidden tests without network, read the log.

    An empty patch is not run and not resolved. Raises ``EnvironmentFailed`` when the sandbox does not work.
    """
    if not patch or not patch.strip():
        return Graded(False, False, "none: no patch", 0.0, "", {})
    with tempfile.TemporaryDirectory(prefix="agentmem-grade-") as folder:
        work = fresh_copy(built, Path(folder) / "repo")
        for name, text in ((PATCH, patch), (TESTS, instance.test_patch), (SCRIPT, _script(instance))):
            # newline="": a patch of a file with CRLF must stay as it is
            (work / ".git" / name).write_text(text if text.endswith("\n") else text + "\n", "utf-8", newline="")
        sandbox = sandbox_for(instance, built, work, open_sandbox, seconds=SECONDS, output=LOG_BYTES)
        try:
            ran = sandbox.run(f"bash .git/{SCRIPT}")
        finally:
            sandbox.close()
        if START not in ran.output and PATCH_FAILED not in ran.output:
            raise EnvironmentFailed(f"{instance.id}: the tests did not start: {ran.output[-800:]}")
        timed_out = "\n>>>>> Tests Timed Out\n" if ran.code is None else ""
        log = Path(folder) / "test_output.txt"
        log.write_text(ran.output + timed_out, encoding="utf-8", errors="backslashreplace")
        resolved, applied, grader, tests = read_log(instance, patch, log)
        return Graded(resolved, applied, grader, ran.seconds, log.read_text(encoding="utf-8"), tests)


def outcome(graded: Graded) -> Outcome:
    """The grading as an outcome: resolved or not, with the tests that decided."""
    detail = {"grader": graded.grader, "applied": graded.applied, "seconds": graded.seconds, "tests": graded.tests}
    return Outcome("scored", graded.resolved, float(graded.resolved), None, detail)


def read_log(instance: Instance, patch: str, log: Path) -> tuple[bool, bool, str, Mapping[str, Any]]:
    """(resolved, patch applied and log valid, grader, tests by list) of a test log."""
    if find_spec("swebench") is not None:
        return _by_swebench(instance, patch, log)
    return _by_port(instance, log)


def _by_swebench(instance: Instance, patch: str, log: Path) -> tuple[bool, bool, str, Mapping[str, Any]]:
    from importlib.metadata import version

    from swebench.harness.grading import get_eval_report
    from swebench.types import TestSpec

    spec = TestSpec(
        instance_id=instance.instance_id,
        image="",
        eval_script_list=[],
        repo=instance.repo,
        version=instance.version,
        FAIL_TO_PASS=list(instance.fail_to_pass),
        PASS_TO_PASS=list(instance.pass_to_pass),
        log_parser=instance.log_parser,
        eval_type="pass_and_fail",
    )
    prediction = {"instance_id": instance.instance_id, "model_name_or_path": "", "model_patch": patch}
    report = get_eval_report(spec, prediction, str(log), True)[instance.instance_id]
    grader = f"swebench {version('swebench')}"
    return report["resolved"], report["patch_successfully_applied"], grader, report.get("tests_status", {})


def _by_port(instance: Instance, log: Path) -> tuple[bool, bool, str, Mapping[str, Any]]:
    raise NotImplementedError


def _mounted(open_sandbox: Opener) -> bool:
    return getattr(open_sandbox, "isolation", "") != "none"


def _script(instance: Instance) -> str:
    """The eval script: model patch by the official chain, then the hidden tests over it, then the test command."""
    attempts = ["git apply --verbose", "git apply --verbose --3way", "git apply --verbose --reject"]
    chain = " || ".join(f"(clean; {attempt} .git/{PATCH})" for attempt in attempts)
    touched = " ".join(sorted(_files(instance.test_patch)))
    return "\n".join(
        [
            "#!/bin/bash",
            "clean() { git checkout -q -- . && git clean -fdq; }",
            f"if ! {{ {chain} || (clean; patch --batch --fuzz=5 -p1 -i .git/{PATCH}); }}; then",
            f"  echo '{PATCH_FAILED}'; exit 1",
            "fi",
            # whatever the patch did to the files of the hidden tests is undone
            f"for file in {touched}; do git checkout -q HEAD -- $file 2>/dev/null || rm -f $file; done",
            f"git apply --verbose .git/{TESTS} || {{ echo '>>>>> Reset Failed'; exit 1; }}",
            f"echo '{START}'",
            f"{instance.test_command} {' '.join(instance.test_targets)}",
            "code=$?",
            f"echo '{END}'",
            f'echo "{EXIT}: $code"',
            "",
        ]
    )


def _files(patch: str) -> set[str]:
    return {line[6:].strip() for line in patch.split("\n") if line.startswith(("+++ b/", "--- a/"))}
