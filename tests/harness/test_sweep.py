"""Sweeps: the cells of a grid, played once and kept, with the same bytes however often they were stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from harness.commands import sweep
from harness.engines.registry import parse_arm
from harness.errors import UnknownName, UsageError
from harness.recipe import file_sha256
from harness.run import Options, plan
from harness.sweep.grid import Cell, cells, parse_grid
from harness.sweep.play import CellRun, play_cells
from harness.sweep.result import HELD_OUT, TUNED, failed, spent, split
from harness.sweep.run import gather
from harness.trajectories import read
from tests.harness.made_replay import replayed, write_recorded

GRID = ("mask.last=1,2,5", "mask.fill=0.5,0.95")


def quiet(*_: object) -> None:
    """Take progress nobody looks at."""


def names(found: list[Cell]) -> list[str]:
    return [cell.arm.name for cell in found]


def test_a_full_grid_begins_with_the_defaults() -> None:
    found = cells(parse_grid(["mask.last=5,10", "fill=0.5,0.95"], engine="mask"), one_at_a_time=False)
    assert names(found) == ["mask", "mask:last=5,fill=0.5", "mask:last=5", "mask:fill=0.5"]
    assert [cell.default for cell in found] == [True, False, False, False]
    assert found[1].arm.parameters == {"fill": 0.5, "last": 5} and found[1].varied == {"last": 5, "fill": 0.5}


def test_one_at_a_time_changes_one_thing() -> None:
    found = cells(parse_grid(["mask.last=5,10,20", "mask.fill=0.5"], fixed=["mask.fill=0.8"]), one_at_a_time=True)
    assert names(found) == ["mask:fill=0.8", "mask:fill=0.8,last=5", "mask:fill=0.8,last=20", "mask:fill=0.5"]
    assert [cell.default for cell in found] == [True, False, False, False]


def test_engines_are_not_multiplied_with_each_other() -> None:
    found = cells(parse_grid(["mask.last=5,6", "summary.trigger=0.5,0.6", "agentmem.leave_tasks=false"]), False)
    assert len(found) == 3 + 3 + 2
    assert names(found)[-1] == "agentmem:leave_tasks=false"
    assert parse_arm(names(found)[-1]).parameters["leave_tasks"] is False


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ((), "needs --grid"),
        (("mask.last",), "expected engine.parameter=v1,v2"),
        (("last=5",), "say which engine"),
        (("mask.last=5", "mask.last=6"), "more than once"),
        (("mask.last=0",), "last='0': input should be greater"),
        (tuple(f"agentmem.{name}={','.join(map(str, range(200, 300)))}" for name in ("extract", "result", "line")), "cells"),
    ],
)  # fmt: skip
def test_a_grid_that_cannot_be_played_is_refused(specs: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cells(parse_grid(specs), one_at_a_time=False)


def test_unknown_names_in_a_grid_are_named() -> None:
    with pytest.raises(UnknownName, match="'lost': expected last"):
        parse_grid(["mask.lost=5"])
    with pytest.raises(UnknownName, match="'masc': expected mask"):
        parse_grid(["masc.last=5"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recorded(tmp_path_factory.mktemp("sweep") / "recorded.jsonl")


def play(data: Path, folder: Path, grid: tuple[str, ...] = GRID, jobs: int = 1) -> list[CellRun]:
    options = Options((), per_session=4, jobs=jobs)
    sessions = plan(read([data]), options)
    chosen = cells(parse_grid(grid), one_at_a_time=False)
    return play_cells(chosen, sessions, {data.name: file_sha256(data)}, options, folder, quiet)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json*"))}


def test_a_cell_is_the_run_that_replay_would_make(data: Path, tmp_path: Path) -> None:
    runs = play(data, tmp_path / "cells")
    arms = [run.cell.arm.name for run in runs]
    alone, recipe = replayed(data, tmp_path / "alone", [arms[1]])
    assert runs[1].recipe == recipe
    for name in ("recipe.json", "tasks.jsonl", "calls.jsonl", "summary.json"):
        assert (runs[1].folder / name).read_bytes() == (alone / name).read_bytes()
    assert runs[1].folder.name == json.loads((alone / "summary.json").read_text())["recipe"][:10]


def test_stopped_anywhere_and_with_any_workers_it_gives_the_same_bytes(data: Path, tmp_path: Path) -> None:
    play(data, tmp_path / "whole")
    expected = contents(tmp_path / "whole")
    play(data, tmp_path / "parallel", jobs=3)
    assert contents(tmp_path / "parallel") == expected
    for number, folder in enumerate(sorted((tmp_path / "parallel").iterdir())):
        calls = (folder / "calls.jsonl").read_bytes()
        (folder / "calls.jsonl").write_bytes(calls[: len(calls) * number // 6])
        tasks = (folder / "tasks.jsonl").read_bytes()
        (folder / "tasks.jsonl").write_bytes(tasks[: len(tasks) * number // 7])
        (folder / "summary.json").unlink()
    play(data, tmp_path / "parallel", jobs=2)
    assert contents(tmp_path / "parallel") == expected


def test_what_is_finished_is_not_played_again(data: Path, tmp_path: Path) -> None:
    runs = play(data, tmp_path)
    for run in runs:
        # a row that no play would write: it survives only if the cell is left alone
        path = run.folder / "tasks.jsonl"
        path.write_text(path.read_text().replace('"reader"', '"reader"').replace('"suite":"made"', '"suite":"kept"'))
    again = play(data, tmp_path, (*GRID[:1], "mask.fill=0.5,0.7,0.95"))
    kept = [run for run in again if all(row.suite == "kept" for row in run.rows)]
    assert len(kept) == len(runs) and len(again) == 1 + 3 * 3


def test_the_halves_are_split_by_tasks(data: Path, tmp_path: Path) -> None:
    result = gather(parse_grid(GRID), play(data, tmp_path), one_at_a_time=False)
    assert result.tasks == {TUNED: 4, HELD_OUT: 4, "all": 8}
    for one in result.cells:
        tuned, held_out, both = (one.records[half] for half in (TUNED, HELD_OUT, "all"))
        assert spent(tuned) + spent(held_out) == spent(both)
        assert failed(tuned) == tuned["needs_not_visible"]
    front = result.front(TUNED)
    for place, one in enumerate(result.cells):
        beaten = [
            other for other in result.cells
            if spent(other.records[TUNED]) <= spent(one.records[TUNED])
            and (failed(other.records[TUNED]) or 0) <= (failed(one.records[TUNED]) or 0)
            and (spent(other.records[TUNED]), failed(other.records[TUNED])) != (spent(one.records[TUNED]), failed(one.records[TUNED]))
        ]  # fmt: skip
        assert not (beaten and place in front)
    assert split(["a", "b", "c"]) == (frozenset("ab"), frozenset("c"))
    alone = gather(
        parse_grid(GRID),
        [replace(run, recipe=replace(run.recipe, tasks=("plant-0",))) for run in play(data, tmp_path)],
        False,
    )
    assert alone.tasks[HELD_OUT] == 0


def call(*words: object) -> str:
    app = typer.Typer()
    sweep.register(app)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout


def test_the_command_writes_table_plots_and_record(data: Path, tmp_path: Path) -> None:
    shown = call(data, "--per-session", 4, "--jobs", 1, "--out", tmp_path, *(f"--grid={spec}" for spec in GRID))
    assert "7 cells" in shown and "Tuned and held out" in shown and "1 (default)" in shown
    record = json.loads((tmp_path / "sweep.json").read_text())
    assert record["schema"] == "agentmem-sweep/1" and len(record["cells"]) == 7
    assert all((tmp_path / "cells" / cell["run"] / "summary.json").exists() for cell in record["cells"])
    assert (tmp_path / "mask-last-fill.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "pareto.png").exists() and "![pareto](pareto.png)" in (tmp_path / "sweep.md").read_text()
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 1 + 7 * 3
    one = call(data, "--per-session", 4, "--jobs", 1, "--out", tmp_path, "--one-at-a-time", "--grid", "mask.last=1,3")
    assert "3 cells" in one and (tmp_path / "mask-alone.png").exists()


def test_a_live_sweep_looks_at_pass_rates(tmp_path: Path) -> None:
    live = "--suite personamem-mini --model scripted"
    shown = call("--live", live, "--grid", "mask.last=1,10", "--out", tmp_path)
    assert "tasks not passed" in shown and " of 12" in shown
    record = json.loads((tmp_path / "sweep.json").read_text())
    assert record["live"] == live and record["suite"] == "personamem-mini"
    assert record["cells"][0]["all"]["tasks"]["attempted"] == record["tasks"]["all"] > 0
    with pytest.raises(UsageError, match="--arm is set by the sweep"):
        call("--live", f"{live} --arm full", "--grid", "mask.last=1", "--out", tmp_path)
    with pytest.raises(UsageError, match="No such option"):
        call("--live", f"{live} --modle x", "--grid", "mask.last=2", "--out", tmp_path)
