"""The published WideSearch judge prompts come out exactly once their words are supplied as files.

Each golden prompt is taken apart into words and values; the words become a template file, and our code has to put the
values back in the published format (lists and pairs as Python prints them).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentmem.messages import Message
from suites.judging import templates_from
from suites.widesearch.judge import TEMPLATES, TableJudge
from tests.golden import golden_cases

pytestmark = pytest.mark.golden


class Listener:
    """A judge that keeps what it was asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def ask(self, messages: Sequence[Message]) -> str:
        self.heard.append(messages[-1].content)
        return "```json\n{}\n```"


def published(case: dict[str, Any]) -> str:
    expected = case["expected"]
    text = expected if isinstance(expected, str) else expected.get("prompt", expected.get("text"))
    if not isinstance(text, str):
        pytest.skip("the case holds no rendered prompt")
    return text


@pytest.mark.parametrize("case", golden_cases("prompts.jsonl"))
def test_published_words_from_a_file(case: dict[str, Any], tmp_path: Path) -> None:
    text, given = published(case), case.get("input", {})
    if isinstance(case["expected"], dict) and "sha256" in case["expected"]:
        assert hashlib.sha256(text.encode()).hexdigest() == case["expected"]["sha256"]
    response, other = given.get("response"), given.get("target", given.get("reference"))
    if not isinstance(response, list) or not isinstance(other, list):
        pytest.skip("not a judge prompt of WideSearch")
    grading = "target" in given
    pairs = {f"idx_{n}": {"response": r, "target": t} for n, (r, t) in enumerate(zip(response, other, strict=False))}
    values = (
        {"pairs": str(pairs), "criterion": str(given.get("criterion"))}
        if grading
        else {"answer": str(response), "gold": str(other)}
    )
    words = text
    for name, value in sorted(values.items(), key=lambda item: -len(item[1])):
        assert value in words, f"the published prompt does not print {name} as we do"
        words = words.replace(value, f"{{{name}}}", 1)
    kind = "grade" if grading else "align"
    (tmp_path / f"{kind}.txt").write_text(words, encoding="utf-8")
    listener = Listener()
    judge = TableJudge(listener, templates_from(tmp_path, TEMPLATES))
    if grading:
        judge.grade(response, other, given.get("criterion"))
    else:
        judge.align(response, other)
    assert listener.heard == [text]
