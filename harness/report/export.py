"""The rows of a run for other tools: CSV, Parquet, and a short Markdown report for a pull request."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.compare.outcomes import Options
from harness.errors import UsageError
from harness.report.arms import arm_rows, headers
from harness.report.arms import notes as arm_notes
from harness.report.html_data import RunData
from harness.report.html_summary import Card, Losses, cards, comparisons, losses, notes
from harness.runlog import task_to_row
from harness.tables import Table, to_markdown

Rows = list[dict[str, Any]]
PARQUET_NEEDS = "pyarrow"


def rows(data: RunData) -> dict[str, Rows]:
    """Three flat tables: ``arms`` (as in summary.json), ``tasks`` and ``calls``. A list becomes its items joined by
    blanks, what was not measured stays None; ``detail`` of a task, which every suite fills differently, is left out.
    """
    return {
        "arms": [_flat(record) for record in data.summary["arms"]],
        "tasks": [_without(task_to_row(row, data.summary["recipe"]), "detail") for row in data.rows],
        "calls": [_call(row) for found in data.calls.values() for row in found],
    }


def write_csv(data: RunData, folder: Path) -> list[Path]:
    """Write ``arms.csv``, ``tasks.csv`` and ``calls.csv``; what was not measured is an empty cell."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, found in rows(data).items():
        path = folder / f"{name}.csv"
        with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            writer = csv.DictWriter(file, _columns(found), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
        written.append(path)
    return written


def write_parquet(data: RunData, folder: Path) -> list[Path]:
    """Write the same tables as Parquet. Raises ``UsageError`` without the package it needs."""
    if find_spec(PARQUET_NEEDS) is None:
        raise UsageError("--parquet needs pyarrow: pip install 'agentmem-bench[parquet]'")
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, found in rows(data).items():
        path = folder / f"{name}.parquet"
        columns = {column: [_storable(row.get(column)) for row in found] for column in _columns(found)}
        parquet.write_table(pyarrow.table(columns), path)
        written.append(path)
    return written


def write_markdown(data: RunData, path: Path, options: Options) -> Path:
    """Write the table of arms, the intervals and where each arm loses."""
    compared = comparisons(data, options)
    recipe = data.recipe
    tables = [
        Table(
            f"{recipe.suite}: {len(recipe.tasks)} tasks, sessions of {recipe.per_session}, window {recipe.window:,}",
            headers(data.summary),
            tuple(tuple(row) for row in arm_rows(data.summary)),
            (*arm_notes(data.summary), *notes(compared)),
        ),
        _intervals(cards(data, compared, options), data.baseline),
        *(_losses(lost) for lost in losses(data, compared)),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_markdown(tables) + f"\nRecipe `{data.summary['recipe']}`.\n", encoding="utf-8", newline="\n")
    return path


def _intervals(found: Sequence[Card], baseline: str) -> Table:
    """The figures of the cards that have an interval, one line an arm."""
    wanted = (f"of {baseline}", "typical task", "cost with the cache", "passed")
    lines = []
    for card in found:
        if not card.baseline:
            named = {figure.name: figure for figure in card.figures}
            lines.append((card.arm, *(_cell(named.get(name)) for name in wanted)))
    return Table(
        f"Against {baseline}, with intervals", ("arm", "support-adjusted", *wanted[1:]), tuple(lines),
        ("95 % intervals, whole sessions resampled; typical task: geometric mean of the ratios of single tasks",),
    )  # fmt: skip


def _cell(figure: Any) -> str:
    if figure is None:
        return "not measured"
    return f"{figure.value} ({figure.below})" if figure.below else str(figure.value)


def _losses(lost: Losses) -> Table:
    worst = [f"worst: {', '.join(f'{task.task} ({task.text})' for task in lost.worst)}"] if lost.worst else []
    return Table(f"Where {lost.arm} loses", (), (), (*lost.sentences, *worst))


def _call(row: Mapping[str, Any]) -> dict[str, Any]:
    flat = _without(row, "from")
    flat |= dict(zip(("prompt_from", "cached_from", "completion_from"), row["from"], strict=True))
    return flat | {name: " ".join(row[name]) for name in ("missing", "lost")}


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    tasks: Mapping[str, Any] = record["tasks"]
    return _without(record, "tasks") | {f"tasks_{name}": value for name, value in tasks.items()}


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _columns(found: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in found for name in row))


def _storable(value: Any) -> Any:
    # half a surrogate pair has no UTF-8 form
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
