"""One embedded task: a small repository with a planted bug, and how to write it to disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MiniTask:
    """A repository that contains a bug, and everything needed to tell whether it was mended.

    ``files`` maps relative POSIX paths to text. ``gold_patch`` is a unified diff from ``files`` to the mended
    sources. Test ids are dotted names as ``python -m unittest`` takes them. Unlike in SWE-bench the failing tests
    stand in the repository from the start, so there is no test patch.
    """

    id: str
    kind: str
    domain: str
    repo: str
    problem_statement: str
    files: Mapping[str, str]
    gold_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    test_command: str

    @property
    def test_ids(self) -> tuple[str, ...]:
        """All tests that decide about the task: those that must flip, then those that must hold."""
        return self.fail_to_pass + self.pass_to_pass


def is_test_file(path: str) -> bool:
    """True for files the grader restores before it runs the tests: everything in a folder of tests."""
    return any(part in ("tests", "test") for part in Path(path).parts[:-1])


def write_files(files: Mapping[str, str], directory: Path) -> None:
    """Write ``{relative path: text}`` below ``directory``, which is made when it is missing."""
    for folder in {(directory / path).parent for path in files}:
        folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        (directory / path).write_bytes(text.encode())


def write_repo(task: MiniTask, directory: Path) -> None:
    """Write the repository of ``task``, with its bug, below ``directory``."""
    write_files(task.files, directory)


def write_task_folder(task: MiniTask, directory: Path) -> None:
    """Write ``task`` in the shape of a SWE-bench 5 task folder, with the repository in ``repo/``.

    There is no Dockerfile, because nothing but an interpreter is needed, and ``test.patch`` is empty.
    """
    facts = {"instance_id": task.id, "repo": task.repo, "kind": task.kind, "domain": task.domain}
    lines = [f"{key}: {json.dumps(value)}" for key, value in facts.items()]
    tests = {"FAIL_TO_PASS": list(task.fail_to_pass), "PASS_TO_PASS": list(task.pass_to_pass)}
    write_files(
        {
            "task.yaml": "\n".join(lines) + "\n",
            "tests.json": json.dumps(tests, indent=1) + "\n",
            "problem_statement.md": task.problem_statement,
            "gold.patch": task.gold_patch,
            "test.patch": "",
            "eval.sh": f"#!/bin/bash\ncd repo && {task.test_command} -v\n",
        },
        directory,
    )
    write_files(task.files, directory / "repo")
