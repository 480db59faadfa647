"""Speed of a replay on 500 recorded tasks, and that work grows with calls, not with their square.

Needs AGENTMEM_DATA. The figures asked for: first run under 60 s, warm under 15 s, 500 tasks at most 5.5 times 100.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FILE = "swebench/verified_mini-swe-agent_gemini-3-pro.jsonl.gz"
ARMS = ("full", "mask", "isolated", "summary", "agentmem")


def recorded() -> Path:
    """The recorded tasks; skips without data."""
    folder = os.environ.get("AGENTMEM_DATA")
    path = Path(folder or ".") / FILE
    if not folder or not path.exists():
        pytest.skip("AGENTMEM_DATA holds no recorded SWE-bench run")
    return path


def replay(out: Path, cache: Path, *options: str) -> None:
    """One whole process of the command line."""
    command = [
        sys.executable,
        "-c",
        "from harness.cli import main; main()",
        "replay",
        str(recorded()),
        "--out",
        str(out),
    ]
    arms = [part for arm in ARMS for part in ("--arm", arm)]
    environment = {**os.environ, "AGENTMEM_CACHE": str(cache)}
    subprocess.run([*command, *arms, *options], env=environment, check=True, capture_output=True)


def test_first_run(benchmark: Any, tmp_path: Path) -> None:
    """500 tasks, five arms, counting every token for the first time."""
    numbers = iter(range(100))
    benchmark.pedantic(
        lambda: (number := next(numbers), replay(tmp_path / f"out{number}", tmp_path / f"cache{number}")), rounds=1
    )
    benchmark.extra_info["peak_kilobytes_of_one_process"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def test_warm_run(benchmark: Any, tmp_path: Path) -> None:
    """The same with every token counted before."""
    replay(tmp_path / "out", tmp_path / "cache")
    numbers = iter(range(100))
    benchmark.pedantic(lambda: replay(tmp_path / f"out{next(numbers)}", tmp_path / "cache"), rounds=2)


@pytest.mark.parametrize("tasks", [100, 500])
def test_growth(benchmark: Any, tmp_path: Path, tasks: int) -> None:
    """One worker, warm: compare the two."""
    replay(tmp_path / "out", tmp_path / "cache", "--limit", str(tasks))
    numbers = iter(range(100))
    benchmark.pedantic(
        lambda: replay(tmp_path / f"out{next(numbers)}", tmp_path / "cache", "--limit", str(tasks), "--jobs", "1"),
        rounds=1,
    )


@pytest.mark.parametrize("statement", ["import agentmem", "from harness.cli import build; build()"])
def test_import(benchmark: Any, statement: str) -> None:
    """A fresh interpreter that only imports."""
    benchmark.pedantic(lambda: subprocess.run([sys.executable, "-c", statement], check=True), rounds=5, warmup_rounds=1)
