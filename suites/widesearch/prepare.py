"""Brings answer and gold rows into the form in which they are compared: columns, keys, preprocess functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from suites.judging import Judged
from suites.outcomes import Mode
from suites.widesearch.csvread import Table
from suites.widesearch.errors import GradingError
from suites.widesearch.infer import MISSING
from suites.widesearch.judge import TableJudge
from suites.widesearch.normalize import norm_column, preprocessor
from suites.widesearch.rules import Rules

Row = dict[str, Any]
KEY_METRICS = ("exact_match", "llm_judge")


@dataclass(slots=True)
class Prepared:
    """Rows ready for comparison. ``columns`` is the column order of the answer; ``aligned`` lists the key
    columns whose values the judge was asked about, ``calls`` everything it was asked."""

    answer: list[Row]
    gold: list[Row]
    columns: tuple[str, ...]
    aligned: list[str] = field(default_factory=list)
    calls: list[Judged[dict[str, Any]]] = field(default_factory=list)


def match_columns(table: Table, rules: Rules, judge: TableJudge) -> tuple[Table, list[Judged[dict[str, Any]]]]:
    """The table under normalised column names; the judge is asked to rename them when they are not the required.

    Whether they fit afterwards is for the caller to check.
    """
    names = tuple(norm_column(name) for name in table.columns)
    if set(names) == set(rules.required):
        return Table(names, table.rows), []
    reply = judge.align(names, rules.required)
    mapping = reply.verdict or {}
    return Table(tuple(mapping.get(name, name) for name in names), table.rows), [reply]


def prepare(answer: Table, gold: Table, rules: Rules, judge: TableJudge, now: datetime, mode: Mode) -> Prepared:
    """Rows of both tables after de-duplication, key alignment and the preprocess functions, in this order.

    ``guarded`` removes duplicate keys once more at the end: only then are two spellings of one key the same.
    Raises ``GradingError`` when the rules name a column that is not there, or a column is there twice.
    """
    if len(set(answer.columns)) != len(answer.columns):
        raise GradingError(f"a column stands twice in the answer: {', '.join(map(str, answer.columns))}")
    prepared = Prepared(_rows(answer), _rows(gold), answer.columns)
    absent = [column for column in rules.unique if column not in rules.required]
    if absent or not rules.unique:
        raise GradingError(f"the key needs required columns, got {list(rules.unique)}")
    prepared.answer = first_of_each(prepared.answer, rules.unique)
    prepared.gold = first_of_each(prepared.gold, rules.unique)
    _align_keys(prepared, rules, judge)
    for column, rule in rules.pipeline.items():
        for name in rule.preprocess:
            if column not in rules.required:
                raise GradingError(f"a preprocess function for {column!r}, which is no required column")
            _apply(prepared, column, name, now, mode)
    if mode == "guarded":
        prepared.answer = first_of_each(prepared.answer, rules.unique)
        prepared.gold = first_of_each(prepared.gold, rules.unique)
    return prepared


def first_of_each(rows: Sequence[Row], key: Sequence[str]) -> list[Row]:
    """The rows without those whose key has occurred before."""
    seen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        seen.setdefault(tuple(row[column] for column in key), row)
    return list(seen.values())


def _rows(table: Table) -> list[Row]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _align_keys(prepared: Prepared, rules: Rules, judge: TableJudge) -> None:
    """One question a key column that is compared as text: which answer values stand for which gold values."""
    for column in rules.unique:
        rule = rules.pipeline.get(column)
        if rule is None or not any(metric in rule.metrics for metric in KEY_METRICS):
            continue
        reply = judge.align([row[column] for row in prepared.answer], [row[column] for row in prepared.gold])
        prepared.calls.append(reply)
        prepared.aligned.append(column)
        mapping = reply.verdict or {}
        for row in prepared.answer:
            row[column] = mapping.get(row[column], row[column])


def _apply(prepared: Prepared, column: str, name: str, now: datetime, mode: Mode) -> None:
    rows = [*prepared.answer, *prepared.gold]
    if not rows:
        return
    function: Callable[[object], str] = preprocessor(name, now)
    for row in rows:
        if mode == "guarded" and name == "norm_date" and row[column] == MISSING:
            continue  # the library reads "nan" as the month of August in some language
        row[column] = function(row[column])
