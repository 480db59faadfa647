"""The gate: no alarm without a change, an alarm for every real one, and verdicts people and machines can read."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare.outcomes import Options
from harness.errors import RecipeMismatch, UnknownName, UnreadableInput, UsageError
from harness.gate.baseline import Measured, measure, read_baseline, write_baseline
from harness.gate.checks import GateResult, check
from harness.gate.limits import Limits, load_limits
from harness.gate.outputs import github_annotations, headline, junit, step_summary, tables
from harness.tables import to_json, to_text
from harness.types import Recipe, TaskRow
from tests.harness.made_runs import make_calls, make_recipe, make_rows

REPLAY = make_recipe("replay", tasks=20, per_session=5)
FEW = Options(resamples=400)


def measured(recipe: Recipe, rows: tuple[TaskRow, ...], label: str = "run") -> Measured:
    return measure(label, recipe, rows, make_calls(rows), exact=recipe.kind == "replay")


def replayed(**changes: Any) -> tuple[TaskRow, ...]:
    """Both arms of a replay; `changes` go to the rows of the arm agentmem."""
    rows = make_rows(REPLAY, "agentmem", seed=1, **changes)
    return (*make_rows(REPLAY, "full", seed=1), *rows)


def live(seed: int, **changes: Any) -> Measured:
    """A noisy live run: a quarter of the outcomes is drawn anew by the seed."""
    recipe = make_recipe(tasks=200, per_session=10, arms=("agentmem",))
    options = {"flips": 0.25, "rate": 0.6} | changes
    return measured(recipe, make_rows(recipe, "agentmem", seed=seed, **options), f"run {seed}")


def verdicts(result: GateResult) -> dict[tuple[str, str], str]:
    return {(one.arm, one.quantity): one.verdict for one in result.checks}


def test_the_same_replay_twenty_times_raises_no_alarm() -> None:
    baseline = measured(REPLAY, replayed(), "baseline")
    for _ in range(20):
        result = check(baseline, measured(REPLAY, replayed()), Limits())
        assert result.exit_code == 0 and set(verdicts(result).values()) == {"ok"}
        assert result.moved == () and result.grown == ()


def test_live_runs_of_the_same_arm_twenty_times_raise_no_alarm() -> None:
    baseline = live(1_000)
    for seed in range(20):
        result = check(baseline, live(seed), Limits(), confirm=live(seed + 500), options=FEW)
        assert result.exit_code == 0, to_text(tables(result))


@settings(max_examples=25, deadline=None)
@given(st.floats(1.01, 2.0))
def test_one_percent_more_tokens_is_always_caught(factor: float) -> None:
    baseline = measured(REPLAY, replayed(), "baseline")
    result = check(baseline, measured(REPLAY, replayed(factor=factor)), Limits())
    assert result.exit_code == 1 and verdicts(result)["agentmem", "tokens"] == "worse"
    assert verdicts(result)["full", "tokens"] == "ok"
    assert len(result.moved) == 10 and {task.arm for task in result.moved} == {"agentmem"}


@pytest.mark.parametrize("index", range(20))
def test_one_lost_need_is_always_caught_and_its_task_named(index: int) -> None:
    rows = list(replayed())
    rows[20 + index] = replace(rows[20 + index], needs_lost=1)
    result = check(measured(REPLAY, replayed()), measured(REPLAY, tuple(rows)), Limits(needs_not_visible=1.0))
    assert result.exit_code == 1 and verdicts(result)["agentmem", "needs_lost"] == "worse"
    assert result.moved[0].task == rows[20 + index].task and result.moved[0].lost_more == 1


def test_lost_needs_that_only_moved_are_told() -> None:
    rows = list(replayed())
    old = [replace(row, needs_lost=1) if i == 20 else row for i, row in enumerate(rows)]
    new = [replace(row, needs_lost=1) if i == 23 else row for i, row in enumerate(rows)]
    result = check(measured(REPLAY, tuple(old)), measured(REPLAY, tuple(new)), Limits())
    assert result.exit_code == 0 and result.moved[0].task == rows[23].task
    (one,) = [one for one in result.checks if (one.arm, one.quantity) == ("agentmem", "needs_lost")]
    assert one.message.endswith("1 more in some tasks, 1 fewer in others")


def test_a_real_drop_of_a_live_run_needs_a_second_run() -> None:
    baseline, dropped, again = live(1), live(2, rate=0.35), live(3, rate=0.35)
    alone = check(baseline, dropped, Limits(), options=FEW)
    assert alone.exit_code == 0 and verdicts(alone)["agentmem", "pass_rate"] == "unconfirmed"
    assert "--confirm" in next(one.message for one in alone.checks if one.quantity == "pass_rate")
    confirmed = check(baseline, dropped, Limits(), confirm=again, options=FEW)
    assert confirmed.exit_code == 1 and verdicts(confirmed)["agentmem", "pass_rate"] == "worse"
    refuted = check(baseline, dropped, Limits(), confirm=live(4), options=FEW)
    assert refuted.exit_code == 0 and verdicts(refuted)["agentmem", "pass_rate"] == "ok"


def test_a_significant_drop_below_the_minimum_does_not_count() -> None:
    result = check(live(1), live(2, rate=0.35), Limits(pass_rate=0.9), confirm=live(3, rate=0.35), options=FEW)
    assert verdicts(result)["agentmem", "pass_rate"] == "ok"


def test_a_live_run_that_uses_many_more_tokens_is_caught() -> None:
    result = check(live(1), live(2, factor=1.3), Limits(), confirm=live(3, factor=1.3), options=FEW)
    assert verdicts(result)["agentmem", "tokens"] == "worse"


def test_too_few_groups_say_that_nothing_can_be_found() -> None:
    recipe = make_recipe(tasks=12, per_session=6)
    old, new = (measured(recipe, make_rows(recipe, "full", seed=1, rate=rate)) for rate in (1.0, 0.0))
    (one,) = [one for one in check(old, new, Limits(), options=FEW).checks if one.quantity == "pass_rate"]
    assert one.verdict == "ok" and "2 groups are too few" in one.message


def test_more_than_five_percent_errors_are_invalid_and_not_a_regression() -> None:
    recipe = make_recipe(tasks=40, per_session=2)
    baseline = measured(recipe, make_rows(recipe, "full", seed=1))
    fine = check(baseline, measured(recipe, make_rows(recipe, "full", seed=1, errored=2)), Limits(), options=FEW)
    broken = check(baseline, measured(recipe, make_rows(recipe, "full", seed=1, errored=3)), Limits(), options=FEW)
    assert (fine.exit_code, broken.exit_code) == (0, 2)
    assert verdicts(broken)["full", "failure_rate"] == "invalid"


def test_missing_tasks_and_arms_are_invalid_not_a_saving() -> None:
    baseline = measured(REPLAY, replayed())
    shorter = check(baseline, measured(REPLAY, replayed()[:-1]), Limits())
    without = check(baseline, measured(REPLAY, make_rows(REPLAY, "full", seed=1)), Limits())
    assert shorter.exit_code == 2 and "task-019" in headline_of(shorter, "tasks")
    assert without.exit_code == 2 and "no rows of arm agentmem" in headline_of(without, "run")


def headline_of(result: GateResult, quantity: str) -> str:
    return next(one.message for one in result.checks if one.quantity == quantity)


def test_a_figure_no_longer_measured_is_invalid() -> None:
    rows = tuple(replace(row, repairs=None) for row in replayed())
    result = check(measured(REPLAY, replayed()), measured(REPLAY, rows), Limits())
    assert result.exit_code == 2 and verdicts(result)["full", "support_adjusted"] == "invalid"


def test_a_prompt_that_is_no_longer_cached_costs_more() -> None:
    rows = tuple(replace(row, cached_tokens=0) for row in replayed())
    result = check(measured(REPLAY, replayed()), measured(REPLAY, rows), Limits())
    assert verdicts(result)["full", "cost"] == "worse" and verdicts(result)["full", "tokens"] == "ok"


def test_illegal_prompts_are_invalid() -> None:
    rows = list(replayed())
    rows[3] = replace(rows[3], error="LintError: arm 'full' assembled a prompt that no provider would accept")
    result = check(measured(REPLAY, replayed()), measured(REPLAY, tuple(rows)), Limits())
    assert result.exit_code == 2 and verdicts(result)["full", "lint"] == "invalid"


def test_a_cassette_that_passes_one_task_less_is_worse() -> None:
    recipe = make_recipe(tasks=6, per_session=2)
    rows = make_rows(recipe, "full", seed=1, rate=1.0)
    worse = (replace(rows[0], passed=False, score=0.0), *rows[1:])
    old, new = (measure("run", recipe, part, make_calls(part), exact=True) for part in (rows, worse))
    result = check(old, new, Limits())
    assert result.exit_code == 1 and verdicts(result)["full", "passed"] == "worse"
    assert result.moved[0].task == rows[0].task


def test_new_arms_are_noted_and_other_recipes_refused() -> None:
    baseline = measured(REPLAY, make_rows(REPLAY, "full", seed=1))
    result = check(baseline, measured(REPLAY, replayed()), Limits())
    assert result.exit_code == 0 and "arm agentmem is not in the baseline" in result.notes[0]
    with pytest.raises(RecipeMismatch, match="window"):
        check(baseline, measured(replace(REPLAY, window=1), replayed()), Limits())
    newer = replace(REPLAY, code={"version": "9", "sha256": "00" * 32})
    assert check(baseline, measured(newer, replayed()), Limits()).exit_code == 0


def test_calls_whose_prompt_grew_are_named() -> None:
    old = measured(REPLAY, replayed())
    rows = tuple(
        replace(row, peak_prompt=5_000) if (row.arm, row.task) == ("agentmem", "task-007") else row
        for row in replayed()
    )
    grown = check(old, measured(REPLAY, rows), Limits()).grown
    assert [(one.task, one.call, one.after - one.before) for one in grown] == [("task-007", n, 4_200) for n in range(4)]


def test_a_baseline_survives_its_file(tmp_path: Path) -> None:
    run, path = measured(REPLAY, replayed()), tmp_path / "deep" / "gate.json"
    write_baseline(path, run, "2026-01-31", "first")
    again = read_baseline(path)
    assert again.date == "2026-01-31" and again.recipe == run.recipe and again.exact
    for name, arm in run.arms.items():
        kept = {row.task: row for row in again.arms[name].run.rows}
        assert all(asdict(kept[row.task]) == asdict(replace(row, detail={})) for row in arm.run.rows)
        assert {key: list(value) for key, value in arm.prompts.items()} == again.arms[name].prompts
    assert check(again, run, Limits()).exit_code == 0
    before = path.read_bytes()
    write_baseline(path, run, "2026-01-31", "first")
    assert path.read_bytes() == before


def test_of_a_task_played_again_the_last_calls_count() -> None:
    rows = make_rows(REPLAY, "full", seed=1)
    first = tuple(replace(row, peak_prompt=1) for row in rows[:5])
    again = measure("run", REPLAY, rows, [*make_calls(first), *make_calls(rows)], exact=True)
    assert again.arms["full"].prompts == measured(REPLAY, rows).arms["full"].prompts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "found 'list'"),
        ('{"schema": "agentmem-gate/9"}', "found 'agentmem-gate/9'"),
        ('{"schema": "agentmem-gate/1"}', "damaged baseline"),
    ],
)
def test_damaged_baselines_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "gate.json"
    path.write_text(content)
    with pytest.raises(UnreadableInput, match=message):
        read_baseline(path)
    with pytest.raises(UsageError, match="--update"):
        read_baseline(tmp_path / "none.json")


def test_an_edited_recipe_does_not_pass_as_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    write_baseline(path, measured(REPLAY, replayed()), "2026-01-31")
    path.write_text(path.read_text().replace('"window": 200000', '"window": 100000'))
    with pytest.raises(UnreadableInput, match="hash beside it"):
        read_baseline(path)


def test_limits_come_from_the_file_and_flags_win(tmp_path: Path) -> None:
    config = tmp_path / "pyproject.toml"
    config.write_text("[tool.agentmem-bench.gate]\ntokens = 0.02\nalpha = 0.05\n")
    limits = load_limits(config, ["alpha=0"])
    assert (limits.tokens, limits.alpha, limits.failure_rate) == (0.02, 0.0, 0.05)
    config.write_text("[project]\nname = 'x'\n")
    assert load_limits(config) == Limits()


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("token = 0.1", UnknownName, "unknown key .*'token': expected .*tokens"),
        ("tokens = 5", UsageError, "tokens must be a share"),
        ("tokens = true", UsageError, "tokens must be a share"),
        ("tokens = 'x'", UsageError, "tokens must be a share"),
        ("tokens =", UnreadableInput, "TOML"),
    ],
)
def test_wrong_limits_are_refused(tmp_path: Path, line: str, error: type[Exception], message: str) -> None:
    config = tmp_path / "pyproject.toml"
    config.write_text(f"[tool.agentmem-bench.gate]\n{line}\n")
    with pytest.raises(error, match=message):
        load_limits(config)


def test_what_people_and_machines_read() -> None:
    rows = [replace(row, task=f"a|b,\x07:{row.task}") if row.arm == "agentmem" else row for row in replayed()]
    worse = [replace(row, prompt_tokens=row.prompt_tokens * 2, needs_lost=1) for row in rows]
    result = check(measured(REPLAY, tuple(rows)), measured(REPLAY, tuple(worse)), Limits())
    assert headline(result).startswith("gate: worse than the baseline (")
    xml = ElementTree.fromstring(junit(result))
    suite = xml.find("testsuite")
    assert suite is not None and int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == 8
    lines = list(github_annotations(result))
    assert len(lines) == 8 and lines[0].startswith("::error title=full%3A tokens worse::")
    assert all("\n" not in line and "%2" in line for line in lines)
    summary = step_summary(result)
    assert summary.startswith("## gate: worse") and "a\\|b" in summary
    assert json.loads(to_json(result))["checks"][1]["verdict"] == "worse"


def test_gains_are_told() -> None:
    result = check(measured(REPLAY, replayed()), measured(REPLAY, replayed(factor=0.5)), Limits())
    assert result.exit_code == 0 and "--update" in to_text(tables(result))
