"""Comparisons of two arms: pairing, refusals, denominators, intervals that respect sessions, and what is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.compare.comparison import RECORDED, SuiteComparison, compare
from harness.compare.outcomes import Options
from harness.compare.pairs import ArmRun, pair
from harness.compare.positions import band_of
from harness.compare.render import tables
from harness.errors import RecipeMismatch, UsageError
from harness.tables import to_json, to_markdown, to_text
from harness.types import Recipe, TaskRow
from tests.harness.made_runs import make_recipe, make_row, make_rows

FEW = Options(seed=1, resamples=500)


def arm_run(recipe: Recipe, arm: str, rows: tuple[TaskRow, ...]) -> ArmRun:
    return ArmRun(arm, recipe, next(a for a in recipe.arms if a.name == arm), rows)


def made(recipe: Recipe | None = None, **treatment: Any) -> SuiteComparison:
    recipe = recipe or make_recipe()
    first = arm_run(recipe, "full", make_rows(recipe, "full", seed=1))
    second = arm_run(recipe, "agentmem", make_rows(recipe, "agentmem", **({"seed": 2} | treatment)))
    return compare([(first, second)], FEW).suites[0]


def test_equal_arms_differ_in_nothing() -> None:
    suite = made()
    assert suite.outcomes is not None and suite.outcomes.passed.clustered.mean == 0.0
    assert suite.outcomes.p == 1.0 and suite.outcomes.detectable is None
    assert [one.ratio for one in suite.tokens] == [1.0]
    assert (suite.tasks, suite.sessions, suite.varied) == (60, 10, ())


def test_a_real_gain_is_found_with_its_session_interval() -> None:
    suite = made(rate=0.95, factor=0.5)
    assert suite.outcomes is not None
    interval = suite.outcomes.passed.bootstrap
    assert interval is not None and interval.low > 0.0 and suite.outcomes.p < 0.01
    assert suite.outcomes.table is not None and suite.outcomes.table.baseline_only == 0
    assert suite.tokens[0].interval is not None and suite.tokens[0].interval.high < 0.6
    assert suite.outcomes.p_from == "sign flips of groups"
    assert all(band.token_ratio == pytest.approx(suite.tokens[0].ratio, rel=0.02) for band in suite.positions)


def test_tasks_of_their_own_use_mcnemar() -> None:
    recipe = make_recipe(per_session=1)
    suite = made(recipe, rate=0.8)
    assert suite.outcomes is not None and suite.outcomes.mcnemar is not None
    assert suite.outcomes.p_from == "McNemar exact" and suite.outcomes.p == suite.outcomes.mcnemar.p_exact


def test_tasks_that_share_documents_are_one_group() -> None:
    recipe = make_recipe(per_session=1)
    rows = make_rows(recipe, "full", seed=1)
    clustered = tuple(replace(row, detail={"cluster": int(row.task[-3:]) // 3}) for row in rows)
    pairs = pair(arm_run(recipe, "full", clustered), arm_run(recipe, "agentmem", clustered))
    assert len({p.group for p in pairs}) == 20 and len({p.session for p in pairs}) == 60
    assert all(pairs[i].group == pairs[i - i % 3].group for i in range(60))


def test_a_task_missing_in_one_arm_is_named_and_failed_there() -> None:
    recipe = make_recipe()
    rows = tuple(replace(row, passed=True, score=1.0) for row in make_rows(recipe, "full", seed=1))
    suite = compare([(arm_run(recipe, "full", rows), arm_run(recipe, "agentmem", rows[:-3]))], FEW).suites[0]
    assert suite.missing_in_treatment == ("task-057", "task-058", "task-059")
    assert suite.outcomes is not None and suite.outcomes.n == 60
    assert suite.outcomes.treatment.rate == pytest.approx(57 / 60)
    assert suite.tokens[0].left_out == 3 and suite.tokens[0].ratio == 1.0


def test_a_run_with_many_errors_is_marked_invalid() -> None:
    assert made(errored=3).invalid == () and "4 of 60 tasks errored" in made(errored=4).invalid[0]


def test_missing_attempts_are_told() -> None:
    recipe = make_recipe(tasks=4, per_session=2)
    rows = make_rows(recipe, "full", seed=1, rate=1.0, attempts=2)
    suite = compare([(arm_run(recipe, "full", rows), arm_run(recipe, "agentmem", rows[:-1]))], FEW).suites[0]
    assert suite.outcomes is not None and suite.outcomes.treatment.rate == pytest.approx(7 / 8)
    assert "1 tasks of the treatment have fewer than 2 attempts" in suite.notes[-1]


def test_errors_and_unparsable_answers_stay_in_the_denominator() -> None:
    suite = made(errored=6)
    assert suite.outcomes is not None and suite.outcomes.n == 60
    assert (suite.treatment.counts.errored, suite.treatment.counts.scored) == (6, 54)
    assert suite.outcomes.treatment.rate < suite.outcomes.baseline.rate


def test_a_task_without_verdict_leaves_both_sides_and_is_counted() -> None:
    recipe = make_recipe(tasks=4, per_session=2)
    rows = make_rows(recipe, "full", seed=1, rate=1.0)
    silent = (replace(rows[0], state="unjudged", passed=None, score=None), *rows[1:])
    suite = compare([(arm_run(recipe, "full", rows), arm_run(recipe, "agentmem", silent))], FEW).suites[0]
    assert suite.outcomes is not None and (suite.outcomes.n, suite.outcomes.no_verdict) == (3, 1)
    assert suite.outcomes.passed.clustered.mean == 0.0 and suite.outcomes.if_failed == -0.25
    assert any("1 tasks lack a judge's verdict" in note for note in suite.notes)


def test_a_task_without_an_answer_failed() -> None:
    recipe = make_recipe(tasks=4, per_session=2)
    rows = make_rows(recipe, "full", seed=1, rate=1.0)
    silent = (replace(rows[0], state="missing", passed=None, score=None), *rows[1:])
    suite = compare([(arm_run(recipe, "full", rows), arm_run(recipe, "agentmem", silent))], FEW).suites[0]
    assert suite.outcomes is not None and suite.outcomes.n == 4 and suite.outcomes.treatment.rate == 0.75
    assert suite.treatment.counts.missing == 1


def test_replays_do_not_compare_recorded_outcomes() -> None:
    suite = made(make_recipe("replay"), factor=0.9)
    assert suite.outcomes is None and RECORDED in suite.notes
    assert [one.measure for one in suite.tokens] == ["tokens", "support-adjusted tokens"]
    assert suite.needs is not None and suite.needs.unsupported.clustered.mean == 0.0
    assert all(band.rate_baseline is None for band in suite.positions)


def test_attempts_are_averaged_per_task_first() -> None:
    recipe = make_recipe()
    first, second = (
        arm_run(recipe, arm, make_rows(recipe, arm, seed=seed, flips=0.5, attempts=3))
        for arm, seed in (("full", 1), ("agentmem", 2))
    )
    outcomes = compare([(first, second)], FEW).suites[0].outcomes
    assert outcomes is not None and outcomes.n == 60 and outcomes.mcnemar is None
    assert outcomes.baseline.wilson is None and outcomes.baseline.reliability is not None
    at, hat = dict(outcomes.baseline.reliability.at), dict(outcomes.baseline.reliability.hat)
    assert at[1] == pytest.approx(hat[1]) == pytest.approx(outcomes.baseline.rate)
    assert at[3] > at[1] > hat[3]


def test_fractional_scores_are_compared_beside_passes() -> None:
    recipe = make_recipe()
    rows = make_rows(recipe, "full", seed=1)
    better = tuple(replace(row, arm="agentmem", score=0.5 + 0.4 * bool(row.passed)) for row in rows)
    worse = tuple(replace(row, score=0.4 + 0.4 * bool(row.passed)) for row in rows)
    outcomes = compare([(arm_run(recipe, "full", worse), arm_run(recipe, "agentmem", better))], FEW).suites[0].outcomes
    assert outcomes is not None and outcomes.score is not None
    assert outcomes.score.clustered.mean == pytest.approx(0.1) and outcomes.score.permutation.p < 0.01
    assert outcomes.p == outcomes.score.permutation.p and outcomes.p_from.startswith("scores")


def test_several_suites_are_adjusted_together() -> None:
    recipe = make_recipe(per_session=1)
    both = []
    for name in ("one", "two"):
        rows = {
            arm: tuple(replace(row, suite=name) for row in make_rows(recipe, arm, seed=1, rate=rate))
            for arm, rate in (("full", 0.6), ("agentmem", 0.75))
        }
        both.append((arm_run(recipe, "full", rows["full"]), arm_run(recipe, "agentmem", rows["agentmem"])))
    found = compare(both, FEW).suites
    assert [suite.suite for suite in found] == ["one", "two"]
    for suite in found:
        assert suite.outcomes is not None and suite.p_holm == pytest.approx(min(1.0, 2 * suite.outcomes.p))


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("window", {"window": 100_000}),
        ("tokenizer", {"tokenizer": "cl100k_base"}),
        ("model", {"model": "model-y"}),
        ("data.made.jsonl", {"data": {"made.jsonl": "00" * 32}}),
        ("tasks", {"tasks": ("other",)}),
        ("per_session", {"per_session": 5}),
        ("limits.steps", {"limits": {"steps": 51}}),
        ("kind", {"kind": "replay"}),
    ],
)
def test_recipes_that_differ_elsewhere_are_refused_by_field(field: str, changes: dict[str, Any]) -> None:
    recipe = make_recipe()
    other = replace(recipe, **changes)
    first = arm_run(recipe, "full", make_rows(recipe, "full", seed=1))
    second = arm_run(other, "full", make_rows(recipe, "full", seed=1))
    with pytest.raises(RecipeMismatch) as refused:
        compare([(first, second)], FEW)
    assert set(refused.value.differences) == {field} and len(str(refused.value)) < 400
    allowed = compare([(first, second)], FEW, vary=[field.split(".")[0]]).suites[0]
    assert field in allowed.varied


def test_other_code_and_arms_are_what_is_compared() -> None:
    recipe = make_recipe()
    newer = replace(recipe, code={"version": "0.2.0", "sha256": "ef" * 32})
    rows = make_rows(recipe, "full", seed=1)
    suite = compare([(arm_run(recipe, "full", rows), arm_run(newer, "full", rows))], FEW).suites[0]
    assert suite.varied == ("code.sha256", "code.version")


def test_two_rows_of_one_attempt_and_empty_arms_are_refused() -> None:
    recipe = make_recipe(tasks=1)
    row = make_row("full", "s000", "task-000", 0)
    with pytest.raises(UsageError, match="two rows for attempt 0"):
        pair(arm_run(recipe, "full", (row, row)), arm_run(recipe, "full", (row,)))
    with pytest.raises(UsageError, match="no task rows"):
        pair(arm_run(recipe, "full", (row,)), arm_run(recipe, "agentmem", ()))


def test_unfinished_runs_name_what_was_not_run() -> None:
    recipe = make_recipe(tasks=6)
    rows = make_rows(recipe, "full", seed=1)[:4]
    suite = compare([(arm_run(recipe, "full", rows), arm_run(recipe, "agentmem", rows))], FEW).suites[0]
    assert suite.not_run == ("task-004", "task-005")


def test_bands_of_a_session() -> None:
    assert [band_of(i, 50) for i in (0, 9, 10, 39, 40, 49)] == ["first"] * 2 + ["middle"] * 2 + ["last"] * 2
    assert [band_of(i, 5) for i in range(5)] == ["first", "first", "middle", "last", "last"]
    assert band_of(0, 1) == "middle"


def test_order_of_rows_does_not_matter() -> None:
    recipe = make_recipe()
    rows = {arm: make_rows(recipe, arm, seed=seed, flips=0.3) for arm, seed in (("full", 1), ("agentmem", 2))}
    straight = compare([(arm_run(recipe, "full", rows["full"]), arm_run(recipe, "agentmem", rows["agentmem"]))], FEW)
    turned = compare(
        [(arm_run(recipe, "full", rows["full"][::-1]), arm_run(recipe, "agentmem", rows["agentmem"][::-1]))], FEW
    )
    assert straight == turned


def test_everything_is_printed_and_json_has_no_nan() -> None:
    recipe = make_recipe()
    first = arm_run(recipe, "full", make_rows(recipe, "full", seed=1, flips=0.3))
    second = arm_run(recipe, "agentmem", make_rows(recipe, "agentmem", seed=2, flips=0.3, factor=0.7, errored=2))
    comparison = compare([(first, second)], FEW)
    text, markdown = to_text(tables(comparison)), to_markdown(tables(comparison))
    for part in ("Wilson 95 %", "McNemar exact p", "smallest difference found", "t (CR1)", "errored", "first", "last"):
        assert part in text and part in markdown
    assert "nan" not in text.lower()
    data = json.loads(to_json(comparison), parse_constant=lambda name: pytest.fail(name))
    assert data["suites"][0]["treatment"]["counts"]["errored"] == 2
    assert to_json(compare([(first, second)], FEW)) == to_json(comparison)


def test_a_single_session_has_no_interval_over_sessions() -> None:
    suite = made(make_recipe(tasks=6, per_session=6), rate=0.9)
    assert suite.outcomes is not None and suite.outcomes.passed.bootstrap is None
    assert suite.tokens[0].interval is None and suite.outcomes.p == 1.0
    assert any("a single session" in note for note in suite.notes)
