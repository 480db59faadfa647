"""Every planned task is in exactly one bucket, whatever became of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness.types import Outcome
from suites import outcomes

ANY = st.sampled_from(
    [
        outcomes.scored(True, 1.0),
        outcomes.scored(False, 0.4),
        outcomes.unparsable("no table"),
        outcomes.scorer_error("bad rule"),
        outcomes.judge_error("no reply"),
        outcomes.missing(),
        Outcome(state="errored", error="the sandbox died"),
    ]
)


@given(st.dictionaries(st.text(min_size=1, max_size=3), ANY, max_size=9), st.lists(st.text(max_size=2), max_size=5))
def test_buckets_add_up_to_the_planned_tasks(found: dict[str, Outcome], more: list[str]) -> None:
    planned = [*found, *(f"unanswered {name}" for name in dict.fromkeys(more))]
    counts = outcomes.tally(planned, found)
    buckets = [getattr(counts, name) for name in outcomes.BUCKETS]
    assert sum(buckets) == counts.planned == len(planned)
    assert counts.scored == counts.passed + counts.wrong
    assert counts.missing >= len(planned) - len(found)
    if planned:
        assert counts.pass_rate == counts.passed / len(planned)


def test_each_way_to_end_has_its_own_bucket() -> None:
    assert outcomes.bucket(outcomes.scored(True, 1.0)) == "passed"
    assert outcomes.bucket(outcomes.scored(False, 0.0)) == "wrong"
    assert outcomes.bucket(outcomes.unparsable("x")) == "unparsable"
    assert outcomes.bucket(outcomes.scorer_error("x")) == "scorer_error"
    assert outcomes.bucket(outcomes.judge_error("x")) == "judge_error"
    assert outcomes.bucket(outcomes.missing()) == "missing"
    assert outcomes.bucket(Outcome(state="errored", error="the sandbox died")) == "errored"


def test_what_has_no_score_keeps_none() -> None:
    for outcome in (outcomes.unparsable("x"), outcomes.scorer_error("x"), outcomes.judge_error("x")):
        assert outcome.passed is None
        assert outcome.score is None


def test_nothing_planned_has_no_rate() -> None:
    assert outcomes.tally([], {}).pass_rate is None
    assert outcomes.mean_score([], {}) is None


def test_mean_score_keeps_unscored_tasks_in_the_denominator() -> None:
    found = {"a": outcomes.scored(True, 1.0), "b": outcomes.judge_error("x")}
    assert outcomes.mean_score(["a", "b", "c", "d"], found) == 0.25


def test_an_unplanned_outcome_is_an_error() -> None:
    with pytest.raises(DataError, match="not planned: 'b'"):
        outcomes.tally(["a"], {"b": outcomes.missing()})
    with pytest.raises(DataError, match="planned twice: 'a'"):
        outcomes.tally(["a", "a"], {})


def test_groups_keep_their_own_denominators() -> None:
    found = {"a": outcomes.scored(True, 1.0)}
    groups = outcomes.by_group({"a": "x", "b": "x", "c": "y"}, found)
    assert {name: (c.planned, c.passed) for name, c in groups.items()} == {"x": (2, 1), "y": (1, 0)}
