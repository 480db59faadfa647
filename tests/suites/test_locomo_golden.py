"""Parity of the LoCoMo scorer with the published one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.errors import DataError
from suites.locomo import score, text
from tests.golden import golden_cases

pytestmark = pytest.mark.golden
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "normalize_answer": text.normalize,
    "f1_score": text.token_f1,
    "f1": text.multi_f1,
    "exact_match_score": text.exact_match,
    "get_cat_5_answer": score.choice,
}


@pytest.mark.parametrize(
    "case", golden_cases("locomo.jsonl", "normalize", "f1_score", "f1_multi", "exact_match", "cat5_choice")
)
def test_function(case: dict[str, Any]) -> None:
    function, expected = FUNCTIONS[case["function"]], case["expected"]
    if not expected["ok"]:
        with pytest.raises((TypeError, AttributeError, KeyError, ValueError)):
            function(*case["input"]["args"])
        return
    got = function(*case["input"]["args"])
    if isinstance(expected["value"], (str, bool)):
        assert got == expected["value"]
    else:
        assert got == pytest.approx(expected["value"], abs=1e-9)


@pytest.mark.parametrize("case", golden_cases("locomo.jsonl", "eval_qa"))
def test_eval_qa(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    if not expected["ok"]:
        with pytest.raises(DataError):
            score.evaluate(given["qa"], given["eval_key"])
        return
    result = score.evaluate(given["qa"], given["eval_key"])
    assert list(result.scores) == pytest.approx(expected["scores"], abs=1e-9)
    assert list(result.evidence_recall) == pytest.approx(expected["evidence_recall"], abs=1e-9)
    assert result.mean_answer_words == expected["mean_answer_words"]
