"""Scores with the published gold answers and with corrected ones, side by side, where a suite knows of wrong ones.

Such a suite has ``errata`` (``version``, ``sha256``, ``entries`` by task id, ``excluded``: tasks that are left out) and
``corrected(task, answer)``, the outcome of an answer with the corrected gold answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.errors import DataError
from harness.protocols import Suite
from harness.summary import mean_score, task_counts
from harness.types import TaskRow


def with_and_without(suite: Suite, rows: Sequence[TaskRow]) -> dict[str, Any] | None:
    """A record for ``summary.json``; None where no task of the run has a known wrong gold answer.

    ``arms`` maps an arm to its figures ``without`` and ``with`` the errata: tasks, counted as in every summary, and the
    mean score. ``changed`` lists the tasks that make the difference.
    """
    errata: Any = getattr(suite, "errata", None)
    if errata is None or not any(row.task in errata.entries for row in rows):
        return None
    record = {"version": errata.version, "sha256": errata.sha256}
    try:
        mended = [_mended(suite, row) if row.task in errata.entries else row for row in rows]
    except DataError as error:  # the data set was changed: the published scores stand, and the reason is said
        return {**record, "not_applied": str(error)}
    pairs = list(zip(rows, mended, strict=True))
    return {
        **record,
        "changed": sorted({old.task for old, new in pairs if new is None or new.score != old.score}),
        "arms": {
            arm: {
                "without": _figures([old for old, _ in pairs if old.arm == arm]),
                "with": _figures([new for _, new in pairs if new is not None and new.arm == arm]),
            }
            for arm in dict.fromkeys(row.arm for row in rows)
        },
    }


def _mended(suite: Any, row: TaskRow) -> TaskRow | None:
    """The row as it counts with the errata; None where its task is left out."""
    if row.task in suite.errata.excluded:
        return None
    answer = row.detail.get("answer")
    if row.state != "scored" or not isinstance(answer, str):
        return row
    outcome = suite.corrected(row.task, answer)
    return replace(row, state=outcome.state, passed=outcome.passed, score=outcome.score)


def _figures(rows: Sequence[TaskRow]) -> dict[str, Any]:
    return {"tasks": task_counts(rows), "score": mean_score(rows)}
