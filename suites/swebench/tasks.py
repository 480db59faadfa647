"""Tasks of SWE-bench: rows of Verified (or Lite) from a folder or the hub, as frozen records.

``hints_text``, the gold patch and the hidden tests are never part of what an agent is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.types import Task
from suites import hub
from suites.sources import Loaded, Row, check_columns, locate, read_rows, used
from suites.swebench.environment import task_prompt

NAME = "swebench"
FOLDERS = ("swebench", "data", "swebench/data")
FILES = (
    "swebench_verified.jsonl",
    "test-00000-of-00001.parquet",
    "swebench_verified_200rows.jsonl",
    "swebench_verified_500_index.jsonl",
    "swebench_verified_mini_50rows.csv",
)
COLUMNS = ("instance_id", "repo", "base_commit", "problem_statement", "FAIL_TO_PASS", "PASS_TO_PASS")


@dataclass(frozen=True, slots=True)
class Instance:
    """One row. ``patch`` and ``test_patch`` are ``None`` where a file does not carry them."""

    id: str
    repo: str
    base_commit: str
    problem: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    patch: str | None
    test_patch: str | None
    version: str | None
    row: Mapping[str, Any]

    def task(self) -> Task:
        """The issue as a task; statistics resample whole repositories."""
        return Task(self.id, NAME, task_prompt(self.repo, self.problem), {"instance_id": self.id}, self.repo)


def load(
    root: Path | None, *, file: str | None = None, dataset: str = NAME, revision: str | None = None
) -> Loaded[Instance]:
    """The instances of a folder, or of the hub without one (``dataset``: swebench is Verified, or swebench-lite).
    ``file`` picks another file than the first found.

    Raises ``DataError`` for a missing file or column and for an instance that stands twice.
    """
    if root is None:
        rows, sha256 = hub.load_rows(dataset, revision)
    else:
        path = locate(root, FOLDERS, (file,) if file else FILES)
        rows, sha256 = read_rows(path), used(path)
        check_columns(rows, COLUMNS, path)
    return Loaded(_unique([instance(row) for row in rows]), sha256)


def instance(row: Row) -> Instance:
    """One row as a record; the test lists may be lists or JSON text. Raises ``DataError``."""
    return Instance(
        id=row["instance_id"],
        repo=row["repo"],
        base_commit=row["base_commit"],
        problem=row["problem_statement"],
        fail_to_pass=_tests(row, "FAIL_TO_PASS"),
        pass_to_pass=_tests(row, "PASS_TO_PASS"),
        patch=row.get("patch"),
        test_patch=row.get("test_patch"),
        version=row.get("version"),
        row=row,
    )


def _tests(row: Row, column: str) -> tuple[str, ...]:
    value = row[column]
    try:
        found = json.loads(value) if isinstance(value, str) else list(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{row['instance_id']}: column {column!r} holds no list of tests: {error}") from error
    if not isinstance(found, list):
        raise DataError(f"{row['instance_id']}: column {column!r} holds no list of tests")
    return tuple(map(str, found))


def _unique(instances: Sequence[Instance]) -> tuple[Instance, ...]:
    seen: set[str] = set()
    for one in instances:
        if one.id in seen:
            raise DataError(f"instance {one.id} stands twice")
        seen.add(one.id)
    return tuple(instances)
