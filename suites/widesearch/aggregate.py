"""Sums up several trials a task: mean, best and worst trial of each task, then the mean over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from harness.errors import StatisticsError
from suites.widesearch.score import METRICS

Trial = Mapping[str, float]


def summarise(results: Mapping[str, Sequence[Trial | None]], trials: int) -> dict[str, dict[str, float]]:
    """metric -> ``avg_n``, ``max_n``, ``min_n``. ``avg_n`` is the paper's Avg@n; ``max_n`` its Pass@n for the
    score and Max@n for the F1s; ``min_n`` of the score is the share of tasks every trial passed.

    ``results`` maps a task to the metrics of its trials. Raises ``StatisticsError`` when a task has fewer than
    ``trials`` (``None`` is a trial that is missing), or without any task. More trials than asked for all count.
    """
    if not results:
        raise StatisticsError("no tasks to sum up")
    present = {task: [trial for trial in found if trial is not None] for task, found in results.items()}
    summary = {}
    for name in METRICS:
        for task, found in present.items():
            if len(found) < trials:
                raise StatisticsError(
                    f"Not enough trials for metric {name} on instance {task}. Expected {trials}, got {len(found)}."
                )
        by_task = [[trial[name] for trial in found] for found in present.values()]
        summary[name] = {
            "avg_n": fmean(fmean(values) for values in by_task),
            "max_n": fmean(max(values) for values in by_task),
            "min_n": fmean(min(values) for values in by_task),
        }
    return summary
