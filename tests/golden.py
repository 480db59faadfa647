"""Golden cases: one JSON object a line, read from the folder named by AGENTMEM_GOLDEN."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "AGENTMEM_GOLDEN"


def golden_path(file: str) -> Path | None:
    """The path of a golden file, or ``None`` when the variable is unset or the folder does not hold the file."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    path = Path(folder) / file
    return path if path.exists() else None


def golden_rows(file: str, *kinds: str) -> list[dict[str, Any]]:
    """The cases of a file in file order, all of them or those of the given kinds; empty when there is no file."""
    path = golden_path(file)
    if path is None:
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return [row for row in rows if not kinds or row.get("kind") in kinds]


def golden_cases(file: str, *kinds: str) -> list[Any]:
    """The cases as parameters with their id, for ``@pytest.mark.parametrize("case", golden_cases(...))``.

    One skipped parameter stands for them where there are none, so that a run says what it left out.
    """
    rows = golden_rows(file, *kinds)
    if rows:
        return [pytest.param(row, id=str(row["id"])) for row in rows]
    what = f"{VARIABLE} is unset or holds no {file}" + (f" with {', '.join(kinds)}" if kinds else "")
    return [pytest.param({}, id="none", marks=pytest.mark.skip(reason=what))]
