"""Outcomes of SWE-bench patches: which bucket, which release, and what ``guarded`` mode mends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UnknownName, UnreadableInput
from harness.types import Outcome
from suites.outcomes import bucket
from suites.swebench.grading import END, START, grade_log, grade_status
from suites.swebench.logs import PARSER_BY_REPO, PARSERS, parse
from suites.swebench.predictions import by_instance, run_report
from suites.swebench.score import score
from suites.swebench.versions import VERSIONS, Version, known

REPO = "pytest-dev/pytest"
F2P, P2P = ["a.py::fix"], ["a.py::old"]


def log(*lines: str, after: str = "") -> str:
    return "\n".join(["applied", START, *lines, END, after])


def judged(text: str, patch: str | None = "diff", **options: Any) -> Outcome:
    return score(patch, text, repo=REPO, fail_to_pass=options.pop("f2p", F2P), pass_to_pass=P2P, **options)


GOOD = log("PASSED a.py::fix", "PASSED a.py::old")


def test_resolved_and_not_resolved() -> None:
    assert judged(GOOD).passed is True
    outcome = judged(log("FAILED a.py::fix - boom", "PASSED a.py::old"))
    assert (outcome.state, outcome.passed, outcome.score) == ("scored", False, 0.0)
    assert outcome.detail["resolution"] == "RESOLVED_NO"
    assert outcome.detail["version"] == "5.0.2"


def test_a_broken_old_test_is_no_partial_success() -> None:
    outcome = judged(log("PASSED a.py::fix", "FAILED a.py::old"))
    assert bucket(outcome) == "wrong"
    assert outcome.detail["fail_to_pass"] == 1.0


@pytest.mark.parametrize("patch", [None, "", "  \n"])
def test_no_patch_is_missing(patch: str | None) -> None:
    assert bucket(judged(GOOD, patch)) == "missing"


def test_a_patch_that_does_not_apply_is_wrong() -> None:
    assert bucket(judged(">>>>> Patch Apply Failed\n" + GOOD)) == "wrong"


@pytest.mark.parametrize(
    "text", ["", "no markers", START, ">>>>> Reset Failed", ">>>>> Tests Errored\n" + GOOD, ">>>>> Tests Timed Out"]
)
def test_a_run_that_did_not_happen_is_a_scorer_error(text: str) -> None:
    assert bucket(judged(text)) == "scorer_error"


def test_no_results_is_unparsable_but_a_broken_environment_a_scorer_error() -> None:
    assert bucket(judged(log("SyntaxError: x"))) == "unparsable"
    assert bucket(judged(log("Could not resolve host: x"))) == "scorer_error"


def test_lines_a_patch_printed_itself_do_not_count() -> None:
    spoofed = log("PASSED a.py::fix", "PASSED a.py::old", after=">>>>> Test Exit Code: 1")
    assert bucket(judged(spoofed)) == "unparsable"
    assert judged(spoofed, version="4.1.0").passed is True


def test_a_skipped_fix_counts_as_solved_before_5() -> None:
    text = log("SKIPPED a.py::fix", "PASSED a.py::old")
    assert [judged(text, version=version).passed for version in VERSIONS] == [False, True, True]


def test_guarded_fails_a_test_with_an_unknown_status() -> None:
    text = log("PASSEDISH a.py::fix", "PASSED a.py::old")
    assert judged(text, mode="reference").passed is True  # in neither list, so nothing is counted
    assert judged(text, mode="guarded").passed is False


def test_guarded_fails_a_skipped_fix_in_every_release() -> None:
    text = log("SKIPPED a.py::fix", "PASSED a.py::old")
    assert [judged(text, version=version, mode="guarded").passed for version in VERSIONS] == [False] * 3


def test_guarded_refuses_a_task_without_a_test_that_must_pass() -> None:
    assert judged(GOOD, f2p=[]).passed is True
    assert bucket(judged(GOOD, f2p=[], mode="guarded")) == "scorer_error"


def test_an_unknown_repository_is_a_scorer_error() -> None:
    outcome = score("diff", GOOD, repo="nobody/nothing", fail_to_pass=F2P, pass_to_pass=P2P)
    assert bucket(outcome) == "scorer_error"
    assert "unknown repository" in str(outcome.error)


def test_unknown_names_are_named() -> None:
    with pytest.raises(UnknownName, match=r"unknown swebench version '4\.0'"):
        known("4.0")
    with pytest.raises(UnknownName, match=r"unknown log parser 'parse_log_pytst'.*parse_log_pytest"):
        parse("parse_log_pytst", "")


def test_every_repository_has_a_parser() -> None:
    assert set(PARSER_BY_REPO.values()) <= set(PARSERS)


def test_the_last_prediction_of_an_instance_counts() -> None:
    found = by_instance([{"instance_id": "a", "model_patch": "1"}, {"instance_id": "a", "model_patch": "2"}])
    assert found["a"]["model_patch"] == "2"


def test_a_report_needs_a_prediction() -> None:
    with pytest.raises(UnreadableInput, match="no predictions"):
        run_report({}, ["a"], "run", {})


def test_a_report_names_likely_causes() -> None:
    predictions = {name: {"model_name_or_path": "o/m", "model_patch": "d"} for name in ("a", "b", "c")}
    logs = {"a": "Cannot allocate memory", "b": "no tests ran"}
    _, report = run_report(predictions, ["a", "b", "c"], "r", {}, logs=logs)
    assert report["failure_reasons"] == {"a": "out_of_memory", "b": "no_tests_collected"}
    assert (report["infra_failure_ids"], report["ambiguous_failure_ids"]) == (["a"], ["b"])
    assert report["error_ids"] == ["a", "b", "c"]


IDS = st.lists(st.sampled_from(["a", "b", "t[x", "t[x]", "t[x y]"]), max_size=5)
STATUS = st.dictionaries(
    st.sampled_from(["a", "b", "t[x]", "t[x y]"]),
    st.sampled_from(["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "?"]),
)


@given(STATUS, IDS, IDS, st.sampled_from(VERSIONS))
def test_an_expected_test_is_in_at_most_one_list(
    status: dict[str, str], f2p: list[str], p2p: list[str], version: Version
) -> None:
    for tests, expected in zip(grade_status(status, f2p, p2p, version=version), (f2p, p2p), strict=True):
        assert not set(tests.success) & set(tests.failure)
        assert set(tests.success) | set(tests.failure) <= set(expected)
        assert 0 <= tests.rate <= 1


@given(st.text(max_size=300), st.sampled_from(sorted(PARSERS)), st.sampled_from(VERSIONS))
def test_any_log_gets_a_verdict(text: str, parser: str, version: Version) -> None:
    try:
        graded = grade_log(f"{START}{text}{END}", parser=parser, fail_to_pass=F2P, pass_to_pass=P2P, version=version)
    except UnreadableInput as error:
        assert "crashes" in str(error)
        return
    assert graded.resolved == (graded.resolution == "RESOLVED_FULL")


def test_a_long_line_does_not_stall_the_parser() -> None:
    line = "x " * 50_000
    assert parse("parse_log_sympy", f"{line}\ntest_a ok") == {"test_a": "PASSED"}
