"""Real SWE-bench instances whose repository can be built from a package sdist: one frozen record each.

The base is a release, not the official commit, so an instance is named ``<instance_id>@<release>`` and its
result is never a SWE-bench score.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError

FILE = "swebench/sdist_instances.jsonl.gz"
COLUMNS = (
    "instance_id",
    "repo",
    "version",
    "problem_statement",
    "patch",
    "test_patch",
    "FAIL_TO_PASS",
    "PASS_TO_PASS",
    "sdist",
    "python",
    "pip_packages",
    "extra_packages",
    "test_command",
    "test_targets",
    "log_parser",
)
PINS: dict[str, tuple[str, ...]] = {
    # later releases of these refuse every Sphinx before 5.0; the limits are those of SWE-bench's own specs
    "Sphinx": (
        "alabaster<0.7.12",
        "sphinxcontrib-applehelp<=1.0.7",
        "sphinxcontrib-devhelp<=1.0.5",
        "sphinxcontrib-qthelp<=1.0.6",
        "sphinxcontrib-htmlhelp<=2.0.4",
        "sphinxcontrib-serializinghtml<=1.1.9",
    ),
}


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance: what to install, what to run, which tests must flip and which must hold."""

    instance_id: str
    repo: str
    version: str
    problem: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    sdist: str
    release: str
    python: str
    packages: tuple[str, ...]
    extra: tuple[str, ...]
    pins: tuple[str, ...]
    test_command: str
    test_targets: tuple[str, ...]
    log_parser: str

    @property
    def id(self) -> str:
        """``<instance_id>@<release>``."""
        return f"{self.instance_id}@{self.release}"

    @property
    def build_key(self) -> str:
        """Names the environment; instances that install the same things share one."""
        wanted = [self.sdist, self.release, self.python, self.packages, self.extra, *self.pins]
        digest = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
        return f"{self.sdist.lower()}-{self.release}-py{self.python}-{digest[:10]}"


def load(data: Path) -> list[Instance]:
    """The instances of the data folder, in file order. Raises ``DataError`` for a missing file or column."""
    path = data / FILE
    if not path.is_file():
        raise DataError(f"{path} is missing: the sdist split needs the data folder (--data or AGENTMEM_DATA)")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [instance(json.loads(line), f"{path}:{number}") for number, line in enumerate(lines, 1)]


def instance(row: Mapping[str, Any], where: str = "row") -> Instance:
    """One row as a record. Raises ``DataError`` that names the first missing column."""
    for column in COLUMNS:
        if column not in row:
            raise DataError(f"{where}: column {column!r} is missing; has {', '.join(sorted(row))}")
    return Instance(
        instance_id=row["instance_id"],
        repo=row["repo"],
        version=row["version"],
        problem=row["problem_statement"],
        patch=row["patch"],
        test_patch=row["test_patch"],
        fail_to_pass=tuple(row["FAIL_TO_PASS"]),
        pass_to_pass=tuple(row["PASS_TO_PASS"]),
        sdist=row["sdist"]["name"],
        release=row["sdist"]["version"],
        python=row["python"],
        packages=tuple(row["pip_packages"]),
        extra=tuple(row["extra_packages"]),
        pins=PINS.get(row["sdist"]["name"], ()),
        test_command=_command(row["test_command"], row["sdist"]),
        test_targets=tuple(row["test_targets"]),
        log_parser=row["log_parser"],
    )


def _command(command: str, sdist: Mapping[str, str]) -> str:
    # the option came with pytest 4.5; its own release 4.4 is run with the letters that mean the same
    old = sdist["name"] == "pytest" and sdist["version"].startswith(("3.", "4.0", "4.1", "4.2", "4.3", "4.4"))
    return command.replace("-rA", "-rap") if old else command
