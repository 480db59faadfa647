"""Plots of a sweep as PNG: heat maps of every pair of parameters, the change of each alone, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.sweep.grid import Axis
from harness.sweep.result import HELD_OUT, TUNED, CellResult, SweepResult, failed, spent, what_failed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {TUNED: "tuned half", HELD_OUT: "held-out half"}


def draw(folder: Path, result: SweepResult) -> list[str]:
    """Write the plots that fit the sweep; returns their file names."""
    halves = [half for half in (TUNED, HELD_OUT) if result.tasks[half]]
    found = []
    for engine in dict.fromkeys(axis.engine for axis in result.axes):
        axes = [axis for axis in result.axes if axis.engine == engine]
        cells = [one for one in result.cells if one.cell.arm.engine == engine]
        if result.one_at_a_time or len(axes) == 1:
            found.append(_alone(folder / f"{engine}-alone.png", axes, cells, halves, result))
        else:
            pairs = combinations(axes, 2)
            found += [_heat(folder, engine, pair, cells, halves, result) for pair in pairs]
    found.append(_pareto(folder / "pareto.png", result, halves))
    return found


def _heat(
    folder: Path,
    engine: str,
    pair: tuple[Axis, Axis],
    cells: Sequence[CellResult],
    halves: Sequence[str],
    result: SweepResult,
) -> str:
    """Two figures on each half over two parameters; with more parameters, the cheapest cell of each place."""
    across, down = pair
    path = folder / f"{engine}-{across.parameter}-{down.parameter}.png"
    figure, plots = _figure(len(halves), 2, (9, 3.6 * len(halves)))
    for row, half in zip(plots, halves, strict=True):
        best: dict[tuple[Any, Any], CellResult] = {}
        for one in sorted(cells, key=lambda one: spent(one.records[half])):
            best.setdefault((one.cell.varied[down.parameter], one.cell.varied[across.parameter]), one)
        for plot, name in zip(row, ("support-adjusted tokens (M)", what_failed(result)), strict=True):
            values = [
                [_value(best[y, x], half, name, result.live) for x in across.values]
                for y in down.values
            ]  # fmt: skip
            _grid(plot, values, across, down)
            plot.set_title(f"{name}, {NAMES[half]}", fontsize=9)
    return _save(figure, path)


def _value(one: CellResult, half: str, name: str, live: bool) -> float:
    """The figure of that name on a half; what was not measured stays blank."""
    record = one.records[half]
    if name.startswith("support"):
        return spent(record) / 1e6
    found = failed(record, live)
    return float("nan") if found is None else found


def _grid(plot: Axes, values: list[list[float]], across: Axis, down: Axis) -> None:
    image = plot.imshow(values, cmap="cividis_r", aspect="auto")
    plot.set_xticks(range(len(across.values)), [str(value) for value in across.values])
    plot.set_yticks(range(len(down.values)), [str(value) for value in down.values])
    plot.set_xlabel(across.parameter)
    plot.set_ylabel(down.parameter)
    low, high = image.get_clim()
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            dark = high > low and (value - low) / (high - low) > 0.55
            plot.text(x, y, f"{value:.4g}", ha="center", va="center", fontsize=8, color="white" if dark else "black")


def _alone(
    path: Path, axes: Sequence[Axis], cells: Sequence[CellResult], halves: Sequence[str], result: SweepResult
) -> str:
    """Each parameter alone: the change of both figures against the default, or the figures where there is none."""
    figure, plots = _figure(len(axes), 2, (9, 2.4 * len(axes) + 0.4))
    for row, axis in zip(plots, axes, strict=True):
        line = _line_of(axis, axes, cells)
        for plot, name in zip(row, ("support-adjusted tokens (M)", what_failed(result)), strict=True):
            for half, style in zip(halves, ("-o", "--s"), strict=False):
                plot.plot(
                    [str(value) for value, _ in line],
                    [_value(one, half, name, result.live) for _, one in line],
                    style,
                    markersize=4,
                    linewidth=1.2,
                    color="#0072b2" if half == TUNED else "#d55e00",
                    label=NAMES[half],
                )
            plot.set_xlabel(axis.parameter)
            plot.set_title(name, fontsize=9)
            plot.grid(color="#dddddd", linewidth=0.5)
    plots[0][0].legend(fontsize=8, frameon=False)
    return _save(figure, path)


def _line_of(axis: Axis, axes: Sequence[Axis], cells: Sequence[CellResult]) -> list[tuple[Any, CellResult]]:
    """The cells along one parameter, all others as in the default cell, by value."""
    base = next((one for one in cells if one.cell.default), cells[0])
    others = [other.parameter for other in axes if other.parameter != axis.parameter]
    along = [one for one in cells if all(one.cell.varied[name] == base.cell.varied[name] for name in others)]
    found = [(one.cell.varied[axis.parameter], one) for one in along]
    return sorted(found, key=lambda pair: (isinstance(pair[0], str), pair[0]))


def _pareto(path: Path, result: SweepResult, halves: Sequence[str]) -> str:
    figure, plots = _figure(1, len(halves), (4.8 * len(halves), 4))
    tuned = result.front(TUNED)
    for plot, half in zip(plots[0], halves, strict=True):
        xs = [spent(one.records[half]) / 1e6 for one in result.cells]
        ys = [_value(one, half, "", result.live) for one in result.cells]
        plot.scatter(xs, ys, s=16, color="#7f7f7f", label="cells")
        plot.scatter(
            [xs[i] for i in tuned],
            [ys[i] for i in tuned],
            s=34,
            marker="D",
            color="#0072b2",
            label="front of the tuned half",
        )
        own = result.front(half)
        plot.plot(
            [xs[i] for i in own],
            [ys[i] for i in own],
            "--",
            color="#d55e00",
            linewidth=1,
            label=f"front of the {NAMES[half]}",
        )
        for place, one in enumerate(result.cells):
            if one.cell.default:
                plot.annotate(
                    f"{one.cell.arm.engine} default",
                    (xs[place], ys[place]),
                    fontsize=7,
                    xytext=(4, 4),
                    textcoords="offset points",
                )
        plot.set_title(NAMES[half], fontsize=9)
        plot.set_xlabel("support-adjusted tokens (M)")
        plot.set_ylabel(what_failed(result))
        plot.grid(color="#dddddd", linewidth=0.5)
        plot.legend(fontsize=7, frameon=False)
    return _save(figure, path)


def _figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _save(figure: Figure, path: Path) -> str:
    # no date and no version in the file: same input, same bytes
    figure.savefig(path, metadata={"Software": None})
    return path.name
