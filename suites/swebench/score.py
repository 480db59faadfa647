"""Turns a patch and the log of its test run into an outcome.

    score(patch, log, repo=..., fail_to_pass=..., pass_to_pass=..., version="5.0.2", mode="reference") -> Outcome

``reference`` keeps the verdict of that release of ``swebench``; ``guarded`` mends what the README lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.errors import UsageError
from harness.types import Outcome
from suites import outcomes
from suites.outcomes import Mode
from suites.swebench.grading import (
    APPLY_FAILED,
    CONTRADICTION,
    FAIL_ONLY_REPOS,
    NO_RESULTS,
    EvalType,
    Graded,
    Tests,
    grade_log,
    no_patch_report,
)
from suites.swebench.infra import ENVIRONMENT
from suites.swebench.logs import parser_for
from suites.swebench.versions import DEFAULT, Version


def prediction_report(patch: str | None, graded: Graded) -> dict[str, Any]:
    """The published record of one instance; an empty text counts as a patch there, a null does not."""
    return no_patch_report(graded.version) if patch is None else graded.report()


def score(
    patch: str | None,
    log: str,
    *,
    repo: str,
    fail_to_pass: Sequence[str],
    pass_to_pass: Sequence[str],
    eval_type: EvalType | None = None,
    parser: str | None = None,
    version: Version = DEFAULT,
    mode: Mode = "reference",
) -> Outcome:
    """The outcome of one patch. ``eval_type`` and ``parser`` default to those of the repository.

    A blank patch is missing, one that does not apply is wrong. A log in which no test result can be found is
    unparsable; a fault of the environment is a scorer error. Never raises for what a log holds.
    """
    if patch is None or not patch.strip():
        return outcomes.missing("no patch", version=version)
    if mode == "guarded" and not fail_to_pass:
        return outcomes.scorer_error("the task lists no test that has to pass", version=version)
    try:
        graded = grade_log(
            log,
            parser=parser or parser_for(repo),
            fail_to_pass=fail_to_pass,
            pass_to_pass=pass_to_pass,
            eval_type=eval_type or ("fail_only" if repo in FAIL_ONLY_REPOS else "pass_and_fail"),
            version=version,
        )
    except UsageError as error:  # an unknown parser, or a line the parser of that version crashes on
        return outcomes.scorer_error(str(error), version=version)
    if mode == "guarded":
        graded = _every_test_counts(graded, fail_to_pass, pass_to_pass)
    return _outcome(graded)


def _outcome(graded: Graded) -> Outcome:
    detail: dict[str, Any] = {
        "version": graded.version,
        "resolution": graded.resolution,
        "fault": graded.fault,
        "infra": graded.infra,
    }
    if graded.valid:
        rates = {"fail_to_pass": graded.fail_to_pass.rate, "pass_to_pass": graded.pass_to_pass.rate}
        return outcomes.scored(graded.resolved, float(graded.resolved), **detail, **rates)
    if graded.fault == APPLY_FAILED.removeprefix(">>>>> "):
        return outcomes.scored(False, 0.0, **detail)
    environment = graded.infra is not None and graded.infra[1] == ENVIRONMENT
    if graded.fault in (NO_RESULTS, CONTRADICTION) and not environment:
        return outcomes.unparsable(str(graded.fault), **detail)
    return outcomes.scorer_error(str(graded.fault), **detail)


def _every_test_counts(graded: Graded, fail_to_pass: Sequence[str], pass_to_pass: Sequence[str]) -> Graded:
    """The same verdict with every expected test in one of the two lists: what is in neither has failed."""
    if not graded.valid:
        return graded
    return replace(
        graded,
        fail_to_pass=_complete(graded.fail_to_pass, fail_to_pass),
        pass_to_pass=_complete(graded.pass_to_pass, pass_to_pass),
    )


def _complete(tests: Tests, expected: Sequence[str]) -> Tests:
    return Tests(tests.success, tuple(test for test in expected if test not in tests.success))
