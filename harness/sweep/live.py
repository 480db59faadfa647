"""Cells of a sweep played live: each is one `agentmem-bench run`, so that it takes every option that command takes."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.compare.load import load_rows
from harness.errors import UsageError
from harness.livecommand import run_live
from harness.names import slug
from harness.recipe import code
from harness.runlog import SUMMARY
from harness.sweep.grid import Cell
from harness.sweep.play import CellRun

OURS = ("--arm", "--out", "--resume", "--json")
Progress = Callable[[int, int, str], None]


def play_live(cells: Sequence[Cell], words: str, folder: Path, progress: Progress) -> list[CellRun]:
    """Play every cell that is not finished with the options of `run` in ``words``.

    Raises whatever `run` raises; a cell that was stopped is continued.
    """
    options = shlex.split(words)
    taken = [word for word in options if word.partition("=")[0] in OURS]
    if taken:
        raise UsageError(f"--live: {taken[0]} is set by the sweep; leave it out")
    found = []
    for number, cell in enumerate(cells):
        progress(number, len(cells), cell.arm.name)
        place = folder / _name(cell, options)
        if not (place / SUMMARY).exists():
            run_live([*options, "--arm", cell.arm.name, "--no-controls", "--out", str(place)], "--live")
        recipe, rows = load_rows(place)
        mine = tuple(row for row in rows if row.arm == cell.arm.name)
        found.append(CellRun(cell, place, recipe, mine))
    progress(len(cells), len(cells), "done")
    return found


def _name(cell: Cell, options: Sequence[str]) -> str:
    """Other options or other code are another folder, so nothing old is taken for new."""
    decides = "\0".join([code()["sha256"], *options])
    return f"{slug(cell.arm.name)}-{hashlib.sha256(decides.encode()).hexdigest()[:8]}"
