"""Parity of the AA-LCR prompt with the published bytes and of the reply parsers with the two public ones."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from suites.aalcr.prompt import build_prompt
from suites.aalcr.score import Parser, published_verdict
from tests.golden import golden_cases

pytestmark = pytest.mark.golden


@pytest.mark.parametrize("case", golden_cases("aa_lcr.jsonl", "build_prompt"))
def test_prompt(case: dict[str, Any]) -> None:
    prompt = build_prompt(case["input"]["documents"], case["input"]["question"])
    assert prompt == case["expected"]["prompt"]
    assert hashlib.sha256(prompt.encode()).hexdigest() == case["expected"]["sha256"]


@pytest.mark.parametrize("parser", ["nemo_skills", "evalscope_word_match"])
@pytest.mark.parametrize("case", golden_cases("aa_lcr.jsonl", "parse_verdict"))
def test_verdict(case: dict[str, Any], parser: Parser) -> None:
    given, expected = case["input"], case["expected"][parser]
    if not expected["ok"]:
        with pytest.raises((TypeError, AttributeError)):
            published_verdict(given["judge_reply"], given["candidate_answer"], parser)
        return
    found = published_verdict(given["judge_reply"], given["candidate_answer"], parser)
    assert found == bool(expected["value"])
