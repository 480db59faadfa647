"""A stranger's first minutes: a clean copy, no environment, the first command of the README."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def clean_copy(tmp_path: Path) -> Path:
    """The files that git knows, in a new folder."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        target = tmp_path / "copy" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, target)
    return tmp_path / "copy"


@pytest.mark.slow
def test_make_bench_needs_nothing_but_python(clean_copy: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "AGENTMEM_DATA")}
    environment |= {"AGENTMEM_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        ["make", "bench", f"PYTHON={sys.executable}"],
        cwd=clean_copy,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    for word in ("full", "mask", "isolated", "summary", "published", "agentmem", "scripted agent"):
        assert word in done.stdout
    (report,) = (clean_copy / "results" / "runs").glob("*/report.md")
    assert "Where it loses" in report.read_text()
