"""CSV, Parquet and Markdown of a run: the same figures, nothing invented where nothing was measured."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from harness.commands import report
from harness.compare.outcomes import Options
from harness.errors import UsageError
from harness.report import export
from harness.report.export import write_csv, write_markdown, write_parquet
from harness.report.html_data import load
from tests.harness.made_replay import replayed, write_recorded
from tests.harness.made_runs import make_recipe, make_rows, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("export")
    return replayed(write_recorded(root / "recorded.jsonl", evil="\ud83d"), root / "run")[0]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_add_up_to_the_summary(run: Path, tmp_path: Path) -> None:
    data = load(run)
    arms, tasks, calls = map(read, write_csv(data, tmp_path))
    for record, row in zip(data.summary["arms"], arms, strict=True):
        mine = [one for one in calls if one["arm"] == record["arm"] and one["purpose"] == "agent"]
        assert row["support_adjusted"] == str(record["support_adjusted"])
        assert row["tasks_attempted"] == str(record["tasks"]["attempted"])
        assert sum(int(one["prompt_tokens"]) for one in mine) == record["prompt_tokens"]
        assert sum(len(one["missing"].split()) for one in mine) == record["needs_not_visible"]
        assert sum(int(one["repairs"]) for one in tasks if one["arm"] == record["arm"]) == record["repairs"]


def test_what_was_not_measured_is_empty(tmp_path: Path) -> None:
    recipe = make_recipe("live", arms=("full",), tasks=6, per_session=3)
    data = load(write_run(tmp_path / "run", recipe, make_rows(recipe, "full", seed=1)))
    _, tasks, calls = map(read, write_csv(data, tmp_path))
    assert {row["repairs"] for row in tasks} == {""} and {row["needs"] for row in calls} == {""}


def test_parquet_holds_the_same_tables(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    data = load(run)
    for path, name in zip(write_parquet(data, tmp_path), ("arms", "tasks", "calls"), strict=True):
        table = parquet.read_table(path).to_pylist()
        assert path.name == f"{name}.parquet" and table == export.rows(data)[name]
    monkeypatch.setattr(export, "PARQUET_NEEDS", "no_such_package")
    with pytest.raises(UsageError, match="agentmem-bench\\[parquet\\]"):
        write_parquet(data, tmp_path)


def test_markdown_says_where_each_arm_loses(run: Path, tmp_path: Path) -> None:
    text = write_markdown(load(run), tmp_path / "deep" / "report.md", Options(resamples=200)).read_text()
    assert "| full |" in text and "### Against full, with intervals" in text
    assert "### Where mask:last=1 loses" in text and "without a pointer that leads back" in text
    assert "### Where agentmem loses" in text and "NaN" not in text


def test_the_command_writes_what_is_asked_for(run: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    report.register(app)

    def call(*words: object) -> str:
        return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout

    assert call(run, "--csv", tmp_path, "--markdown", tmp_path / "a.md").count("wrote") == 4
    assert not (run / "report.html").exists()
    assert "wrote" in call(run, "--resamples", 200)
    assert "asks no network" in (run / "report.html").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    data = run.parent / "recorded.jsonl"
    call(run, "--html", page, "--data", data, "--prompts", 1, "--task", "plant-7", "--resamples", 200, "--jobs", 1)
    assert '"s001/plant-7": true' in page.read_text(encoding="utf-8")
