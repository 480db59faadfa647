"""The recording of the embedded tasks, made once on a machine and kept in the cache."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentmem.tokens import cache_folder
from harness.recipe import file_sha256, sources_sha256
from harness.trajectories import read
from harness.types import Trajectory


def recorded(seed: int, count: int, jobs: int) -> tuple[list[Trajectory], dict[str, str]]:
    """The recorded tasks and the sha256 of the recording, by file name.

    The cache is keyed by seed, count and the code that makes it; a recording is the same bytes every time.
    """
    made_by = sources_sha256("suites/swebench/mini")[:12]
    path = cache_folder() / "embedded" / f"swebench-mini-{seed}-{count}-{made_by}.jsonl"
    if not path.exists():
        from suites.swebench.mini.record import record

        _write(path, record(seed, count, jobs))
    name = f"swebench-mini, seed {seed}, {count} tasks"
    return read([path]), {name: file_sha256(path)}


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text("".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows), encoding="utf-8")
    part.replace(path)
