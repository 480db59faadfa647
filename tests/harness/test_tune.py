"""Tuning: the same trials whatever stops it, a choice within the limit, a file the memory core loads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from agentmem.errors import ConfigError
from agentmem.settings.shortterm import ShortTermSettings
from agentmem.settings.shortterm_file import dump_short_term, load_short_term
from harness.commands import tune as command
from harness.errors import UnknownName, UsageError
from harness.recipe import file_sha256
from harness.run import Options
from harness.sweep.grid import defaults_of
from harness.trajectories import read
from harness.tune import BATCH, Trial, Tuned, TuneOptions, choose, halves, tune
from harness.tunereport import config_text
from harness.tunespace import make_space
from tests.harness.made_replay import write_recorded

optuna = pytest.importorskip("optuna")


def quiet(*_: object) -> None:
    """Take progress nobody looks at."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recorded(tmp_path_factory.mktemp("tune") / "recorded.jsonl", tasks=4)


def run(data: Path, folder: Path, trials: int = 8, **changes: Any) -> Tuned:
    options = Options((), per_session=2, jobs=1)
    wanted = TuneOptions("mask", tuple(make_space("mask", ["last=1:12", "fill=0.3:0.95"])), trials)
    parts = halves(read([data]), options)
    return tune(parts, {data.name: file_sha256(data)}, options, replace(wanted, **changes), folder, quiet)


def shape(found: Tuned) -> list[tuple[int, dict[str, object], float]]:
    return [(one.number, dict(one.parameters), one.record["support_adjusted"]) for one in found.trials]


def test_it_begins_with_the_default_and_holds_a_half_out(data: Path, tmp_path: Path) -> None:
    found = run(data, tmp_path)
    assert found.trials[0].parameters == defaults_of("mask") and len(found.trials) == 8
    default, chosen = found.held["held_out"]
    assert default.cell.arm.name == "mask" and default.recipe.tasks == ("plant-2", "plant-3")
    assert found.held["tuned"][0].recipe.tasks == ("plant-0", "plant-1")
    assert {name: chosen.cell.arm.parameters[name] for name in found.chosen.parameters} == found.chosen.parameters


def test_stopped_between_and_within_batches_it_makes_the_same_trials(data: Path, tmp_path: Path) -> None:
    expected = shape(run(data, tmp_path / "whole", trials=8))
    assert shape(run(data, tmp_path / "parts", trials=3)) == expected[:BATCH]
    assert shape(run(data, tmp_path / "parts", trials=8)) == expected
    (journal,) = (tmp_path / "parts").glob("study.journal")
    lines = journal.read_bytes().splitlines(keepends=True)
    tells = [n for n, line in enumerate(lines) if b'"values"' in line]
    journal.write_bytes(b"".join(lines[: tells[5]]))  # killed in the middle of the second batch
    assert shape(run(data, tmp_path / "parts", trials=8)) == expected


def test_another_seed_or_other_tasks_are_another_study(data: Path, tmp_path: Path) -> None:
    first = run(data, tmp_path, trials=4)
    assert run(data, tmp_path, trials=4, seed=1).study != first.study
    assert run(data, tmp_path, trials=4, space=tuple(make_space("mask", ["last=2:9"]))).study != first.study
    assert run(data, tmp_path, trials=4).study == first.study


def test_the_choice_is_the_cheapest_within_the_limit() -> None:
    def trial(number: int, tokens: int, unsupported: int, lost: int = 0) -> Trial:
        record = {"support_adjusted": tokens, "tokens": tokens, "needs_lost": lost}
        return Trial(number, {}, {**record, "actions": 100, "actions_unsupported": unsupported})

    trials = [trial(0, 900, 0), trial(1, 500, 3), trial(2, 600, 2), trial(3, 400, 2, lost=1), trial(4, 600, 1)]
    assert choose(trials, 0.02).number == 2
    assert choose(trials, 0.5).number == 1
    assert choose(trials, 0.0).number == 0
    assert choose([trials[1], trials[3]], 0.0).number == 1


def test_ranges_come_from_defaults_and_stay_within_limits() -> None:
    space = {one.name: one for one in make_space("summary", [])}
    assert (space["trigger"].low, space["trigger"].high) == (0.425, 1.0)
    assert (space["size"].low, space["size"].high) == (1_000, 4_000) and space["size"].whole
    switch = {one.name: one for one in make_space("agentmem", [])}["leave_tasks"]
    assert switch.choices == (True, False)
    (given,) = make_space("mask", ["mask.last=3,7"])
    assert given.choices == (10, 3, 7)
    for spec, error in (
        ("last", UsageError),
        ("lost=1:2", UnknownName),
        ("last=9:3", UsageError),
        ("last=0:3", UsageError),
    ):
        with pytest.raises(error):
            make_space("mask", [spec])


def test_the_memory_core_loads_what_tuning_writes(tmp_path: Path) -> None:
    settings = ShortTermSettings.model_validate({"extract": 77, "leave_tasks": False})
    path = tmp_path / "agentmem.toml"
    path.write_text(config_text("agentmem", settings.model_dump(), ["first\nsecond"]))
    assert path.read_text().startswith("# first\n# second\n[short_term]\n")
    assert load_short_term(path) == settings
    path.write_text("[short_term]\nextract = 90\n")
    assert load_short_term(path) == ShortTermSettings.model_validate({"extract": 90})
    for text, message in (
        ("[short_term]\nextracd = 90\n", "extracd: unknown setting; did you mean extract"),
        ("[short_term]\nextract = -1\n", "extract: got -1"),
        ("extract = 90\n", r"expected the one table \[short_term\], found extract"),
        ("[short_term\n", "cannot be read as TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_short_term(path)
    text = dump_short_term(ShortTermSettings.model_validate({}))
    path.write_text(text)
    assert dump_short_term(load_short_term(path)) == text


def test_the_command_ends_with_a_file_and_the_check(data: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    command.register(app)
    words = [data, "--per-session", 2, "--jobs", 1, "--trials", 4, "--out", tmp_path, "--tune", "keep_results=1:6"]
    shown = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout
    assert "Trials that no other beats" in shown and "tuned, held-out half" in shown
    assert load_short_term(tmp_path / "agentmem.toml").keep_results >= 1
    record = json.loads((tmp_path / "tune.json").read_text())
    assert record["schema"] == "agentmem-tune/1" and len(record["trials"]) == 4
    assert "As an arm: agentmem" in (tmp_path / "agentmem.toml").read_text()
    with pytest.raises(UsageError, match="at least two tasks"):
        halves(read([data])[:1], Options(()))
