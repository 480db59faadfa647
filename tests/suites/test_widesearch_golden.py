"""Parity of the WideSearch scorer with the published one: every golden case in reference mode."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from suites.widesearch import cells, judge, normalize
from suites.widesearch.aggregate import summarise
from suites.widesearch.errors import TableError
from suites.widesearch.extract import extract_table
from suites.widesearch.score import METRICS, score
from tests.golden import golden_cases
from tests.suites.widesearch_stub import StubJudge

pytestmark = pytest.mark.golden


def naive(now: str) -> datetime:
    return datetime.fromisoformat(now).replace(tzinfo=None)


def call(function: str, args: list[Any], now: datetime) -> Any:
    functions: dict[str, Callable[..., Any]] = {
        "extract_number": normalize.extract_number,
        "norm_str": normalize.norm_str,
        "norm_column": normalize.norm_column,
        "norm_date": lambda value: normalize.norm_date(value, now),
        "exact_match": cells.exact_match,
        "in_match": cells.in_match,
        "url_match": cells.url_match,
        "number_near": cells.number_near,
        "date_near": lambda answer, gold: cells.date_near(answer, gold, now),
        "parse_markdown_json": judge.last_json_block,
    }
    return functions[function](*args)


@pytest.mark.parametrize("case", golden_cases("widesearch_units.jsonl"))
def test_unit(case: dict[str, Any]) -> None:
    by_clock = case.get("expected_by_clock") or {"2025-08-15T12:00:00+00:00": case["expected"]}
    for now, expected in by_clock.items():
        if not expected["ok"]:
            with pytest.raises((TypeError, ValueError, AttributeError)):
                call(case["function"], case["input"]["args"], naive(now))
            continue
        got = call(case["function"], case["input"]["args"], naive(now))
        want = expected["value"]
        if case["function"] == "parse_markdown_json":
            assert jsonable(got) == want
        else:
            assert (list(got) if isinstance(got, tuple) else got) == want


def jsonable(value: Any) -> Any:
    """NaN as the golden files write it."""
    if isinstance(value, dict):
        return {key: jsonable(inner) for key, inner in value.items()}
    return "NaN" if value != value else value


@pytest.mark.parametrize("case", golden_cases("widesearch_extract.jsonl"))
def test_extract(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if expected["outcome"] == "error":
        with pytest.raises((TableError, TypeError, ValueError, AttributeError)) as error:
            extract_table(case["input"]["response"])
        if isinstance(error.value, TableError):
            assert str(error.value) == expected["message"].strip()
        return
    table = extract_table(case["input"]["response"])
    if expected["outcome"] == "none":
        assert table is None
        return
    assert table is not None
    assert list(table.columns) == expected["columns"]
    assert [list(row) for row in table.rows] == expected["rows_as_text"]


@pytest.mark.parametrize("case", golden_cases("widesearch_tables.jsonl"))
def test_table(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    judge = StubJudge(given["llm_stub"]["align"], given["llm_stub"]["judge"])
    outcome = score(
        given["response"],
        given["gold_csv"],
        given["evaluation"],
        judge=judge,
        now=naive(given["frozen_now"]),
    )
    assert outcome.detail["kind"] == expected["outcome"]["kind"]
    assert judge.calls == expected["llm_calls"]
    for name in METRICS:
        if name in expected:
            assert outcome.detail["metrics"][name] == pytest.approx(expected[name], abs=1e-9), name
    assert (outcome.state == "scored") <= (expected["outcome"]["kind"] != "response_df is None")


@pytest.mark.parametrize("case", golden_cases("widesearch_aggregate.jsonl"))
def test_aggregate(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    if not expected["ok"]:
        with pytest.raises(ValueError, match=expected["message"].split(".")[0]):
            summarise(given["results"], given["trial_num"])
        return
    summary = summarise(given["results"], given["trial_num"])
    assert summary.keys() == expected["summary"].keys()
    for name, numbers in expected["summary"].items():
        assert summary[name] == pytest.approx(numbers, abs=1e-9)
