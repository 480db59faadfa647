"""A sweep from end to end: cells, results, files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.recipe import sha256
from harness.runlog import write_json
from harness.sweep.figures import draw
from harness.sweep.grid import Grid
from harness.sweep.play import CellRun
from harness.sweep.render import tables
from harness.sweep.result import HALVES, HELD_OUT, TUNED, SweepResult, cell_result, split, to_json
from harness.tables import to_markdown

Progress = Callable[[int, int, str], None]
CELLS, JSON, TABLE, CSV = "cells", "sweep.json", "sweep.md", "sweep.csv"


def gather(grid: Grid, runs: Sequence[CellRun], one_at_a_time: bool) -> SweepResult:
    """The result of the finished cells."""
    tasks = runs[0].recipe.tasks
    tuned, held_out = split(tasks)
    counted = {TUNED: len(tuned), HELD_OUT: len(held_out), "all": len(tasks)}
    found = [cell_result(one.cell, one.folder.name, sha256(one.recipe), one.rows, tasks) for one in runs]
    return SweepResult(grid.axes, tuple(found), counted, one_at_a_time, live=runs[0].recipe.kind == "live")


def write(folder: Path, result: SweepResult, command: str, facts: Mapping[str, Any]) -> list[Path]:
    """Write ``sweep.json``, ``sweep.csv``, the plots, and ``sweep.md`` with the command that made it."""
    folder.mkdir(parents=True, exist_ok=True)
    record = to_json(result, command, facts)
    write_json(folder / JSON, record)
    _write_csv(folder / CSV, record["cells"])
    plots = draw(folder, result)
    text = [
        f"# Sweep of {', '.join(record['grid'])}",
        f"Made by\n\n    {command}",
        "\n".join(f"- {name}: {_fact(value)}" for name, value in facts.items()),
        to_markdown(tables(result)).rstrip(),
        "\n\n".join(f"![{name.removesuffix('.png')}]({name})" for name in plots),
    ]
    (folder / TABLE).write_text("\n\n".join(text) + "\n", encoding="utf-8", newline="\n")
    return [folder / JSON, folder / CSV, folder / TABLE, *(folder / name for name in plots)]


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} (sha256 {digest})" for name, digest in value.items())
    return str(value)


def _write_csv(path: Path, cells: Sequence[Mapping[str, Any]]) -> None:
    """One line a cell and half."""
    lines = []
    for cell in cells:
        for half in HALVES:
            figures = {name: value for name, value in cell[half].items() if name not in ("tasks", "arm")}
            counted = {f"tasks_{name}": value for name, value in cell[half]["tasks"].items()}
            lines.append({"arm": cell["arm"], **cell["varied"], "half": half, **figures, **counted})
    columns = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
