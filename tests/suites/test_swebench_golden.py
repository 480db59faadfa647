"""Parity of SWE-bench grading with three releases of ``swebench``: every golden case, every version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suites.swebench.grading import FAIL_ONLY_REPOS, Graded, grade_log, grade_status
from suites.swebench.infra import classify
from suites.swebench.logs import parse, parser_for
from suites.swebench.predictions import load_predictions, run_report
from suites.swebench.score import prediction_report
from suites.swebench.versions import Version, known
from tests.golden import golden_cases, golden_rows

pytestmark = pytest.mark.golden
FILE = "swebench.jsonl"


def by_version(case: dict[str, Any]) -> list[tuple[Version, dict[str, Any]]]:
    found = []
    for name, expected in case["expected_by_version"].items():
        found += [(known(v), expected) for v in (case["versions_run"] if name == "all" else [name])]
    return found


def graded(given: dict[str, Any], version: Version) -> Graded:
    return grade_log(
        given["log"],
        parser=parser_for(given["repo"]),
        fail_to_pass=given["FAIL_TO_PASS"],
        pass_to_pass=given["PASS_TO_PASS"],
        eval_type="fail_only" if given["repo"] in FAIL_ONLY_REPOS else "pass_and_fail",
        version=version,
    )


@pytest.mark.parametrize("case", golden_cases(FILE, "parse_log"))
def test_parse_log(case: dict[str, Any]) -> None:
    for version, expected in by_version(case):
        if not expected["ok"]:
            with pytest.raises(ValueError, match="crashes"):
                parse(case["input"]["parser"], case["input"]["log"], version)
            continue
        assert parse(case["input"]["parser"], case["input"]["log"], version) == expected["value"], version


@pytest.mark.parametrize("case", golden_cases(FILE, "grade"))
def test_grade(case: dict[str, Any]) -> None:
    given = case["input"]
    for version, expected in by_version(case):
        f2p, p2p = grade_status(
            given["status_map"],
            given["FAIL_TO_PASS"],
            given["PASS_TO_PASS"],
            eval_type=given["eval_type"],
            version=version,
        )
        value = expected["value"]
        result = Graded(version, True, given["status_map"], f2p, p2p)
        assert result.tests_status() == value["tests_status"], version
        assert f2p.rate == pytest.approx(value["fail_to_pass_rate"], abs=1e-9)
        assert p2p.rate == pytest.approx(value["pass_to_pass_rate"], abs=1e-9)
        assert result.resolution == value["resolution"], version


@pytest.mark.parametrize("case", golden_cases(FILE, "grade_log"))
def test_grade_log(case: dict[str, Any]) -> None:
    for version, expected in by_version(case):
        value = expected["value"]
        patch = case["input"].get("model_patch", "diff")
        result = graded(case["input"], version)
        report = prediction_report(patch, result)
        assert report == value["report"], version
        if "log_valid" in value:
            assert result.valid == value["log_valid"]
            assert result.status == value["status_map"]
            assert len(result.status) == value["n_tests_parsed"]
        assert result.resolution == value.get("resolution")


@pytest.mark.parametrize("case", golden_cases(FILE, "grade_real_log"))
def test_grade_real_log(case: dict[str, Any]) -> None:
    for version, expected in by_version(case):
        value = expected["value"]
        result = graded(case["input"], version)
        report = result.report()
        report.pop("tests_status", None)
        assert report == value["report"], version
        assert (result.valid, len(result.status)) == (value["log_valid"], value["n_tests_parsed"])
        assert result.resolution == value.get("resolution")
        if "fail_to_pass" in value:
            assert result.fail_to_pass.record() == value["fail_to_pass"]
        if "pass_to_pass_counts" in value:
            counts = {name: len(tests) for name, tests in result.pass_to_pass.record().items()}
            assert counts == value["pass_to_pass_counts"]
            first = value["pass_to_pass_first_failures"]
            assert list(result.pass_to_pass.failure[: len(first)]) == first


@pytest.mark.parametrize("case", golden_cases(FILE, "load_predictions"))
def test_load_predictions(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / case["input"]["filename"]
    path.write_text(case["input"]["content"], encoding="utf-8")
    for _, expected in by_version(case):
        if expected["ok"]:
            assert load_predictions(path) == expected["value"]
            continue
        with pytest.raises(ValueError) as error:
            load_predictions(path)
        if expected["error"] == "ValueError":
            assert str(error.value) == expected["message"]


@pytest.mark.parametrize("case", golden_cases(FILE, "classify_infra"))
def test_classify_infra(case: dict[str, Any]) -> None:
    for _, expected in by_version(case):
        found = classify(case["input"]["text"])
        assert (list(found) if found else None) == expected["value"]


@pytest.mark.parametrize("case", golden_cases(FILE, "run_report"))
def test_run_report(case: dict[str, Any]) -> None:
    given = case["input"]
    arguments = (
        given["predictions"],
        [row["instance_id"] for row in given["dataset"]],
        given["run_id"],
        given["report_files"],
    )
    for version, expected in by_version(case):
        if not expected["ok"]:
            with pytest.raises(ValueError, match="report of"):
                run_report(*arguments, version=version)
            continue
        file, report = run_report(*arguments, version=version)
        assert file == expected["value"]["file"]
        assert json.loads(json.dumps(report)) == expected["value"]["report"], version


def test_every_kind_of_case_is_tested() -> None:
    kinds = {row["kind"] for row in golden_rows(FILE)}
    tested = {
        "parse_log",
        "grade",
        "grade_log",
        "grade_real_log",
        "load_predictions",
        "classify_infra",
        "run_report",
    }
    assert kinds <= tested
