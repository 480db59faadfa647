"""Grades answers to LongMemEval questions with a judge, and sums a run up as the published scripts do.

score(answer, question, judge=..., mode=...) -> Outcome
evaluate(hypotheses, references, judge) -> Evaluation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from agentmem.messages import Message
from harness.errors import DataError, JudgeFailed, UsageError
from harness.protocols import Judge
from harness.types import Outcome
from suites import outcomes
from suites.judging import Template, ask, attempts_for
from suites.longmemeval.judge import PUBLISHED_JUDGE, TEMPLATES, TYPES, is_abstention, judge_prompt, judge_request
from suites.outcomes import Mode


def score(
    answer: str | None,
    question: Mapping[str, Any],
    *,
    judge: Judge,
    mode: Mode = "reference",
    templates: Mapping[str, Template] = TEMPLATES,
    attempts: int = 3,
) -> Outcome:
    """The outcome of one answer; ``question`` is a row of the data set. A blank answer is missing, unasked.

    ``guarded`` takes a reply whose first word is yes or no, asks again for any other, up to ``attempts`` times.
    """
    if answer is None or not answer.strip():
        return outcomes.missing()
    try:
        prompt, sha256 = _prompt(question, answer, templates)
    except (DataError, KeyError) as error:
        return outcomes.scorer_error(f"the question cannot be judged: {error}")
    messages = (Message("user", prompt),)
    attempts = attempts_for(mode, attempts)
    reply = ask(judge, messages, partial(label, mode=mode), prompt_sha256=sha256, attempts=attempts)
    detail = {"type": question["question_type"], "abstention": is_abstention(question["question_id"])}
    if reply.verdict is None:
        return outcomes.judge_error(str(reply.failure), judge=reply.record(), **detail)
    return outcomes.scored(reply.verdict, float(reply.verdict), judge=reply.record(), **detail)


def label(reply: str, mode: Mode = "reference") -> bool | None:
    """What a reply says. ``reference``: yes as soon as these letters occur, so "no, not yesterday" is a yes.

    ``guarded``: the first word, or ``None`` when it is neither yes nor no.
    """
    if mode == "reference":
        return "yes" in reply.lower()
    words = reply.lower().split()
    first = words[0].strip(".,;:!?*\"'`") if words else ""
    return {"yes": True, "no": False}.get(first)


def _prompt(question: Mapping[str, Any], answer: str, templates: Mapping[str, Template]) -> tuple[str, str]:
    return judge_prompt(
        question["question_type"],
        question["question"],
        question["answer"],
        answer,
        abstention=is_abstention(question["question_id"]),
        templates=templates,
    )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The published sums of one run. Hypotheses nobody handed in do not count, repeated ones count again.

    ``labels`` are in the order of the hypotheses; ``per_type`` maps a type that occurs in the references to
    (accuracy or ``None``, how many were judged).
    """

    labels: tuple[tuple[str, bool], ...]
    per_type: Mapping[str, tuple[float | None, int]]
    judge_model: str

    @property
    def accuracy(self) -> float | None:
        """Over judged hypotheses; ``None`` without any."""
        return _mean([label for _, label in self.labels])

    def summary(self) -> dict[str, float | None]:
        """``task_averaged`` (mean of the six types, ``None`` when one is empty), ``overall`` and ``abstention``.

        Raises ``UsageError`` for another judge than the published one, whose numbers the script refuses to print.
        """
        if self.labels and self.judge_model != PUBLISHED_JUDGE:
            raise UsageError(f"summary for the judge {self.judge_model}: the published one is {PUBLISHED_JUDGE}")
        means = [self.per_type.get(name, (None, 0))[0] for name in TYPES]
        present = [mean for mean in means if mean is not None]
        return {
            "task_averaged": fmean(present) if len(present) == len(TYPES) else None,
            "overall": self.accuracy,
            "abstention": _mean([label for name, label in self.labels if is_abstention(name)]),
        }


def evaluate(
    hypotheses: Sequence[Mapping[str, Any]],
    references: Sequence[Mapping[str, Any]],
    judge: Judge,
    *,
    judge_name: str = "gpt-4o",
    templates: Mapping[str, Template] = TEMPLATES,
) -> Evaluation:
    """The published evaluation, quirks kept. A hypothesis without a reference is skipped.

    Raises ``UnknownName`` for a judge the script does not know, ``DataError`` for an unknown question type and
    ``JudgeFailed`` where the script would wait for ever.
    """
    model = judge_request(judge_name)["model"]
    questions = {row["question_id"]: row for row in references}
    by_type: dict[str, list[bool]] = {row["question_type"]: [] for row in references}
    labels: list[tuple[str, bool]] = []
    for row in hypotheses:
        question = questions.get(row["question_id"])
        if question is None:
            continue
        prompt, _ = _prompt(question, row["hypothesis"], templates)
        reply = judge.ask((Message("user", prompt),))
        if not isinstance(reply, str):
            raise JudgeFailed(f"no reply for {row['question_id']}")
        found = bool(label(reply))
        labels.append((row["question_id"], found))
        by_type[question["question_type"]].append(found)
    per_type = {name: (_mean(found), len(found)) for name, found in by_type.items()}
    return Evaluation(tuple(labels), per_type, model)


def _mean(labels: Sequence[bool]) -> float | None:
    return sum(labels) / len(labels) if labels else None
