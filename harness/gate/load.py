"""Reads a finished run folder for the gate; an unfinished one is invalid."""

from __future__ import annotations

from pathlib import Path

from harness.compare.load import load_rows
from harness.errors import InvalidRun
from harness.gate.baseline import Measured, measure
from harness.runlog import CALLS, SUMMARY, call_from_row, read_rows


def load_run(folder: Path, exact: bool | None = None) -> Measured:
    """Read a run with its calls. `exact` None: replays are exact, live runs are not (a replayed cassette is: say so).

    Raises `InvalidRun` when the run did not finish, as after a prompt that no provider would accept.
    """
    recipe, rows = load_rows(folder)
    if not (folder / SUMMARY).exists():
        raise InvalidRun(
            f"{folder}: the run has no {SUMMARY}, so it stopped early; run the same command again to see why"
        )
    calls = (call_from_row(row) for _, row in read_rows(folder / CALLS))
    return measure(folder.name, recipe, rows, calls, recipe.kind == "replay" if exact is None else exact)
