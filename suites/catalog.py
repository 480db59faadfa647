"""The data sets the suites can use: what they are, where they lie, how to fetch them and how to check a folder.

Plain functions behind ``agentmem-bench data list|fetch|verify``. Nothing is downloaded but by ``fetch``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from harness.errors import DataError, UnknownName
from suites import hub
from suites.sources import file_sha256, read_text

MANIFEST = "MANIFEST.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One data set. ``module`` holds its loader; ``note`` says what a user must know before sharing or quoting."""

    name: str
    title: str
    module: str
    source: str
    licence: str
    note: str = ""


CATALOG: tuple[Entry, ...] = (
    Entry(
        "swebench",
        "SWE-bench Verified, 500 issues",
        "suites.swebench.tasks",
        "hub: princeton-nlp/SWE-bench_Verified",
        "MIT (code); issues and patches under the licences of their projects",
    ),
    Entry(
        "widesearch",
        "WideSearch, 200 requests for tables",
        "suites.widesearch.tasks",
        "hub: ByteDance-Seed/WideSearch",
        "MIT (code); the data set card says other",
        "requests without a gold table are left out and listed",
    ),
    Entry(
        "aalcr",
        "AA-LCR, 100 questions over 30 sets of documents",
        "suites.aalcr.tasks",
        "hub: ArtificialAnalysis/AA-LCR",
        "Apache-2.0 (the compilation; the documents are third parties')",
    ),
    Entry(
        "personamem",
        "PersonaMem v1, 589 questions at 32k tokens",
        "suites.personamem.tasks",
        "hub: bowen-upenn/PersonaMem",
        "MIT",
        "rebuilt files know only an upper bound of each context: never quote them as PersonaMem scores",
    ),
    Entry(
        "locomo",
        "LoCoMo, 1,986 questions over ten conversations",
        "suites.locomo.tasks",
        "file: data/locomo10.json of github.com/snap-research/locomo",
        "CC BY-NC 4.0",
        "not for commercial use; fetch it yourself",
    ),
    Entry(
        "longmemeval",
        "LongMemEval S, 500 questions over long chat histories",
        "suites.longmemeval.tasks",
        "hub: xiaowu0162/longmemeval-cleaned",
        "MIT",
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds of one data set: how many tasks, which were left out, or why it cannot be read."""

    entry: Entry
    tasks: int | None = None
    left_out: int | None = None
    sha256: tuple[tuple[str, str], ...] = ()
    problem: str | None = None


def entry(name: str) -> Entry:
    """The catalogue entry of that name. Raises ``UnknownName``."""
    for candidate in CATALOG:
        if candidate.name == name:
            return candidate
    raise UnknownName("data set", name, (candidate.name for candidate in CATALOG))


def listing(root: Path | None) -> list[Found]:
    """The catalogue, with what ``root`` holds of each; without a folder only the catalogue. Never raises for data."""
    return [look(one, root) if root is not None else Found(one) for one in CATALOG]


def look(one: Entry, root: Path) -> Found:
    """Read one data set of a folder from its first byte to its last."""
    try:
        loaded = import_module(one.module).load(root)
    except DataError as error:
        return Found(one, problem=str(error))
    return Found(one, len(loaded.records), len(loaded.left_out), tuple(sorted(loaded.sha256.items())))


def fetch(name: str, root: Path, revision: str | None = None, download: Callable[..., Any] | None = None) -> Found:
    """Download a hub set into ``root/<name>`` and write its manifest. Raises ``DataError`` and ``UnknownName``."""
    one = entry(name)
    if name not in hub.SETS:
        raise DataError(f"{name} is no hub set: put it into {root / name} yourself ({one.source}, {one.licence})")
    folder = hub.fetch(name, root / name, revision, download)
    wanted = hub.SETS[name]
    write_manifest(folder, f"{wanted.id}@{revision or wanted.revision or 'newest'}")
    return look(one, root)


def write_manifest(folder: Path, source: str) -> Path:
    """``MANIFEST.json`` of a folder: its source, and path, bytes and sha256 of every file."""
    records = [
        {
            "path": path.relative_to(folder).as_posix(),
            "bytes": path.stat().st_size,
            "sha256": file_sha256(path),
            "source": source,
        }
        for path in hub.files_in(folder)
        if path.name != MANIFEST
    ]
    target = folder / MANIFEST
    target.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    return target


def verify(root: Path) -> tuple[int, list[str]]:
    """(files checked, problems) of a folder by the manifests in it and in its sub-folders.

    A problem is one line: a file that is missing, has another size or other bytes. Raises ``DataError`` when there is
    no manifest or it is none.
    """
    manifests = [path for path in (root / MANIFEST, *sorted(root.glob(f"*/{MANIFEST}"))) if path.is_file()]
    if not manifests:
        raise DataError(f"no {MANIFEST} in {root} or its sub-folders: nothing to verify against")
    checked, problems = 0, []
    for manifest in manifests:
        for record in _records(manifest):
            checked += 1
            problem = _check(manifest.parent / record["path"], record)
            if problem is not None:
                problems.append(problem)
    return checked, problems


def _records(manifest: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(read_text(manifest))
        for record in found:
            if not {"path", "bytes", "sha256"} <= record.keys():
                raise ValueError(f"a record has no path, bytes or sha256: {record}")
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{manifest} is no manifest: {error}") from error
    return list(found)


def _check(path: Path, record: dict[str, Any]) -> str | None:
    if not path.is_file():
        return f"{record['path']}: missing"
    size = path.stat().st_size
    if size != record["bytes"]:
        return f"{record['path']}: {size} bytes, the manifest says {record['bytes']}"
    digest = file_sha256(path)
    if digest != record["sha256"]:
        return f"{record['path']}: sha256 {digest}, the manifest says {record['sha256']}"
    return None
