"""Grades a patch on a real instance: fresh sandbox, base, model patch, hidden tests, then the log is read.

Uses swebench's own grading functions where that extra is installed, else the parser port of this suite. The log
format (markers, exit code) is that of swebench 5.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.errors import EnvironmentFailed
from harness.protocols import Sandbox
from harness.types import Outcome, SandboxSpec
from suites.swebench.grading import grade_log
from suites.swebench.sdist.build import Built
from suites.swebench.sdist.instances import Instance
from suites.swebench.versions import DEFAULT

SECONDS = 900.0
LOG_BYTES = 50_000_000
LISTED = 20  # names of failed tests kept of a list
START, END, EXIT = ">>>>> Start Test Output", ">>>>> End Test Output", ">>>>> Test Exit Code"
PATCH_FAILED = ">>>>> Patch Apply Failed"
PATCH, TESTS, SCRIPT = ".model.patch", ".tests.patch", ".eval.sh"
LEFT_BEHIND = ("__pycache__/", "*.pyc", ".pytest_cache/", ".hypothesis/", ".tox/", ".coverage")  # by test runs
Opener = Callable[[SandboxSpec], Sandbox]


@dataclass(frozen=True, slots=True)
class Read:
    """What a log shows. ``applied``: the patch applied and the log is valid. ``grader`` says whose functions read it;
    ``tests`` maps FAIL_TO_PASS and PASS_TO_PASS to (number of successes, tests that failed)."""

    resolved: bool
    applied: bool
    grader: str
    tests: Mapping[str, tuple[int, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Graded:
    """A grading run: what its log shows, how long it took, the log."""

    read: Read
    seconds: float
    log: str

    @property
    def resolved(self) -> bool:
        """Every FAIL_TO_PASS test passes and every PASS_TO_PASS test still does."""
        return self.read.resolved


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
    (target / ".git/info").mkdir(exist_ok=True)
    (target / ".git/info/exclude").write_text("\n".join(LEFT_BEHIND) + "\n")  # sdists come without .gitignore
    return target


def grade(instance: Instance, built: Built, patch: str | None, open_sandbox: Opener) -> Graded:
    """Apply ``patch`` to a fresh base, run the hidden tests without network, read the log.

    An empty patch is not run and not resolved. Raises ``EnvironmentFailed`` when the sandbox does not work.
    """
    if not patch or not patch.strip():
        return Graded(Read(False, False, "none: no patch", {}), 0.0, "")
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
        return Graded(read_log(instance, patch, log), ran.seconds, log.read_text(encoding="utf-8"))


def outcome(graded: Graded) -> Outcome:
    """The grading as an outcome: resolved or not, with the tests that decided."""
    tests = {
        name: {"passed": passed, "failed": list(failed)[:LISTED]}
        for name, (passed, failed) in graded.read.tests.items()
    }
    detail = {"grader": graded.read.grader, "applied": graded.read.applied, "seconds": graded.seconds, "tests": tests}
    return Outcome("scored", graded.resolved, float(graded.resolved), None, detail)


def read_log(instance: Instance, patch: str, log: Path) -> Read:
    """What a test log shows, read by swebench where it is installed, else by the port."""
    return _by_swebench(instance, patch, log) if find_spec("swebench") is not None else _by_port(instance, log)


def _by_swebench(instance: Instance, patch: str, log: Path) -> Read:
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
    tests = {
        name: (len(found["success"]), tuple(found["failure"]))
        for name, found in report.get("tests_status", {}).items()
        if name.endswith("_TO_PASS")
    }
    return Read(report["resolved"], report["patch_successfully_applied"], f"swebench {version('swebench')}", tests)


def _by_port(instance: Instance, log: Path) -> Read:
    graded = grade_log(
        log.read_text(encoding="utf-8"),
        parser=instance.log_parser,
        fail_to_pass=instance.fail_to_pass,
        pass_to_pass=instance.pass_to_pass,
        eval_type="pass_and_fail",
        version=DEFAULT,
    )
    tests = {"FAIL_TO_PASS": graded.fail_to_pass, "PASS_TO_PASS": graded.pass_to_pass}
    lists = {name: (len(found.success), found.failure) for name, found in tests.items()}
    return Read(graded.resolved, graded.valid, f"port of swebench {DEFAULT}", lists if graded.valid else {})


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
