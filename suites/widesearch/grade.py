"""Grades the cells of matched rows: a list of scores a column and metric, ``None`` where there is no grade."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from suites.judging import Judged
from suites.outcomes import Mode
from suites.widesearch.cells import metric
from suites.widesearch.errors import GradingError
from suites.widesearch.judge import TableJudge, binary, last_json_block
from suites.widesearch.prepare import Prepared, Row
from suites.widesearch.rules import Rules

Pair = tuple[Row, Row]
JUDGE_METRIC = "llm_judge"


class NoCommonKey(Exception):
    """No row of the answer has the key of a gold row. The published scorer crashes there, and so scores zero."""


@dataclass(slots=True)
class Grades:
    """``scores`` maps required column -> metric -> one score a matched row; ``None`` is a cell without a grade."""

    pairs: int
    scores: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    calls: list[Judged[dict[str, Any]]] = field(default_factory=list)
    unjudged: int = 0


def matched(prepared: Prepared, key: Sequence[str]) -> list[Pair]:
    """(answer row, gold row) for every pair with the same key: in gold order, then in answer order."""
    by_key: dict[tuple[Any, ...], list[Row]] = {}
    for row in prepared.answer:
        by_key.setdefault(tuple(row[column] for column in key), []).append(row)
    return [
        (answer, gold) for gold in prepared.gold for answer in by_key.get(tuple(gold[column] for column in key), [])
    ]


def grade(pairs: Sequence[Pair], rules: Rules, judge: TableJudge, now: datetime, mode: Mode) -> Grades:
    """Scores of all required columns; key columns are right by definition.

    Raises ``NoCommonKey`` (``reference``, where the published scorer crashes), ``GradingError`` or ``TypeError``
    for rules that cannot be applied.
    """
    grades = Grades(len(pairs))
    for column in rules.required:
        if column in rules.unique:
            grades.scores[column] = {"key": [1.0] * len(pairs)}
            continue
        rule = rules.rule(column)
        by_metric: dict[str, list[float | None]] = {}
        for name in rule.metrics:
            if name == JUDGE_METRIC:
                by_metric[name] = _judged(pairs, column, rule.criterion, judge, mode, grades)
                continue
            if not pairs and mode == "reference" and name != "date_near":
                raise NoCommonKey  # date_near alone survives what the published scorer does without rows
            compare = metric(name, rule.criterion, mode, now)
            by_metric[name] = [compare(answer[column], gold[column])[0] for answer, gold in pairs]
        grades.scores[column] = by_metric
    return grades


def _judged(
    pairs: Sequence[Pair], column: str, criterion: Any, judge: TableJudge, mode: Mode, grades: Grades
) -> list[float | None]:
    if not pairs and mode == "guarded":
        return []
    reply = judge.grade([answer[column] for answer, _ in pairs], [gold[column] for _, gold in pairs], criterion)
    grades.calls.append(reply)
    indexes = [f"idx_{n}" for n in range(len(pairs))]
    if mode == "reference":
        verdict = reply.verdict
        return [0.0] * len(pairs) if verdict is None else [_as_published(verdict.get(i, 0)) for i in indexes]
    verdict = reply.verdict or _last_object(reply.replies)
    scores = [binary(verdict.get(i)) for i in indexes]
    grades.unjudged += scores.count(None)
    return scores


def _last_object(replies: Sequence[str]) -> dict[str, Any]:
    """What can be used of the last reply that held an object at all."""
    for reply in reversed(replies):
        found = last_json_block(reply)
        if found is not None:
            return found
    return {}


def _as_published(value: Any) -> float | None:
    """Numbers pass as they are, null and NaN leave the cell out, anything else crashes the table.

    An infinite grade crashes it here too: the published scorer would go on with it and print no number at all.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise GradingError(f"the judge graded with {value!r}, which is no number")
    return float(value)
