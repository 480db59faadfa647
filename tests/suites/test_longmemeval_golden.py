"""Parity of the LongMemEval sums with the published scripts, and of its prompts once the official words are given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentmem.messages import Message
from harness.errors import HarnessError, UsageError
from suites.judging import Template, templates_from
from suites.longmemeval.judge import TEMPLATES, judge_prompt, judge_request, template_name
from suites.longmemeval.score import evaluate
from tests.golden import golden_cases, golden_rows
from tests.suites.prompts import fields, template_of

pytestmark = pytest.mark.golden
FILE = "longmemeval.jsonl"


class Replies:
    """A judge that knows its reply to each question."""

    def __init__(self, by_question: Mapping[str, Any]) -> None:
        self.by_question = by_question

    def ask(self, messages: Sequence[Message]) -> str:
        for template in TEMPLATES.values():
            parts = fields(template.text, messages[-1].content)
            if parts is not None:
                return self.by_question[parts["question"]]  # type: ignore[no-any-return]
        raise AssertionError("a prompt that comes from none of the templates")


@pytest.mark.parametrize("case", golden_cases(FILE, "evaluate_run"))
def test_evaluate_run(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    judge, name = Replies(given["judge_replies_by_question"]), given["metric_model"]
    if expected["error"] is not None:
        with pytest.raises((HarnessError, AttributeError, KeyError)):
            evaluate(given["hypotheses"], given["references"], judge, judge_name=name)
        return
    result = evaluate(given["hypotheses"], given["references"], judge, judge_name=name)
    assert dict(result.labels) == expected["labels"]
    assert result.accuracy == (expected["accuracy"] and pytest.approx(expected["accuracy"], abs=1e-9))
    printed = "nan" if result.accuracy is None else str(round(result.accuracy, 4))
    assert printed == expected["accuracy_printed"]
    rounded = {t: [None if a is None else round(a, 4), n] for t, (a, n) in result.per_type.items()}
    assert rounded == expected["per_type"]
    if expected.get("request"):
        assert judge_request(name) == expected["request"]
        assert result.judge_model == expected["judge_model"]
    metrics = expected["print_qa_metrics"]
    if "error" in metrics:
        with pytest.raises(UsageError):
            result.summary()
        return
    summary = {k: None if v is None else round(v, 4) for k, v in result.summary().items()}
    assert summary == pytest.approx({k: v for k, v in metrics.items() if k in summary}, abs=1e-9)


def prompt_values(case: dict[str, Any]) -> dict[str, str]:
    given = case["input"]
    if "args" in given:
        given = dict(
            zip(("question_type", "question", "answer", "response", "abstention"), given["args"], strict=False)
        )
    response = given.get("response", given.get("hypothesis", ""))
    return {"question": str(given["question"]), "answer": str(given["answer"]), "response": str(response)}


def prompt_kind(case: dict[str, Any]) -> str:
    given = case["input"]
    args = given.get("args", [])
    kind = given.get("question_type", given.get("task", args[0] if args else ""))
    abstention = given.get("abstention", args[4] if len(args) > 4 else "_abs" in str(given.get("question_id", "")))
    return template_name(kind, bool(abstention))


def official(folder: Path) -> Mapping[str, Template]:
    """The official words, taken out of the golden prompts, as files a user would supply; only those found."""
    found = set()
    for row in golden_rows(FILE, "judge_prompt"):
        text = prompt_text(row)
        template = None if text is None else template_of(text, prompt_values(row))
        if template is not None:
            found.add(prompt_kind(row))
            (folder / f"{prompt_kind(row)}.txt").write_text(template.text, encoding="utf-8")
    return {name: template for name, template in templates_from(folder, TEMPLATES).items() if name in found}


def prompt_text(case: dict[str, Any]) -> str | None:
    expected = case["expected"]
    found = expected if isinstance(expected, str) else expected.get("prompt", expected.get("value"))
    return found if isinstance(found, str) else None


@pytest.mark.parametrize("case", golden_cases(FILE, "judge_prompt"))
def test_judge_prompt_with_the_official_words(case: dict[str, Any], tmp_path: Path) -> None:
    text = prompt_text(case)
    if text is None:
        with pytest.raises(HarnessError):
            prompt_kind(case)
        return
    values, kind = prompt_values(case), prompt_kind(case)
    templates = official(tmp_path)
    if kind not in templates:
        pytest.skip("no golden prompt of this kind shows where its values stand")
    prompt = templates[kind].render(**values)
    assert prompt == text
    if "sha256" in case["expected"]:
        assert hashlib.sha256(prompt.encode()).hexdigest() == case["expected"]["sha256"]


def test_own_words_hold_every_value_once() -> None:
    for kind, template in TEMPLATES.items():
        question_type = "temporal-reasoning" if kind == "temporal" else "multi-session"
        prompt, sha256 = judge_prompt(question_type, "Q?", "A!", "R.", abstention=kind == "abstention")
        assert all(prompt.count(value) == 1 for value in ("Q?", "A!", "R."))
        assert len(sha256) == 64
        assert template.sha256 == hashlib.sha256(template.text.encode()).hexdigest()
