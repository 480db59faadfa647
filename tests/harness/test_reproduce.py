"""The published table beside ours: arithmetic, frozen recipes, estimates before money is spent, and real runs."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.commands import reproduce
from harness.engines.registry import names
from harness.errors import DataError, UnknownName, UsageError
from harness.models.budget import Prices
from harness.recipe import file_sha256
from harness.reproduce import published, recipes
from harness.reproduce.estimate import estimates, likely_of, most_of
from harness.reproduce.render import passed_of
from harness.suites import SUITES
from tests.data import data_root
from tests.golden import golden_rows
from tests.harness.made_replay import write_recorded

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.golden
def test_stated_and_recomputed_figures_are_those_of_the_golden_file() -> None:
    cases = {case["input"]["suite"]: case for case in golden_rows("stats.jsonl", "published_arithmetic")}
    if not cases:
        pytest.skip("no golden cases")
    for row in published.ROWS:
        case = cases[row.title]
        given, expected, again = case["input"], case["expected"], published.recomputed(row)
        assert (row.baseline, row.treatment) == (given["baseline_percent"], given["treatment_percent"])
        assert (row.tokens_baseline, row.tokens_treatment) == (given["baseline_tokens_m"], given["treatment_tokens_m"])
        assert row.gain == expected["published_relative_gain_percent"]
        assert again["gain"] == pytest.approx(expected["relative_gain_percent"], abs=1e-9)
        assert again["gain_agrees"] == expected["relative_gain_matches"]
        assert row.token_change == expected.get("published_token_change_percent")
        assert again["token_change"] == pytest.approx(expected.get("token_change_percent"), abs=1e-9)
        assert again["token_change_agrees"] == expected.get("token_change_matches_2dp")


def test_the_kept_table_is_the_one_in_the_code() -> None:
    text = (RESULTS / "published.toml").read_text(encoding="utf-8")
    assert text == published.to_toml()
    rows = {row["name"]: row for row in tomllib.loads(text)["row"]}
    changes = {name: row.get("token_change_recomputed") for name, row in rows.items()}
    assert changes == {"widesearch": -61.30, "swebench": -31.63, "aalcr": -30.98, "personamem": None}
    assert rows["personamem"]["gain_recomputed"] == 58.33
    assert rows["swebench"]["unpaired_test"][0]["passed"] == [292, 321]


def test_recipes_are_frozen_and_fit_what_is_installed() -> None:
    hashes = {one.row: recipes.sha256(one) for one in recipes.RECIPES}
    assert len(set(hashes.values())) == 4 and set(hashes) == {row.name for row in published.ROWS}
    for one in recipes.RECIPES:
        assert recipes.sha256(replace(one, version=2)) != hashes[one.row]
        assert one.embedded in SUITES and one.live.suite in SUITES
        assert set(one.live.arms) | set(one.replay.arms if one.replay else ()) <= set(names())


def test_estimates_come_from_the_replay_the_published_total_or_a_named_guess() -> None:
    live, row = recipes.recipe_of("swebench").live, published.row("swebench")
    record = {
        "prompt_tokens": 90_000_000,
        "completion_tokens": 10_000_000,
        "cached_tokens": 40_000_000,
        "memory_tokens": 0,
    }
    found = estimates(live, row, {"full": record}, Prices(2.0, 0.2, 10.0), seconds=36.0, concurrency=100)
    full = found[0]
    assert (full.source, full.most, full.likely) == ("the replay", 280.0, 208.0)
    assert found[1].source.startswith("the published total") and found[1].likely is None
    # ten sessions of three arms can be played at once
    assert sum(one.hours for one in found) == pytest.approx(3 * 20_163 * 36 / 3_600 / 30)
    others = sum(one.most or 0.0 for one in found[1:])
    assert likely_of(found) == pytest.approx(208.0 + others)
    assert most_of(found) == pytest.approx(280.0 + others)
    fifth = estimates(live, row, {"full": record}, Prices(2.0, 0.2, 10.0), 36.0, 1, tasks=100)
    assert fifth[0].most == pytest.approx(56.0) and fifth[0].calls == round(20_163 / 5)
    guess = estimates(recipes.recipe_of("personamem").live, published.row("personamem"), {}, None, 10.0, 1)
    assert guess[0].source.startswith("a guess") and most_of(guess) is None


def call(*words: object) -> Result:
    app = typer.Typer()
    reproduce.register(app)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_the_live_part_says_what_it_costs_and_refuses_to_cost_more(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs --price and --cost-limit"):
        call("aalcr", "--part", "live", "--model", "m", "--out", tmp_path)
    words = ["aalcr", "--part", "live", "--model", "m", "--price", "2.5,0.25,10", "--out", tmp_path]
    with pytest.raises(UsageError, match=r"about 706\.49 to 706\.49, judge not included, and 13\.3 hours, more than"):
        call(*words, "--cost-limit", "5")
    shown = call("aalcr", "--estimate", "--price", "2.5,0.25,10", "--data", tmp_path).stdout
    assert "at most 706.49" in shown and "--suite aalcr" in shown and str(tmp_path) not in shown
    assert not list(tmp_path.iterdir())
    for wrong in (("swebenhc",), ("--part", "lvie")):
        with pytest.raises(UnknownName):
            call(*wrong)


def test_other_recorded_runs_than_the_frozen_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTMEM_DATA", raising=False)
    with pytest.raises(DataError, match="give --data or set AGENTMEM_DATA"):
        call("swebench", "--part", "replay", "--out", tmp_path)
    assert "the replay part is left out" in call("personamem", "--out", tmp_path / "usual").stderr
    with pytest.raises(DataError, match="is missing; it holds mini-swe-agent"):
        call("swebench", "--part", "replay", "--out", tmp_path, "--data", tmp_path)
    part = recipes.recipe_of("swebench").replay
    assert part is not None
    path = tmp_path / next(iter(part.files))
    path.parent.mkdir()
    write_recorded(path)
    with pytest.raises(DataError, match="the frozen recipe names b9bb89825b8230af"):
        call("swebench", "--part", "replay", "--out", tmp_path, "--data", tmp_path)


def test_errors_and_unreadable_answers_are_failures() -> None:
    counts: dict[str, Any] = {"attempted": 4, "errored": 1, "unparsable": 3, "passed": None}
    assert passed_of(counts) == 0
    assert passed_of({**counts, "unparsable": 2}) is None
    assert passed_of({**counts, "attempted": 0, "errored": 0, "unparsable": 0}) is None


def test_the_embedded_part_of_a_row(tmp_path: Path) -> None:
    shown = call("personamem", "--part", "embedded", "--out", tmp_path).stdout
    assert "published, recomputed" in shown and "+58.33 %" in shown and "What was never published" in shown
    record = json.loads((tmp_path / "personamem" / "reproduce.json").read_text())
    assert record["recipe"] == recipes.sha256(recipes.recipe_of("personamem"))
    assert record["frozen"] == json.loads(json.dumps(asdict(recipes.recipe_of("personamem"))))
    assert set(record["parts"]) == {"embedded"} and (tmp_path / "personamem" / "embedded-recipe.json").exists()
    text = (tmp_path / "personamem" / "reproduce.md").read_text()
    assert "not by a language model" in text and record["recipe"] in text and "NaN" not in text


def test_the_replay_part_sets_three_columns_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_recorded(tmp_path / "recorded.jsonl")
    frozen = recipes.recipe_of("swebench")
    assert frozen.replay is not None
    digest = file_sha256(data)
    part = replace(frozen.replay, files={data.name: digest}, per_session=4, arms=("full", "mask", "agentmem", "absent"))
    monkeypatch.setattr(recipes, "RECIPES", (replace(frozen, replay=part),))
    shown = call("swebench", "--part", "replay", "--data", tmp_path, "--out", tmp_path / "out", "--jobs", 1).stdout
    assert "published, as stated" in shown and "replay, agentmem: support-adjusted tokens" in shown
    assert "not installed, left out: absent" in shown and "(t, 2 sessions)" in shown
    record = json.loads((tmp_path / "out" / "swebench" / "reproduce.json").read_text())
    assert record["estimates"][0]["source"] == "the replay"
    against = record["parts"]["replay"]["against_the_first_arm"]["agentmem"]["support-adjusted tokens"]
    assert against["sessions"] == 2 and against["interval"][0] <= against["ratio"] <= against["interval"][1]


@pytest.mark.slow
def test_the_kept_figures_of_the_swebench_row_hold(tmp_path: Path) -> None:
    """The baseline and the controls do not depend on our engine: they must come out as kept, to the token."""
    kept = json.loads((RESULTS / "reproduce" / "swebench" / "reproduce.json").read_text())
    call("swebench", "--part", "replay", "--data", data_root(), "--out", tmp_path)
    fresh = json.loads((tmp_path / "swebench" / "reproduce.json").read_text())
    for one in (kept, fresh):
        one["arms"] = {arm["arm"]: arm for arm in one["parts"]["replay"]["summary"]["arms"]}
    for arm in ("full", "isolated", "mask", "summary"):
        assert fresh["arms"][arm] == kept["arms"][arm]
    assert fresh["recipe"] == kept["recipe"] and re.fullmatch("[0-9a-f]{64}", kept["recipe"])
