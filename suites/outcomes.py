"""One bucket for each way an attempt can end, and counts whose sum is always the number of planned tasks.

"Wrong" and "could not be scored" never share a bucket. Every suite has two modes: ``reference`` keeps the quirks
of the published scorer, ``guarded`` mends the ones its README lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.errors import DataError
from harness.types import Outcome

Mode = Literal["reference", "guarded"]
Bucket = Literal["passed", "wrong", "unparsable", "scorer_error", "judge_error", "errored", "missing"]
BUCKETS: tuple[Bucket, ...] = (
    "passed",
    "wrong",
    "unparsable",
    "scorer_error",
    "judge_error",
    "errored",
    "missing",
)
SCORER = "scorer: "


def scored(passed: bool, score: float, **detail: Any) -> Outcome:
    """There is a score; ``passed`` is the suite's own idea of success."""
    return Outcome(state="scored", passed=passed, score=score, detail=detail)


def unparsable(reason: str, **detail: Any) -> Outcome:
    """The agent's answer holds nothing that can be scored."""
    return Outcome(state="unparsable", error=reason, detail=detail)


def scorer_error(reason: str, **detail: Any) -> Outcome:
    """The scorer could not do its work: a bad rule, a bad gold answer, an exception."""
    return Outcome(state="errored", error=SCORER + reason, detail=detail)


def judge_error(reason: str, **detail: Any) -> Outcome:
    """The judge gave no usable verdict, also after being asked again."""
    return Outcome(state="unjudged", error=reason, detail=detail)


def missing(reason: str = "no answer", **detail: Any) -> Outcome:
    """Nothing was handed in for the task."""
    return Outcome(state="missing", error=reason, detail=detail)


def bucket(outcome: Outcome) -> Bucket:
    """The bucket of one outcome; ``errored`` is everything that broke before there was an answer to score."""
    if outcome.state == "scored":
        return "passed" if outcome.passed else "wrong"
    if outcome.state == "errored":
        return "scorer_error" if (outcome.error or "").startswith(SCORER) else "errored"
    if outcome.state == "unjudged":
        return "judge_error"
    return outcome.state


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tasks ended in each bucket. ``planned`` is their sum and the denominator of every rate."""

    planned: int
    passed: int
    wrong: int
    unparsable: int
    scorer_error: int
    judge_error: int
    errored: int
    missing: int

    @property
    def scored(self) -> int:
        """Tasks that have a score, right or wrong."""
        return self.passed + self.wrong

    @property
    def pass_rate(self) -> float | None:
        """Passed over planned; ``None`` without planned tasks."""
        return self.passed / self.planned if self.planned else None


def tally(planned: Sequence[str], outcomes: Mapping[str, Outcome]) -> Counts:
    """Counts over the planned task ids; an id without an outcome is missing.

    Raises ``DataError`` for an outcome nobody planned and for an id planned twice.
    """
    unplanned = sorted(set(outcomes) - set(planned))
    if unplanned:
        raise DataError(f"outcome of a task that was not planned: {unplanned[0]!r} ({len(unplanned)} in all)")
    if len(set(planned)) != len(planned):
        twice = next(task for task, count in Counter(planned).items() if count > 1)
        raise DataError(f"task planned twice: {twice!r}")
    found = Counter(bucket(outcomes[task]) if task in outcomes else "missing" for task in planned)
    return Counts(planned=len(planned), **{name: found[name] for name in BUCKETS})


def mean_score(planned: Sequence[str], outcomes: Mapping[str, Outcome]) -> float | None:
    """The mean score over the planned tasks, where a task without a score counts as 0; ``None`` without tasks."""
    if not planned:
        return None
    scores = [outcomes[task].score for task in planned if task in outcomes]
    return sum(score for score in scores if score is not None) / len(planned)


def by_group(groups: Mapping[str, str], outcomes: Mapping[str, Outcome]) -> dict[str, Counts]:
    """Counts by group, groups in order of their name. ``groups`` maps every planned task to its group."""
    tally(list(groups), outcomes)  # an outcome nobody planned is an error here too
    tasks: dict[str, list[str]] = {}
    for task, group in groups.items():
        tasks.setdefault(group, []).append(task)
    return {
        group: tally(names, {task: outcomes[task] for task in names if task in outcomes})
        for group, names in sorted(tasks.items())
    }
