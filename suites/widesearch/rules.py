"""The grading rules of one task, as they stand in the column ``evaluation`` of the data set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suites.widesearch.csvread import Table, read_csv
from suites.widesearch.errors import GradingError, TableError
from suites.widesearch.extract import missing_word
from suites.widesearch.normalize import norm_column


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """How one column is prepared and compared."""

    preprocess: tuple[str, ...]
    metrics: tuple[str, ...]
    criterion: Any = None


@dataclass(frozen=True, slots=True)
class Rules:
    """Required columns, the columns that form the key of a row, and a rule a column."""

    required: tuple[str, ...]
    unique: tuple[str, ...]
    pipeline: Mapping[str, ColumnRule]

    def rule(self, column: str) -> ColumnRule:
        """The rule of a column. Raises ``GradingError`` when the task has none for it."""
        if column not in self.pipeline:
            raise GradingError(f"no rule for the required column {column!r}")
        return self.pipeline[column]


def parse_rules(evaluation: Mapping[str, Any] | str) -> Rules:
    """The rules from the JSON object, or its text. Raises ``GradingError`` naming the key that is missing."""
    try:
        raw = json.loads(evaluation) if isinstance(evaluation, str) else evaluation
        return Rules(
            required=tuple(raw["required"]),
            unique=tuple(raw["unique_columns"]),
            pipeline={
                column: ColumnRule(
                    tuple(item.get("preprocess") or ()), tuple(item.get("metric") or ()), item.get("criterion")
                )
                for column, item in raw["eval_pipeline"].items()
            },
        )
    except KeyError as error:
        raise GradingError(f"evaluation lacks {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise GradingError(f"evaluation is no grading rule: {error}") from error


def read_gold(gold_csv: str, required: tuple[str, ...], *, infer: bool = True) -> Table | None:
    """The gold table, cut to the required columns; ``None`` when it cannot be read or lacks one of them.

    The published loader drops such a task. Here it is a scorer error, so that the denominator stays.
    """
    try:
        table = read_csv(gold_csv, infer=infer)
    except TableError:
        return None
    names = [norm_column(name) for name in table.columns]
    if any(column not in names for column in required):
        return None
    cut = table.select([names.index(column) for column in required])
    rows = cut.rows if infer else tuple(tuple(missing_word(cell) for cell in row) for row in cut.rows)
    return Table(required, rows)
