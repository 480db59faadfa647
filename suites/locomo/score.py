"""Scores answers to LoCoMo questions.

    score(answer, question, mode=...) -> Outcome

``question`` is a row of the data set. Category 1 (multi-hop) is split at commas, 2 (temporal) and 4 (single-hop) are
token F1, 3 (open domain) uses the gold up to its first semicolon, 5 (adversarial) wants a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import DataError
from harness.types import Outcome
from suites import outcomes
from suites.locomo.text import multi_f1, token_f1
from suites.outcomes import Mode

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
REFUSALS = ("no information available", "not mentioned")
PASS_AT = 1.0  # an answer "passes" when its F1 is 1: a strict reading the suite itself does not have


def score(answer: str | None, question: Mapping[str, Any], *, mode: Mode = "reference") -> Outcome:
    """The outcome of one answer; ``score`` is the suite's number. Never raises for what an answer holds.

    In ``reference`` mode a released adversarial question, which has no field ``answer``, is a scorer error, as it
    crashes the published scorer; ``guarded`` reads ``adversarial_answer`` and needs no gold answer to see a refusal.
    """
    if answer is None or not answer.strip():
        return outcomes.missing()
    try:
        value = points(answer, question, mode)
    except DataError as error:
        return outcomes.scorer_error(str(error))
    return outcomes.scored(value >= PASS_AT, value, category=question["category"])


def points(answer: str, question: Mapping[str, Any], mode: Mode = "reference") -> float:
    """The published number for one answer, 0 to 1. Raises ``DataError`` for a question that cannot be scored."""
    category = question.get("category")
    if question.get("metric") == "bertscore":
        raise DataError("the question asks for bertscore, which needs a language model and is not supported")
    if category not in CATEGORIES:
        raise DataError(f"unknown LoCoMo category {category!r}: expected 1 to 5")
    gold = gold_answer(question, mode)
    if category == ADVERSARIAL:
        return float(is_refusal(answer))
    if gold is None:
        raise DataError("the question has no field 'answer'")
    if category == 1:
        return multi_f1(answer, gold)
    return token_f1(answer, gold.split(";")[0].strip() if category == 3 else gold)


def gold_answer(question: Mapping[str, Any], mode: Mode = "reference") -> str | None:
    """The gold answer as text. For an adversarial question in ``guarded`` mode: the answer that would be wrong."""
    if "answer" in question:
        return str(question["answer"])
    if question.get("category") == ADVERSARIAL and mode == "guarded":
        return str(question.get("adversarial_answer", ""))
    raise DataError("the question has no field 'answer'")


def is_refusal(answer: str) -> bool:
    """The answer holds one of the two phrases the suite accepts, wherever it stands."""
    lower = answer.lower()
    return any(phrase in lower for phrase in REFUSALS)


def choice(reply: str, options: Mapping[str, str]) -> str:
    """The option an adversarial reply picked: a reply of one or three characters is a choice, else plain text.

    Anything of that length that is not ``a`` or ``(a)`` is option b.
    """
    text = reply.strip().lower()
    if len(text) == 1:
        return options["a" if text == "a" else "b"]
    if len(text) == 3:
        return options["a" if text == "(a)" else "b"]
    return text


def evidence_recall(evidence: Sequence[str], retrieved: Sequence[str] | None) -> float:
    """Share of the evidence ids among the retrieved ids; 1 without evidence or where nothing was to be retrieved.

    Ids are dialogue turns (``D1:3``); when the first retrieved id begins with S they are sessions (``S1``).
    """
    if not evidence or retrieved is None:
        return 1.0
    if retrieved and retrieved[0].startswith("S"):
        sessions = {found[1:] for found in retrieved}
        hits = sum(wanted.split(":")[0][1:] in sessions for wanted in evidence)
    else:
        hits = sum(wanted in retrieved for wanted in evidence)
    return hits / len(evidence)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Numbers of a whole file of answers, in its order. ``mean_answer_words`` is over category 1 only."""

    scores: tuple[float, ...]
    evidence_recall: tuple[float, ...]
    mean_answer_words: float | None


def evaluate(questions: Sequence[Mapping[str, Any]], key: str = "prediction") -> Evaluation:
    """The published evaluation of questions that hold their answer under ``key`` and retrieved ids under
    ``<key>_context``. Raises ``DataError`` where the published scorer crashes."""
    for n, question in enumerate(questions):
        if not isinstance(question.get(key), str):
            raise DataError(f"question {n}: {key!r} holds no text")
        if question.get("evidence") and question.get(f"{key}_context") == []:
            raise DataError(f"question {n}: '{key}_context' is empty")
    scores = tuple(points(question[key], question) for question in questions)
    recall = tuple(evidence_recall(q.get("evidence", ()), q.get(f"{key}_context")) for q in questions)
    lengths = [len(q[key].split()) for q in questions if q["category"] == 1]
    return Evaluation(scores, recall, round(sum(lengths) / len(lengths), 4) if lengths else None)


def means(questions: Sequence[Mapping[str, Any]], scores: Sequence[float]) -> dict[str, float]:
    """Mean score over all questions (``all``), over categories 1 to 4 (``answerable``) and by category name.

    Many papers leave the adversarial questions out, so both totals are given; they must not be compared.
    """
    groups: dict[str, list[float]] = {"all": list(scores), "answerable": []}
    for question, value in zip(questions, scores, strict=True):
        groups.setdefault(CATEGORIES[question["category"]], []).append(value)
        if question["category"] != ADVERSARIAL:
            groups["answerable"].append(value)
    return {name: sum(values) / len(values) for name, values in groups.items() if values}
