"""Known wrong gold answers: a versioned file a suite. The harness counts every run with and without them.

An erratum names its task, a digest of the question it was written for, what to do and a source. It either leaves the
task out or puts another value into one column of its row. Nothing of the data set itself is repeated here.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from harness.errors import DataError

FILE = "errata.toml"
_KEYS = {"task", "question_sha256", "action", "reason", "source"}


@dataclass(frozen=True, slots=True)
class Erratum:
    """One correction. ``replace`` puts ``value`` into ``column``; ``exclude`` leaves the task out."""

    task: str
    question_sha256: str
    action: Literal["replace", "exclude"]
    reason: str
    source: str
    column: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Errata:
    """The corrections of one suite. ``sha256`` of the file goes into the recipe beside the version."""

    suite: str
    version: str
    sha256: str
    entries: Mapping[str, Erratum]

    @property
    def excluded(self) -> frozenset[str]:
        """Tasks that are left out of a corrected score."""
        return frozenset(task for task, entry in self.entries.items() if entry.action == "exclude")

    def mend(self, task: str, question: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row with its correction, or a copy of it. Raises ``DataError`` when the question is another one than
        the erratum was written for, or the column does not exist."""
        entry = self.entries.get(task)
        if entry is None:
            return dict(row)
        if hashlib.sha256(question.encode()).hexdigest() != entry.question_sha256:
            raise DataError(f"erratum of {self.suite} {self.version} for {task}: the data hold another question there")
        if entry.action == "exclude":
            return dict(row)
        if entry.column not in row:
            raise DataError(f"erratum of {self.suite} {self.version} for {task}: no column {entry.column!r}")
        return {**row, str(entry.column): entry.value}


def load_errata(suite: str, path: Path | None = None) -> Errata:
    """The errata of a suite: the file that comes with it, or ``path``; none where there is no file.

    Raises ``DataError`` that names the entry and what is wrong with it.
    """
    resource = files("suites").joinpath(suite, FILE) if path is None else path
    if path is None and not resource.is_file():
        return Errata(suite, "0", hashlib.sha256(b"").hexdigest(), {})
    try:
        raw = resource.read_bytes()
        found = tomllib.loads(raw.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{resource}: {error}") from error
    entries = [_entry(number, entry, str(resource)) for number, entry in enumerate(found.get("entry", []), start=1)]
    by_task = {entry.task: entry for entry in entries}
    if len(by_task) != len(entries):
        raise DataError(f"{resource}: a task has two entries")
    return Errata(suite, str(found.get("version", "0")), hashlib.sha256(raw).hexdigest(), by_task)


def _entry(number: int, raw: Mapping[str, Any], where: str) -> Erratum:
    lacking = sorted(_KEYS - raw.keys())
    if lacking:
        raise DataError(f"{where}: entry {number} lacks {lacking[0]!r}")
    if raw["action"] not in ("replace", "exclude"):
        raise DataError(f"{where}: entry {number}: action {raw['action']!r}: expected replace or exclude")
    if raw["action"] == "replace" and not {"column", "value"} <= raw.keys():
        raise DataError(f"{where}: entry {number} replaces, so it needs 'column' and 'value'")
    unknown = sorted(raw.keys() - _KEYS - {"column", "value"})
    if unknown:
        raise DataError(f"{where}: entry {number} has an unknown key {unknown[0]!r}")
    return Erratum(**raw)
