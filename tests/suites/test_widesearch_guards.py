"""What ``guarded`` mode mends in WideSearch, each next to what ``reference`` mode keeps."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types import Outcome
from suites.outcomes import Mode, bucket
from suites.widesearch.cells import metric
from suites.widesearch.dates import parse_date
from suites.widesearch.extract import extract_table, split_cells
from suites.widesearch.score import METRICS, score
from tests.suites.judges import Scripted
from tests.suites.widesearch_stub import StubJudge, fenced

NOW = datetime(2025, 8, 15, 12)
TEXT = {"preprocess": ["norm_str"], "metric": ["exact_match"], "criterion": None}
NUMBER = {"preprocess": ["extract_number"], "metric": ["number_near"], "criterion": 0.0}
JUDGED = {"preprocess": ["norm_str"], "metric": ["llm_judge"], "criterion": "same meaning"}
GOLD = "Name,Year\nAlpha,2020\nBeta,2021\n"


def rules(**pipeline: dict[str, Any]) -> dict[str, Any]:
    return {"required": list(pipeline), "unique_columns": ["name"], "eval_pipeline": pipeline}


BASIC = rules(name=TEXT, year=NUMBER)


def table(*rows: str, fence: str = "markdown") -> str:
    header, *body = rows
    width = header.count("|") - 1
    return "\n".join([f"```{fence}", header, "|" + "---|" * width, *body, "```"])


ANSWER = table("| Name | Year |", "| Alpha | 2020 |", "| Beta | 2021 |")


def both(answer: str | None, gold: str = GOLD, evaluation: Any = BASIC, judge: Any = None) -> tuple[Outcome, Outcome]:
    def one(mode: Mode) -> Outcome:
        return score(answer, gold, evaluation, judge=judge or StubJudge(), now=NOW, mode=mode)

    return one("reference"), one("guarded")


def test_a_right_table_is_right_in_both_modes() -> None:
    for outcome in both(ANSWER):
        assert (outcome.state, outcome.passed, outcome.score) == ("scored", True, 1.0)


def test_two_spellings_of_one_key_count_once() -> None:
    answer = table("| Name | Year |", "| alpha | 2020 |", "| Alpha | 2020 |", "| Beta | 2021 |")
    reference, guarded = both(answer)
    assert reference.detail["metrics"]["recall_by_row"] == 1.5
    assert guarded.detail["metrics"]["recall_by_row"] == 1.0
    assert guarded.passed


def test_no_common_key_is_wrong_and_no_scorer_error() -> None:
    for outcome in both(table("| Name | Year |", "| Delta | 2020 |")):
        assert bucket(outcome) == "wrong"
        assert set(outcome.detail["metrics"].values()) == {0.0}


def test_an_extra_column_is_wrong_in_both_modes() -> None:
    for outcome in both(table("| Name | Year | Note |", "| Alpha | 2020 | x |")):
        assert bucket(outcome) == "wrong"
        assert outcome.detail["kind"] == "required_columns mismatch"


@pytest.mark.parametrize("answer", [None, "", "  \n", "NULL"])
def test_no_answer_is_missing(answer: str | None) -> None:
    for outcome in both(answer):
        assert bucket(outcome) == "missing"


def test_no_table_is_unparsable() -> None:
    for outcome in both("I could not find anything."):
        assert bucket(outcome) == "unparsable"


def test_an_escaped_pipe_stays_in_its_cell() -> None:
    answer = table("| Name | Note |", "| Alpha | x |", "| Beta | y\\|z |", "| Gamma | `p|q` |")
    gold = "Name,Note\nAlpha,x\nBeta,y|z\nGamma,`p|q`\n"
    reference, guarded = both(answer, gold, rules(name=TEXT, note=TEXT))
    assert bucket(reference) == "unparsable"
    assert guarded.passed


def test_a_table_without_outer_pipes_keeps_its_first_column() -> None:
    answer = "Name | Year\n---|---\nAlpha | 2020\nBeta | 2021"
    reference, guarded = both(answer)
    assert reference.detail["kind"] == "required_columns mismatch"
    assert guarded.passed


def test_reasoning_does_not_hijack_the_header() -> None:
    answer = "<think>|a|b|\n|1|2|</think>\n" + "\n".join(ANSWER.split("\n")[1:-1])
    reference, guarded = both(answer)
    assert not reference.passed
    assert guarded.passed


def test_a_quote_is_text() -> None:
    answer = table("| Name | Year |", '| "Alpha | 2020 |', "| Beta | 2021 |")
    reference, guarded = both(answer, 'Name,Year\n"""Alpha",2020\nBeta,2021\n')
    assert bucket(reference) == "unparsable"
    assert guarded.passed


