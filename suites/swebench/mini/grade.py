"""Grades a patch: a fresh copy of the repository, the patch, the original tests, one real test run."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suites.swebench.mini.environment import Shell
from suites.swebench.mini.patches import apply_patch
from suites.swebench.mini.tasks import MiniTask, is_test_file, write_files

_PASSED = re.compile(r"^test\w* \(([\w.]+)\) \.\.\. ok$", re.MULTILINE)


@dataclass(frozen=True)
class Grade:
    """``resolved`` is true when every test of FAIL_TO_PASS and of PASS_TO_PASS passed; ``failed`` names the others."""

    resolved: bool
    fail_to_pass: int
    pass_to_pass: int
    failed: tuple[str, ...]


def grade(task: MiniTask, patch: str, folder: Path, tools: Path) -> Grade:
    """Grade ``patch`` in a new directory below ``folder``. Raises ``PatchRejected`` when it does not fit."""
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        write_files(with_original_tests(task, apply_patch(task.files, patch)), Path(fresh))
        log = Shell(Path(fresh), tools).run(f"{task.test_command} -v").output
    passed = passed_tests(log)
    failed = tuple(name for name in task.test_ids if name not in passed)
    return Grade(
        resolved=not failed,
        fail_to_pass=sum(name in passed for name in task.fail_to_pass),
        pass_to_pass=sum(name in passed for name in task.pass_to_pass),
        failed=failed,
    )


def passed_tests(log: str) -> set[str]:
    """The tests that a verbose unittest log reports as ``ok``."""
    return set(_PASSED.findall(log))


def with_original_tests(task: MiniTask, files: Mapping[str, str]) -> dict[str, str]:
    """``files`` with every test file as the task has it: changed ones restored, added ones left out."""
    sources = {path: text for path, text in files.items() if not is_test_file(path)}
    return sources | {path: text for path, text in task.files.items() if is_test_file(path)}
