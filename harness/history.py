"""Runs of one recipe family over time, so that a drift too slow for any gate shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness.compare.load import load_rows
from harness.errors import UsageError
from harness.recipe import canonical
from harness.runlog import RECIPE, SUMMARY
from harness.stats.rates import wilson_interval
from harness.summary import arm_record
from harness.tables import Table, between, count, percent
from harness.types import Recipe

DRIFT = 0.005
"""A quantity drifts when it grew by more than this from the first run to the last and no single step did."""

QUANTITIES = ("tokens", "support_adjusted", "cost", "needs_not_visible", "needs_lost")

FIGURES = ("tokens", "against first", "support-adjusted", "against first", "cost", "not visible", "lost")
PASSED = ("passed", "Wilson 95 %")
"""Columns of the table; passes only of live runs, since a replay repeats recorded outcomes."""


@dataclass(frozen=True, slots=True)
class Point:
    """One arm of one run: `version` and `code` of the sources that made it, `record` as in summary.json."""

    run: str
    version: str
    code: str
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drift:
    """A quantity that grew from the first run to the last: in all, and in the largest single step, as shares.

    `slow` when every single step stayed below the limit, which is what a gate against the last run cannot see.
    """

    quantity: str
    growth: float
    largest_step: float
    slow: bool


@dataclass(frozen=True, slots=True)
class Series:
    """One arm over time, and what drifted."""

    arm: str
    points: tuple[Point, ...]
    drifts: tuple[Drift, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Runs whose recipes differ only in the code, oldest first."""

    sha256: str
    suite: str
    kind: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class History:
    """All families found."""

    families: tuple[Family, ...]


def family_of(recipe: Recipe) -> str:
    """Hash of everything in a recipe but the code."""
    return hashlib.sha256(canonical(replace(recipe, code={})).encode()).hexdigest()


def find_runs(root: Path) -> list[Path]:
    """Finished runs below a folder, oldest first by the time their summary was written, then by name."""
    found = [path.parent for path in root.rglob(RECIPE) if (path.parent / SUMMARY).exists()]
    return sorted(found, key=lambda folder: ((folder / SUMMARY).stat().st_mtime, str(folder)))


def history(folders: Iterable[Path], limit: float = DRIFT) -> History:
    """Group runs, given oldest first, by family and follow each arm. Unfinished runs raise `UsageError`."""
    grouped: dict[str, list[tuple[Path, Recipe, dict[str, Any]]]] = {}
    for folder in folders:
        recipe, rows = load_rows(folder)
        if not (folder / SUMMARY).exists():
            raise UsageError(f"{folder}: the run is not finished; a history of partial sums would mislead")
        records = {arm.name: arm_record(arm.name, [row for row in rows if row.arm == arm.name]) for arm in recipe.arms}
        grouped.setdefault(family_of(recipe), []).append((folder, recipe, records))
    if not grouped:
        raise UsageError("no finished run was found; a run folder holds recipe.json and summary.json")
    return History(tuple(_family(sha, runs, limit) for sha, runs in grouped.items()))


def tables(found: History) -> list[Table]:
    """One table an arm: figures of every run and their change against the first."""
    return [_table(family, series) for family in found.families for series in family.series]


def _family(sha: str, runs: Sequence[tuple[Path, Recipe, dict[str, Any]]], limit: float) -> Family:
    recipe = runs[0][1]
    series = []
    for arm in recipe.arms:
        points = tuple(
            Point(folder.name, one.code.get("version", ""), one.code.get("sha256", "")[:12], records[arm.name])
            for folder, one, records in runs
        )
        series.append(Series(arm.name, points, tuple(_drifts(points, limit))))
    return Family(sha, recipe.suite, recipe.kind, tuple(series))


def _drifts(points: Sequence[Point], limit: float) -> Iterator[Drift]:
    for quantity in QUANTITIES:
        values = [point.record[quantity] for point in points]
        if len(values) < 2 or any(value is None for value in values):
            continue
        growth = _growth(values[0], values[-1])
        steps = [_growth(before, after) for before, after in pairwise(values)]
        if growth > limit:
            yield Drift(quantity, growth, max(steps), slow=max(steps) <= limit)


def _growth(before: float, after: float) -> float:
    """Relative growth; from nothing to something counts as one whole."""
    if before == 0:
        return float(after > 0)
    return (after - before) / before


def _table(family: Family, series: Series) -> Table:
    live = family.kind == "live"
    columns = ("run", "version", "code", *FIGURES, *(PASSED if live else ()))
    first = series.points[0].record
    rows = []
    for point in series.points:
        passed = _passed(point.record) if live else []
        rows.append((point.run, point.version, point.code, *_figures(point.record, first), *passed))
    notes = [
        f"{drift.quantity} grew by {drift.growth:.2%} in all, at most {drift.largest_step:.2%} in one step"
        + (": a slow drift that no gate against the last run sees" if drift.slow else "")
        for drift in series.drifts
    ]
    title = f"{series.arm} on {family.suite} ({family.kind}, recipe family {family.sha256[:12]})"
    return Table(title, columns, tuple(rows), tuple(notes))


def _figures(record: Mapping[str, Any], first: Mapping[str, Any]) -> list[str]:
    return [
        count(record["tokens"]),
        _against(record["tokens"], first["tokens"]),
        count(record["support_adjusted"]),
        _against(record["support_adjusted"], first["support_adjusted"]),
        count(record["cost"]),
        count(record["needs_not_visible"]),
        count(record["needs_lost"]),
    ]


def _passed(record: Mapping[str, Any]) -> list[str]:
    passed, attempted = record["tasks"]["passed"], record["tasks"]["attempted"]
    if passed is None or not attempted:
        return [percent(None), between(None)]
    return [percent(passed / attempted), between(wilson_interval(passed, attempted), 100, 1)]


def _against(value: float | None, first: float | None) -> str:
    return "-" if value is None or not first else f"{(value - first) / first:+.2%}"
