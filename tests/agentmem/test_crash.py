"""kill -9 in the middle of capture, extraction, scenes, persona and recall: nothing captured is lost or doubled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def killed(folder: Path, points: int, seed: int) -> dict[str, object]:
    """The report of that many killed processes on one folder."""
    command = [sys.executable, "-m", "tests.agentmem.crash_loop", str(folder), str(points), str(seed)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    report: dict[str, object] = json.loads(done.stdout)
    return report


def harmless(report: dict[str, object]) -> dict[str, object]:
    """What a report may hold: numbers. Every list in it must be empty."""
    return {name: value for name, value in report.items() if value != []}


def test_fifteen_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    report = harmless(killed(tmp_path, 15, seed=1))
    assert all(isinstance(value, int) for value in report.values()), report
    assert report["points"] == 15 and int(str(report["turns"])) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7])
def test_two_hundred_kills_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    report = harmless(killed(tmp_path, 200, seed))
    assert all(isinstance(value, int) for value in report.values()), report
    assert report["points"] == 200 and int(str(report["turns"])) > 100
