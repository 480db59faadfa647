"""What a sweep found: every cell on the tuned half, on the held-out half and on both, and the cells nothing beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.pareto import pareto_front
from harness.summary import arm_record
from harness.sweep.grid import Axis, Cell
from harness.types import TaskRow

SCHEMA = "agentmem-sweep/1"
TUNED, HELD_OUT, ALL = "tuned", "held_out", "all"
HALVES = (TUNED, HELD_OUT, ALL)
Record = Mapping[str, Any]


@dataclass(frozen=True)
class CellResult:
    """One cell with its record (as in summary.json) for each half, and the folder name of its run."""

    cell: Cell
    folder: str
    recipe: str
    records: Mapping[str, Record]


@dataclass(frozen=True)
class SweepResult:
    """All cells in the order of the grid. ``tasks`` counts the tasks of each half. ``live`` cells were played by a
    model, so what they fail at is tasks."""

    axes: tuple[Axis, ...]
    cells: tuple[CellResult, ...]
    tasks: Mapping[str, int]
    one_at_a_time: bool
    live: bool = False

    def front(self, half: str) -> list[int]:
        """Places of the cells that no other cell beats in both figures on a half, the cheapest first."""
        known = [
            (place, point) for place, one in enumerate(self.cells) if (point := point_of(one.records[half], self.live))
        ]
        return [known[index][0] for index in pareto_front([point for _, point in known])]


def split(tasks: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The tuned half (the first half of the tasks, in their order) and the held-out half."""
    middle = (len(tasks) + 1) // 2
    return frozenset(tasks[:middle]), frozenset(tasks[middle:])


def cell_result(cell: Cell, folder: str, recipe: str, rows: Sequence[TaskRow], tasks: Sequence[str]) -> CellResult:
    """The records of one cell over each half. A half without tasks has a record of zeros and no figures."""
    tuned, held_out = split(tasks)
    of = {TUNED: tuned, HELD_OUT: held_out, ALL: tuned | held_out}
    records = {half: arm_record(cell.arm.name, [row for row in rows if row.task in of[half]]) for half in HALVES}
    return CellResult(cell, folder, recipe, records)


def spent(record: Record) -> float:
    """What a cell costs: support-adjusted tokens, or tokens where needs were not measured."""
    found = record["support_adjusted"]
    return float(found if found is not None else record["tokens"])


def failed(record: Record, live: bool = False) -> float | None:
    """What a cell fails at: needs not visible; for a live cell, tasks that did not pass. None: not measured."""
    if live:
        tasks = record["tasks"]
        unreadable = tasks["errored"] + tasks["unparsable"]
        passed = tasks["passed"] if tasks["passed"] is not None else (0 if unreadable else None)
        return None if passed is None else float(tasks["attempted"] - passed)
    hidden = record["needs_not_visible"]
    return None if hidden is None else float(hidden)


def point_of(record: Record, live: bool = False) -> tuple[float, float] | None:
    """(spent, failed), or None where the second was not measured."""
    found = failed(record, live)
    return None if found is None else (spent(record), found)


def what_failed(result: SweepResult) -> str:
    """The name of the second figure in this sweep."""
    return "tasks not passed" if result.live else "needs not visible"


def rank_agreement(result: SweepResult) -> float | None:
    """Spearman's rank correlation of what the cells cost on the two halves: 1 when both halves rank them alike."""
    from scipy.stats import spearmanr

    first = [spent(one.records[TUNED]) for one in result.cells]
    second = [spent(one.records[HELD_OUT]) for one in result.cells]
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic)


def to_json(result: SweepResult, command: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The sweep as a record: what was varied, the command that made it, every cell."""
    front = set(result.front(TUNED))
    return {
        "schema": SCHEMA,
        "command": command,
        **facts,
        "one_at_a_time": result.one_at_a_time,
        "grid": {f"{axis.engine}.{axis.parameter}": list(axis.values) for axis in result.axes},
        "tasks": dict(result.tasks),
        "rank_agreement": rank_agreement(result),
        "cells": [
            {
                "arm": one.cell.arm.name,
                "engine": one.cell.arm.engine,
                "varied": dict(one.cell.varied),
                "parameters": dict(one.cell.arm.parameters),
                "default": one.cell.default,
                "on_tuned_front": place in front,
                "run": one.folder,
                "recipe": one.recipe,
                **{half: dict(one.records[half]) for half in HALVES},
            }
            for place, one in enumerate(result.cells)
        ],
    }
