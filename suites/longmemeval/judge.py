"""The five judge prompts of LongMemEval in our own words, and which question gets which.

Contract (xiaowu0162/LongMemEval 9e0b455, MIT): one user message, temperature 0, ten tokens, the answer yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import DataError, UnknownName
from suites.judging import Template

TYPES = (
    "single-session-user",
    "single-session-preference",
    "single-session-assistant",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
JUDGES = {  # what the published script calls them -> the model it asks
    "gpt-4o": "gpt-4o-2024-08-06",
    "gpt-4o-mini": "gpt-4o-mini-2024-07-18",
    "llama-3.1-70b-instruct": "meta-llama/Meta-Llama-3.1-70B-Instruct",
}
PUBLISHED_JUDGE = JUDGES["gpt-4o"]  # the only one the published summary accepts
FIELDS = ("question", "answer", "response")

_ITEMS = "\n\nQuestion: {question}\n\n%s: {answer}\n\nModel response: {response}\n\n"
_CLOSE = "Is the response right? Reply yes or no, nothing else.\n"
_EQUAL = (
    "Below are a question, its correct answer and what a model responded. Say yes if the response gives the correct "
    "answer, also in other words, or goes through every step that leads to it. Say no if it gives only part of what "
    "the correct answer asks for."
)


def _template(rule: str, answer: str, close: str = _CLOSE) -> Template:
    return Template(rule + _ITEMS % answer + close, FIELDS)


TEMPLATES = {
    "default": _template(_EQUAL, "Correct answer"),
    "temporal": _template(
        f"{_EQUAL} Where the answer is a number of days, weeks or months, a response that is off by one is right.",
        "Correct answer",
    ),
    "update": _template(
        "Below are a question, its correct answer and what a model responded. The answer changed in the course of the "
        "history. Say yes if the response gives the correct, newest answer, even when it mentions older ones beside "
        "it. Otherwise say no.",
        "Correct answer",
    ),
    "preference": _template(
        "Below are a question, a rubric for a personal response and what a model responded. Say yes if the response "
        "recalls what the user said about themselves and uses it rightly; it need not cover every point of the "
        "rubric. Otherwise say no.",
        "Rubric",
    ),
    "abstention": _template(
        "Below are a question that the history cannot answer, the reason why, and what a model responded. Say yes if "
        "the response recognises that the question cannot be answered, for example that the information is missing "
        "or that something else was said instead. Otherwise say no.",
        "Reason",
        "Does the response recognise it? Reply yes or no, nothing else.\n",
    ),
}
_BY_TYPE = {
    "single-session-user": "default",
    "single-session-assistant": "default",
    "multi-session": "default",
    "temporal-reasoning": "temporal",
    "knowledge-update": "update",
    "single-session-preference": "preference",
}


def is_abstention(question_id: str) -> bool:
    """The question cannot be answered: its id holds ``_abs``, wherever that stands."""
    return "_abs" in question_id


def template_name(question_type: str, abstention: bool) -> str:
    """Which of the templates a question gets; abstention replaces all others. Raises ``DataError``."""
    if abstention:
        return "abstention"
    if question_type not in _BY_TYPE:
        raise DataError(f"unknown question type {question_type!r}: expected one of {', '.join(TYPES)}")
    return _BY_TYPE[question_type]


def judge_prompt(
    question_type: str,
    question: str,
    answer: str,
    response: str,
    *,
    abstention: bool = False,
    templates: Mapping[str, Template] = TEMPLATES,
) -> tuple[str, str]:
    """(prompt, sha256 of its template)."""
    template = templates[template_name(question_type, abstention)]
    return template.render(question=str(question), answer=str(answer), response=str(response)), template.sha256


def judge_request(judge: str) -> dict[str, Any]:
    """Model and settings the published script sends. Raises ``UnknownName`` for a judge it does not know."""
    if judge not in JUDGES:
        raise UnknownName("judge model", judge, JUDGES)
    return {"model": JUDGES[judge], "n": 1, "temperature": 0, "max_tokens": 10}
