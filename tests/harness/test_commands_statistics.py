"""The commands compare, gate and history on run folders, as a user or a CI job calls them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.commands import compare, gate, history
from harness.errors import InvalidRun, RecipeMismatch, UnknownName, UnreadableInput, UsageError
from harness.types import TaskRow
from tests.harness.made_runs import make_recipe, make_rows, write_run

REPLAY = make_recipe("replay", tasks=20, per_session=5)


def app() -> typer.Typer:
    made = typer.Typer()
    for module in (compare, gate, history):
        module.register(made)
    return made


def call(*words: object) -> Result:
    return CliRunner().invoke(app(), [str(word) for word in words], catch_exceptions=False)


def both_arms(**changes: float) -> tuple[TaskRow, ...]:
    rows = make_rows(REPLAY, "agentmem", seed=1, factor=changes.pop("factor", 0.8))
    return (*make_rows(REPLAY, "full", seed=1), *rows)


def test_compare_two_arms_of_one_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", REPLAY, both_arms())
    assert "0.801" in call("compare", run).stdout
    written = tmp_path / "deep" / "out.json"
    assert call("compare", run, "--baseline", "agentmem", "--treatment", "full", "--format", "json", "--out", written)
    data = json.loads(written.read_text())
    assert data["suites"][0]["tokens"][0]["ratio"] == pytest.approx(1.25, rel=0.01)
    assert call("compare", run, "--format", "markdown").stdout.startswith("### made: 20 tasks")


def test_compare_one_arm_of_two_runs_and_two_suites(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", REPLAY, both_arms())
    newer = replace(REPLAY, code={"version": "0.2.0", "sha256": "ee" * 32})
    second = write_run(tmp_path / "b", newer, both_arms(factor=0.4))
    shown = call("compare", first, second, first, second, "--baseline", "agentmem").stdout
    assert shown.count("differ in code.sha256, code.version") == 2


def test_compare_says_what_is_wrong(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", REPLAY, both_arms())
    other = write_run(tmp_path / "other", replace(REPLAY, window=1), both_arms())
    with pytest.raises(RecipeMismatch, match="window: 200000 -> 1"):
        call("compare", run, other, "--baseline", "full")
    with pytest.raises(UsageError, match="has 2 arms, name one: full, agentmem"):
        call("compare", run, other)
    with pytest.raises(UnknownName, match="'ful': expected full"):
        call("compare", run, run, "--baseline", "ful")
    with pytest.raises(UsageError, match="got 3"):
        call("compare", run, run, run)
    with pytest.raises(UnreadableInput, match="expected a run folder"):
        call("compare", tmp_path)
    broken = write_run(tmp_path / "broken", REPLAY, both_arms())
    (broken / "recipe.json").write_text('{"kind": "replay"}')
    with pytest.raises(UnreadableInput, match="not a run of this version"):
        call("compare", broken)
    recipe = make_recipe(tasks=20, per_session=5)
    arms = (*make_rows(recipe, "full", seed=1), *make_rows(recipe, "agentmem", seed=1, errored=2))
    with pytest.raises(InvalidRun, match="2 of 20 tasks errored"):
        call("compare", write_run(tmp_path / "errors", recipe, arms))
    tasks = run / "tasks.jsonl"
    tasks.write_text(tasks.read_text().replace('"recipe":"', '"recipe":"00', 1))
    with pytest.raises(UnreadableInput, match=r"tasks.jsonl:1: row of recipe 00"):
        call("compare", run)


def test_gate_from_the_first_baseline_to_a_stopped_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = write_run(tmp_path / "good", REPLAY, both_arms())
    worse = write_run(tmp_path / "worse", REPLAY, both_arms(factor=0.81))
    kept, summary = tmp_path / "baselines" / "replay.json", tmp_path / "summary.md"
    with pytest.raises(UsageError, match="--update"):
        call("gate", good, "--baseline", kept)
    assert "wrote" in call("gate", good, "--baseline", kept, "--update", "--date", "2026-01-31").stdout
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    fine = call("gate", good, "--baseline", kept)
    assert fine.exit_code == 0 and "gate: not worse than the baseline" in fine.stdout and "::error" not in fine.stdout
    files = ["--junit", tmp_path / "gate.xml", "--json", tmp_path / "gate.json", "--markdown", tmp_path / "gate.md"]
    stopped = call("gate", worse, "--baseline", kept, *files)
    assert stopped.exit_code == 1 and "::error title=agentmem%3A tokens worse::" in stopped.stdout
    assert "baseline of 2026-01-31" in stopped.stdout and "Tasks that moved most" in stopped.stdout
    assert summary.read_text().count("## gate:") == 2
    assert 'failures="3"' in (tmp_path / "gate.xml").read_text()
    assert json.loads((tmp_path / "gate.json").read_text())["baseline"] == "baseline of 2026-01-31"
    assert (tmp_path / "gate.md").read_text().startswith("## gate: worse")
    allowed = call("gate", worse, "--baseline", kept, *limit_words("tokens", "support_adjusted", "cost"))
    assert allowed.exit_code == 0


def limit_words(*names: str) -> list[str]:
    return [word for name in names for word in ("--limit", f"{name}=0.1")]


def test_gate_reads_limits_from_pyproject_and_refuses_wrong_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, kept = write_run(tmp_path / "run", REPLAY, both_arms()), tmp_path / "kept.json"
    call("gate", run, "--baseline", kept, "--update")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.agentmem-bench.gate]\nfailure_rates = 0.1\n")
    with pytest.raises(UnknownName, match="failure_rate"):
        call("gate", run, "--baseline", kept)
    with pytest.raises(UsageError, match="NAME=SHARE"):
        call("gate", run, "--baseline", kept, "--config", write_toml(tmp_path), "--limit", "tokens")
    with pytest.raises(UsageError, match="--date"):
        call("gate", run, "--baseline", kept, "--config", write_toml(tmp_path), "--update", "--date", "31.1.26")


def write_toml(folder: Path) -> Path:
    path = folder / "other.toml"
    path.write_text("[tool.agentmem-bench.gate]\ntokens = 0.5\n")
    return path


def test_invalid_runs_are_neither_judged_nor_kept(tmp_path: Path) -> None:
    recipe, kept = make_recipe(tasks=20, per_session=5, arms=("full",)), tmp_path / "kept.json"
    good = write_run(tmp_path / "good", recipe, make_rows(recipe, "full", seed=1))
    bad = write_run(tmp_path / "bad", recipe, make_rows(recipe, "full", seed=1, errored=5))
    unfinished = write_run(tmp_path / "open", recipe, make_rows(recipe, "full", seed=1), finished=False)
    call("gate", good, "--baseline", kept, "--update")
    assert call("gate", bad, "--baseline", kept).exit_code == 2
    with pytest.raises(InvalidRun, match="cannot be a baseline"):
        call("gate", bad, "--baseline", kept, "--update")
    with pytest.raises(InvalidRun, match="stopped early"):
        call("gate", unfinished, "--baseline", kept)


def test_a_slow_drift_shows_in_the_history(tmp_path: Path) -> None:
    runs = []
    for step in range(4):
        recipe = replace(REPLAY, code={"version": f"0.{step}", "sha256": f"{step}" * 64})
        runs.append(write_run(tmp_path / f"v{step}", recipe, both_arms(factor=0.8 * 1.004**step)))
    write_run(tmp_path / "else", replace(REPLAY, window=5), both_arms())
    write_run(tmp_path / "open", REPLAY, both_arms(), finished=False)
    shown = call("history", *runs).stdout
    assert "tokens grew by 1.2" in shown and "a slow drift" in shown
    assert shown.count("recipe family") == 2 and "v3" in shown and "full on made (replay" in shown
    everything = json.loads(call("history", "--under", tmp_path, "--format", "json").stdout)
    assert [len(family["series"][0]["points"]) for family in everything["families"]] == [4, 1]
    with pytest.raises(UsageError, match="not finished"):
        call("history", tmp_path / "open")
    with pytest.raises(UsageError, match="name run folders"):
        call("history")
    with pytest.raises(UsageError, match="no finished run"):
        call("history", "--under", runs[0] / "evidence")


@pytest.mark.parametrize("command", ["compare", "gate", "history"])
def test_help_shows_an_example(command: str) -> None:
    assert f"agentmem-bench {command} " in " ".join(call(command, "--help").stdout.split())