def test_numbers_keep_the_form_they_were_typed_in() -> None:
    found = extract_table(table("| Name | Year |", "| A | 007 |", "| B | |"), "guarded")
    assert found is not None
    assert found.rows == (("A", "007"), ("B", "nan"))
    found = extract_table(table("| Name | Year |", "| A | 007 |", "| B | |"), "reference")
    assert found is not None
    assert found.rows == (("A", "7.0"), ("B", "nan"))


@pytest.mark.parametrize(
    "reply", [{"idx_0": 0.5, "idx_1": 1}, {"idx_0": "1", "idx_1": 1}, {"idx_0": True, "idx_1": 1}, {"idx_1": 1}]
)
def test_only_0_and_1_are_grades(reply: dict[str, Any]) -> None:
    judge = Scripted(fenced({}), fenced(reply))
    answer = table("| Name | Desc |", "| Alpha | red |", "| Beta | blue |")
    outcome = score(
        answer,
        "Name,Desc\nAlpha,Red\nBeta,green\n",
        rules(name=TEXT, desc=JUDGED),
        judge=judge,
        now=NOW,
        mode="guarded",
        attempts=3,
    )
    assert bucket(outcome) == "judge_error"
    assert len(judge.heard) == 1 + 3  # one alignment, then the column three times
    assert outcome.detail["unjudged_cells"] == 1
    # the cell without a grade is in neither numerator nor denominator: 3 of 3 cells, 1 of 1 row
    assert outcome.detail["metrics"]["f1_by_item"] == 1.0
    assert outcome.detail["metrics"]["precision_by_row"] == 1.0


@pytest.mark.parametrize("grade", ["Infinity", "NaN", "null", "1e999", '"1"', "[1]", "true"])
def test_no_odd_grade_reaches_the_record(grade: str) -> None:
    answer = table("| Name | Desc |", "| Alpha | red |")
    judge = Scripted(fenced({}), "```json\n{" + f'"idx_0": {grade}' + "}\n```")
    for outcome in both(answer, "Name,Desc\nAlpha,Red\n", rules(name=TEXT, desc=JUDGED), judge):
        json.dumps(outcome.detail, allow_nan=False)


def test_a_second_reply_can_mend_the_first() -> None:
    judge = Scripted(fenced({}), "sorry", fenced({"idx_0": 1, "idx_1": 0}))
    answer = table("| Name | Desc |", "| Alpha | red |", "| Beta | blue |")
    outcome = score(
        answer,
        "Name,Desc\nAlpha,Red\nBeta,green\n",
        rules(name=TEXT, desc=JUDGED),
        judge=judge,
        now=NOW,
        mode="guarded",
    )
    assert bucket(outcome) == "wrong"
    assert outcome.detail["metrics"]["f1_by_item"] == 0.75
    assert [call["failure"] for call in outcome.detail["judge"]] == [None, None]


def test_a_judge_that_is_down_is_no_zero() -> None:
    answer = table("| Name | Desc |", "| Alpha | red |")
    for outcome in both(answer, "Name,Desc\nAlpha,blue\n", rules(name=TEXT, desc=JUDGED), StubJudge(judge="none")):
        assert bucket(outcome) == "judge_error"
        assert outcome.score is None


