"""Scores one answer of WideSearch: rows and cells found, and whether the whole table is right.

    score(answer, gold_csv, evaluation, judge=..., now=..., mode=...) -> Outcome

``detail["metrics"]`` holds the seven published numbers (``reference``; above 1 where the published scorer goes
there), ``detail["kind"]`` how the published scorer would name the case. Source: ByteDance-Seed/WideSearch 0e664c3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from harness.errors import HarnessError
from harness.protocols import Judge
from harness.types import Outcome
from suites import outcomes
from suites.judging import Judged, Template, attempts_for
from suites.outcomes import Mode
from suites.widesearch.errors import GradingError, TableError
from suites.widesearch.extract import extract_table
from suites.widesearch.grade import Grades, NoCommonKey, grade, matched
from suites.widesearch.judge import TEMPLATES, TableJudge
from suites.widesearch.prepare import Prepared, match_columns, prepare
from suites.widesearch.rules import Rules, parse_rules, read_gold

METRICS = (
    "score",
    "precision_by_row",
    "recall_by_row",
    "f1_by_row",
    "precision_by_item",
    "recall_by_item",
    "f1_by_item",
)
NO_ANSWER = "NULL"  # what the published runner stores when the last message has no content
ERROR, SCORED, NO_TABLE = "evaluator error", "scored", "response_df is None"
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class _Ratio:
    """Hits over the rows (or cells) of the answer and of the gold table."""

    hits: float
    answer: float
    gold: float

    def numbers(self, what: str) -> dict[str, float]:
        precision = self.hits / self.answer if self.answer > 0 else 0.0
        recall = self.hits / self.gold if self.gold > 0 else 0.0
        both = precision + recall
        f1 = 2 * precision * recall / both if both > _EPSILON else 0.0
        return {f"precision_by_{what}": precision, f"recall_by_{what}": recall, f"f1_by_{what}": f1}


def score(
    answer: str | None,
    gold_csv: str,
    evaluation: Mapping[str, Any] | str,
    *,
    judge: Judge,
    now: datetime,
    mode: Mode = "reference",
    templates: Mapping[str, Template] = TEMPLATES,
    attempts: int = 3,
) -> Outcome:
    """The outcome of one answer. ``now`` is the clock for dates without a year, naive UTC. Never raises for what an
    answer or a rule holds.

    ``passed`` is strict success, ``score`` the item F1. ``attempts`` is how often a judge may be asked for a usable
    reply in ``guarded`` mode.
    """
    if answer is None or not answer.strip() or answer.strip() == NO_ANSWER:
        return outcomes.missing(**_detail("response is None" if answer is None else NO_TABLE))
    try:
        rules = parse_rules(evaluation)
    except GradingError as error:
        return outcomes.scorer_error(str(error), **_detail(ERROR))
    table_judge = TableJudge(judge, templates, mode == "guarded", attempts_for(mode, attempts))
    calls: list[Judged[dict[str, Any]]] = []
    try:
        return _score(answer, gold_csv, rules, table_judge, now, mode, calls)
    except TableError as error:
        return outcomes.unparsable(str(error), **_detail(ERROR, calls))
    except HarnessError:
        raise  # a wrong key or a spent budget is no property of the answer
    except (GradingError, TypeError, ValueError, ArithmeticError) as error:  # bad rules, odd judge replies
        return outcomes.scorer_error(f"{type(error).__name__}: {error}", **_detail(ERROR, calls))


def _score(
    answer: str,
    gold_csv: str,
    rules: Rules,
    judge: TableJudge,
    now: datetime,
    mode: Mode,
    calls: list[Judged[dict[str, Any]]],
) -> Outcome:
    gold = read_gold(gold_csv, rules.required, infer=mode == "reference")
    if gold is None:
        reason = "the gold table cannot be read or lacks a required column"
        return outcomes.scorer_error(reason, **_detail("gold not loadable (task dropped)"))
    table = extract_table(answer, mode)
    if table is None:
        return outcomes.unparsable("no table in the answer", **_detail(NO_TABLE))
    table, asked = match_columns(table, rules, judge)
    calls += asked
    if set(table.columns) != set(rules.required):
        return _outcome(_zeros(), "required_columns mismatch", calls, columns=list(table.columns))
    prepared = prepare(table, gold, rules, judge, now, mode)
    calls += prepared.calls
    pairs = matched(prepared, rules.unique)
    sizes = {"answer_rows": len(prepared.answer), "gold_rows": len(prepared.gold), "matched": len(pairs)}
    try:
        grades = grade(pairs, rules, judge, now, mode)
    except NoCommonKey:
        return _outcome(_zeros(), ERROR, calls, **sizes)
    calls += grades.calls
    metrics = _metrics(prepared, grades, rules, mode)
    return _outcome(metrics, SCORED, calls, unjudged_cells=grades.unjudged, **sizes)


def _outcome(metrics: dict[str, float], kind: str, calls: list[Judged[dict[str, Any]]], **detail: Any) -> Outcome:
    """Scored, unless the judge failed somewhere and the table is not right all the same."""
    failures = [call.failure for call in calls if call.verdict is None]
    detail |= _detail(kind, calls, metrics)
    if failures and metrics["score"] < 1:
        return outcomes.judge_error(f"{len(failures)} of {len(calls)} judge calls: {failures[0]}", **detail)
    return outcomes.scored(metrics["score"] == 1, min(1.0, metrics["f1_by_item"]), **detail)


def _detail(
    kind: str, calls: list[Judged[dict[str, Any]]] | None = None, metrics: dict[str, float] | None = None
) -> dict[str, Any]:
    return {
        "kind": kind,
        "metrics": metrics or _zeros(),
        "judge": [call.record() for call in calls or []],
    }


def _zeros() -> dict[str, float]:
    return dict.fromkeys(METRICS, 0.0)


def _metrics(prepared: Prepared, grades: Grades, rules: Rules, mode: Mode) -> dict[str, float]:
    row, item = (_guarded if mode == "guarded" else _published)(prepared, grades, rules)
    metrics = row.numbers("row") | item.numbers("item")
    perfect = all(value == 1.0 for value in metrics.values()) and not grades.unjudged
    if mode == "reference" and _same_tables(prepared, rules):
        perfect = True
    return {"score": 1.0 if perfect else 0.0, **metrics}


def _published(prepared: Prepared, grades: Grades, rules: Rules) -> tuple[_Ratio, _Ratio]:
    """A row counts with its worst cell, every metric of a column as a cell of its own. A cell that was graded null
    does not pull its row down and adds nothing."""
    columns = [scores for by_metric in grades.scores.values() for scores in by_metric.values()]
    row_hits = sum(min(score for column in columns if (score := column[n]) is not None) for n in range(grades.pairs))
    item_hits = sum(score for column in columns for score in column if score is not None)
    answer, gold, width = len(prepared.answer), len(prepared.gold), len(rules.required)
    return _Ratio(row_hits, answer, gold), _Ratio(item_hits, answer * width, gold * width)


def _guarded(prepared: Prepared, grades: Grades, rules: Rules) -> tuple[_Ratio, _Ratio]:
    """One cell a column that has a metric, its worst score; cells and rows the judge left open count nowhere."""
    cells = [
        [_worst([scores[n] for scores in by_metric.values()]) for by_metric in grades.scores.values() if by_metric]
        for n in range(grades.pairs)
    ]
    rows = [_worst(row) for row in cells]
    flat = [cell for row in cells for cell in row]
    width = sum(1 for by_metric in grades.scores.values() if by_metric)
    return (
        _ratio(rows, len(prepared.answer), len(prepared.gold)),
        _ratio(flat, len(prepared.answer) * width, len(prepared.gold) * width),
    )


def _ratio(scores: list[float | None], answer: int, gold: int) -> _Ratio:
    unknown = scores.count(None)
    return _Ratio(sum(score for score in scores if score is not None), answer - unknown, gold - unknown)


def _worst(scores: list[float | None]) -> float | None:
    """0 as soon as one is 0, unknown as soon as one of the others is, else the lowest."""
    if 0.0 in scores:
        return 0.0
    return None if None in scores else min(score for score in scores if score is not None)


def _same_tables(prepared: Prepared, rules: Rules) -> bool:
    """True when both tables are equal cell by cell and no key was aligned: then the published score is 1."""
    if prepared.aligned or prepared.columns != rules.required:
        return False
    answer, gold = (
        sorted(tuple(row[column] for column in rules.required) for row in rows)
        for rows in (prepared.answer, prepared.gold)
    )
    return answer == gold
