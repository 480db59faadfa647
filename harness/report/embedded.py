"""The table of the embedded suites played live: passed tasks and tokens of each arm, suite by suite and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.arms import change, millions
from harness.tables import NOT_MEASURED, Table

CONTROL = "control: "
TITLE = "Live, embedded suites, scripted agents (no language model): passed tasks and tokens"


def table(summaries: Mapping[str, Mapping[str, Any]], notes: Sequence[str]) -> Table:
    """One row an arm. ``summaries`` maps the name of a suite to the summary of its run."""
    arms = [arm["arm"] for arm in next(iter(summaries.values()))["arms"] if not arm["arm"].startswith(CONTROL)]
    columns = ["arm", *(cell for name in summaries for cell in (name, "tokens"))]
    if len(summaries) > 1:
        columns += ["together", "tokens"]
    full = next((name for name in arms if name.partition(":")[0] == "full"), None)
    base = None if full is None else _tokens(summaries, full)
    rows = tuple((*_row(summaries, arm), change(_tokens(summaries, arm), base)) for arm in arms)
    found = [_controls(name, summary) for name, summary in summaries.items()]
    room = "" if full is None else _room(summaries, full)
    return Table(TITLE, (*columns, "against full"), rows, (*notes, *filter(None, (room, *found))))


def brief(summaries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What another summary keeps of these: by suite and arm, tokens and the counts of tasks."""
    return {
        suite: {arm["arm"]: {"tokens": arm["tokens"], "tasks": arm["tasks"]} for arm in summary["arms"]}
        for suite, summary in summaries.items()
    }


def _row(summaries: Mapping[str, Mapping[str, Any]], arm: str) -> list[str]:
    found = [_record(summary, arm) for summary in summaries.values()]
    cells = [arm]
    for record in found:
        cells += [_passed([record]), millions(record["tokens"])]
    if len(found) > 1:
        cells += [_passed(found), millions(_tokens(summaries, arm))]
    return cells


def _passed(records: Sequence[Mapping[str, Any]]) -> str:
    """Passed of attempted; an answer that could not be read did not pass."""
    attempted = sum(record["tasks"]["attempted"] for record in records)
    ended = sum(record["tasks"]["scored"] + record["tasks"]["unparsable"] for record in records)
    if not ended:
        return NOT_MEASURED
    passed = sum(record["tasks"]["passed"] or 0 for record in records)
    return f"{passed} of {attempted} ({100 * passed / attempted:.0f} %)"


def _tokens(summaries: Mapping[str, Mapping[str, Any]], arm: str) -> int:
    return sum(_record(summary, arm)["tokens"] for summary in summaries.values())


def _record(summary: Mapping[str, Any], arm: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(record for record in summary["arms"] if record["arm"] == arm)
    return found


def _room(summaries: Mapping[str, Mapping[str, Any]], full: str) -> str:
    """Says when the window was never near, since some policies wait for it."""
    peak = max(_record(summary, full)["peak_prompt"] for summary in summaries.values())
    window = next(iter(summaries.values()))["window"]
    if peak > window / 2:
        return ""
    return (
        f"no prompt of {full} came above {peak:,} tokens: policies that wait for half of the window ({window:,}) did "
        f"what {full} did; a smaller --window makes them act"
    )


def _controls(suite: str, summary: Mapping[str, Any]) -> str:
    found = [
        f"{record['arm'].removeprefix(CONTROL)} {_passed([record])}"
        for record in summary["arms"]
        if record["arm"].startswith(CONTROL)
    ]
    return f"controls of {suite}: {', '.join(found)}" if found else ""