def test_a_failed_alignment_is_a_judge_error_unless_it_was_not_needed() -> None:
    needed = table("| Name | Year |", "| Alpha Inc | 2020 |", "| Beta | 2021 |")
    for outcome in both(needed, judge=StubJudge(align="none")):
        assert bucket(outcome) == "judge_error"
    for outcome in both(ANSWER, judge=StubJudge(align="none")):
        assert bucket(outcome) == "passed"


def test_alignment_only_maps_onto_gold_words() -> None:
    answer = table("| Name | Year |", "| Alpha | 2020 |", "| Beta | 2021 |")
    reference, guarded = both(answer, judge=StubJudge(align='map:{"Alpha": "Invented", "Beta": null}'))
    assert not reference.passed
    assert guarded.passed


def test_a_column_without_a_metric_is_not_graded() -> None:
    evaluation = rules(name=TEXT, year={"preprocess": ["extract_number"], "metric": [], "criterion": None})
    reference, guarded = both(ANSWER, evaluation=evaluation)
    assert reference.detail["metrics"]["f1_by_item"] == 0.5
    assert guarded.detail["metrics"]["f1_by_item"] == 1.0


def test_two_metrics_of_a_column_are_one_cell() -> None:
    evaluation = rules(name=TEXT, year={"preprocess": [], "metric": ["exact_match", "in_match"], "criterion": None})
    reference, guarded = both(ANSWER, evaluation=evaluation)
    assert reference.detail["metrics"]["precision_by_item"] == 1.5
    assert guarded.detail["metrics"]["precision_by_item"] == 1.0


@pytest.mark.parametrize(
    "column",
    [
        {"preprocess": [], "metric": ["nope"], "criterion": None},
        {"preprocess": ["nope"], "metric": ["exact_match"], "criterion": None},
        {"preprocess": [], "metric": ["number_near"], "criterion": None},
    ],
)
def test_bad_rules_are_a_scorer_error(column: dict[str, Any]) -> None:
    for outcome in both(ANSWER, evaluation=rules(name=TEXT, year=column)):
        assert bucket(outcome) == "scorer_error"


@pytest.mark.parametrize(
    "evaluation", [{}, {"required": ["name"]}, "not json", {"required": 3, "unique_columns": [], "eval_pipeline": {}}]
)
def test_no_rules_are_a_scorer_error(evaluation: Any) -> None:
    for outcome in both(ANSWER, evaluation=evaluation):
        assert bucket(outcome) == "scorer_error"


def test_a_gold_table_that_lacks_a_column_keeps_the_task_in_the_denominator() -> None:
    for outcome in both(ANSWER, gold="Name\nAlpha\n"):
        assert bucket(outcome) == "scorer_error"


def test_two_missing_dates_are_equal_and_one_is_wrong() -> None:
    reference, guarded = (metric("date_near", None, mode, NOW) for mode in ("reference", "guarded"))
    assert reference("nan", "2025-08-20")[0] == 1.0  # read as August of the current year
    assert guarded("nan", "2025-08-20")[0] == 0.0
    assert guarded("nan", "nan")[0] == 1.0
    assert reference("not a date", "nope")[0] == 1.0
    assert guarded("not a date", "nope")[0] == 0.0


def test_a_zoned_date_does_not_crash() -> None:
    reference, guarded = (metric("date_near", None, mode, NOW) for mode in ("reference", "guarded"))
    with pytest.raises(TypeError):
        reference("2024-01-01T00:00:00Z", "2024-01-01")
    assert guarded("2024-01-01T00:00:00Z", "2024-01-01")[0] == 1.0


def test_31_days_count_the_same_in_both_directions() -> None:
    reference, guarded = (metric("date_near", None, mode, NOW) for mode in ("reference", "guarded"))
    early, late = "2024-01-01 00:00", "2024-02-01 12:00"
    assert (reference(early, late)[0], reference(late, early)[0]) == (0.0, 1.0)
    assert (guarded(early, late)[0], guarded(late, early)[0]) == (1.0, 1.0)


