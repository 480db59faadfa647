"""Plots of a run as PNG: context size over calls, cumulated tokens over tasks, tokens by position in the session.

Arms differ by line style and marker as well as by shade, so that a page printed in grey can be read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.types import TaskRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ["-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1))]
SHADES = ["#000000", "#0072b2", "#d55e00", "#009e73", "#7f7f7f", "#cc79a7", "#56b4e9"]
MOST_POINTS = 2_000  # of one line; more cannot be seen and makes the file large


def draw(folder: Path, tasks: Sequence[TaskRow], prompts: dict[str, list[int]]) -> list[str]:
    """Write the three plots; returns the file names.

    ``prompts`` maps an arm to the prompt tokens of its calls in the first session; more would hide each other.
    """
    series = _tasks_of(tasks)
    return [
        _plot(folder / "context.png", "Prompt of each call in the first session", "call", "tokens", prompts),
        _plot(
            folder / "cumulated.png",
            "Tokens so far, repairs included",
            "task",
            "tokens",
            {arm: list(accumulate(map(_adjusted, rows))) for arm, rows in series.items()},
        ),
        _plot(
            folder / "position.png",
            "Tokens of a task by its position in the session (mean), repairs included",
            "position in the session",
            "tokens",
            {arm: _by_position(rows) for arm, rows in series.items()},
        ),
    ]


def _tasks_of(tasks: Sequence[TaskRow]) -> dict[str, list[TaskRow]]:
    found: dict[str, list[TaskRow]] = defaultdict(list)
    for row in tasks:
        found[row.arm].append(row)
    return dict(found)


def _adjusted(row: TaskRow) -> int:
    own = row.memory_prompt_tokens + row.memory_completion_tokens
    return row.prompt_tokens + row.completion_tokens + own + (row.repairs or 0)


def _by_position(rows: Sequence[TaskRow]) -> list[float]:
    at: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        at[row.position].append(_adjusted(row))
    return [sum(at[position]) / len(at[position]) for position in sorted(at)]


def _plot(path: Path, title: str, x: str, y: str, lines: dict[str, Any]) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes: Axes = figure.subplots()
    for (arm, values), style, shade in zip(lines.items(), cycle(STYLES), cycle(SHADES), strict=False):
        step = max(1, len(values) // MOST_POINTS)
        xs = range(1, len(values) + 1, step)
        mark = "o" if len(values) == 1 else None
        axes.plot(xs, values[::step], linestyle=style, color=shade, linewidth=1.2, label=arm, marker=mark)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.yaxis.set_major_formatter(_short)
    if lines:
        figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False, handlelength=4)
    # no date and no version in the file: same input, same bytes
    figure.savefig(path, metadata={"Software": None})
    return path.name


def _short(value: float, _position: object = None) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"
