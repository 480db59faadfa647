"""Cells of a sweep played live: each is one `agentmem-bench run`, so that it takes every option that command takes."""

from __future__ import annotations

import hashlib
import io
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from harness.compare.load import load_rows
from harness.errors import UsageError
from harness.names import slug
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
            _run([*options, "--arm", cell.arm.name, "--no-controls", "--out", str(place)])
        recipe, rows = load_rows(place)
        mine = tuple(row for row in rows if row.arm == cell.arm.name)
        found.append(CellRun(cell, place, recipe, mine))
    progress(len(cells), len(cells), "done")
    return found


def _name(cell: Cell, options: Sequence[str]) -> str:
    return f"{slug(cell.arm.name)}-{hashlib.sha256(chr(0).join(options).encode()).hexdigest()[:8]}"


def _run(words: Sequence[str]) -> None:
    import typer

    from harness.commands import run

    # the base of every mistake in what was typed; typer does not export it under a name of its own
    typed_wrong: Any = typer.BadParameter.__mro__[1]
    app = typer.Typer()
    run.register(app)
    with redirect_stdout(io.StringIO()):
        try:
            typer.main.get_command(app).main(list(words), prog_name="agentmem-bench run", standalone_mode=False)
        except typed_wrong as error:
            raise UsageError(f"--live: {error.format_message()}") from error
