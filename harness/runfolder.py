"""Where a run goes when no folder is named: a new one, or the unfinished one of the same recipe."""

from __future__ import annotations

import time
from pathlib import Path

from harness import recipe as recipes
from harness.runlog import SUMMARY
from harness.types import Recipe

PREFIX = 10  # characters of the recipe's sha256 in the name of a folder


def choose(root: Path, recipe: Recipe, now: float | None = None) -> Path:
    """``root/<UTC time>-<recipe prefix>``, or the newest folder of that recipe that holds no summary yet."""
    prefix = recipes.sha256(recipe)[:PREFIX]
    unfinished = [
        folder for folder in sorted(root.glob(f"*-{prefix}")) if folder.is_dir() and not (folder / SUMMARY).exists()
    ]
    if unfinished:
        return unfinished[-1]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(time.time() if now is None else now))
    return root / f"{stamp}-{prefix}"