def test_a_missing_cell_is_part_of_nothing() -> None:
    reference, guarded = (metric("in_match", None, mode, NOW) for mode in ("reference", "guarded"))
    assert reference("nan", "banana")[0] == 1.0
    assert guarded("nan", "banana")[0] == 0.0
    assert guarded("ana", "banana")[0] == 1.0
    assert guarded("nan", "nan")[0] == 1.0


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("[s](https://a.com)", "https://a.com"),
        ("<https://a.com>", "https://a.com/x"),
        ("https://A.com:443/", "https://a.com"),
        ("https://a.com, https://b.com.", "https://b.com https://a.com"),
        ("https://user@a.com", "HTTPS://a.com"),
    ],
)
def test_punctuation_case_port_and_user_are_no_part_of_a_host(answer: str, gold: str) -> None:
    assert metric("url_match", None, "reference", NOW)(answer, gold)[0] == 0.0
    assert metric("url_match", None, "guarded", NOW)(answer, gold)[0] == 1.0


def test_no_address_on_either_side_needs_equal_text() -> None:
    reference, guarded = (metric("url_match", None, mode, NOW) for mode in ("reference", "guarded"))
    assert reference("none found", "https is missing")[0] == 1.0
    assert guarded("none found", "https is missing")[0] == 0.0
    assert guarded("n/a", "N/A")[0] == 1.0


def test_dates_come_from_the_clock_that_is_passed_in() -> None:
    assert parse_date("March 5", datetime(2020, 1, 2)) == datetime(2020, 3, 5)
    assert parse_date("2024", datetime(2020, 1, 2)) == datetime(2024, 1, 1)
    assert parse_date("last year", datetime(2020, 1, 31, 7)) == datetime(2019, 1, 31, 7)


@pytest.mark.parametrize("text", ["Q3 2024", "2024Q3", "2024 Q3", "next Friday", "last mon"])
def test_what_the_published_release_of_the_date_library_cannot_read_stays_unread(text: str) -> None:
    assert parse_date(text, NOW) is None


def test_seconds_since_1970_do_not_depend_on_the_time_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        parse_date.cache_clear()
        assert parse_date("1704067200", NOW) == datetime(2024, 1, 1)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_number_longer_than_python_reads_stays_text() -> None:
    digits = "9" * 5_000
    found = extract_table(table("| Name | Year |", f"| A | {digits} |", "| B | 1 |"), "reference")
    assert found is not None
    assert found.rows == (("A", digits), ("B", "1"))


CELL = st.text(
    st.characters(exclude_characters="|`\\\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", exclude_categories=["Cs"]),
    max_size=6,
)


@given(st.lists(CELL, min_size=1, max_size=5))
def test_guarded_rows_give_their_cells_back(cells: list[str]) -> None:
    assert split_cells("|" + "|".join(cells) + "|") == [cell.strip() for cell in cells]


@given(st.text(max_size=120), st.sampled_from(["reference", "guarded"]))
def test_any_answer_gets_an_outcome(answer: str, mode: Mode) -> None:
    outcome = score(answer, GOLD, BASIC, judge=StubJudge(), now=NOW, mode=mode)
    assert set(outcome.detail["metrics"]) == set(METRICS)
    json.dumps(outcome.detail, allow_nan=False)


ROWS = st.lists(st.tuples(st.sampled_from("ABCDab"), st.sampled_from(["1", "2", "3", ""])), max_size=5)


@given(ROWS, ROWS)
def test_guarded_numbers_stay_between_0_and_1(answer: list[tuple[str, str]], gold: list[tuple[str, str]]) -> None:
    text = table("| Name | Year |", *(f"| {name} | {year} |" for name, year in answer))
    csv = "Name,Year\n" + "".join(f"{name},{year}\n" for name, year in gold)
    outcome = score(text, csv, BASIC, judge=StubJudge(), now=NOW, mode="guarded")
    assert all(0 <= value <= 1 for value in outcome.detail["metrics"].values())
