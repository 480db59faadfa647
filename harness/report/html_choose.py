"""Which tasks of a run the HTML report shows with every prompt: the first ones, and those that moved most."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engines.registry import names as engine_names
from harness.errors import UnknownName
from harness.report.html_data import RunData, TaskKey, adjusted, task_keys
from harness.types import TaskRow

FLOOR = "isolated"


def focus_arm(data: RunData, given: str | None = None) -> str:
    """The arm a reader most likely came for: the one named, else ``agentmem``, else the cheapest that is a memory."""
    if given is not None:
        if given not in data.arms:
            raise UnknownName(f"arm of {data.folder}", given, data.arms)
        return given
    engines = {arm.name: arm.engine for arm in data.played}
    ours = [name for name, engine in engines.items() if engine == "agentmem"]
    others = [name for name, engine in engines.items() if name != data.baseline and engine != FLOOR]
    spent = {name: sum(map(adjusted, data.of(name))) for name in others}
    return ours[0] if ours else min(others, key=spent.__getitem__, default=data.baseline)


def choose(data: RunData, focus: str, count: int, named: Sequence[str] = ()) -> list[TaskKey]:
    """The first ``count`` tasks, ``count`` that moved most, and those named; in plan order, each once.

    Half of those that moved are the ones on which the focus arm pays most repairs, half the ones whose
    support-adjusted tokens differ most from the baseline's, either way.
    """
    keys = task_keys(data.rows)
    base = {_key(row): row for row in data.of(data.baseline)}
    rows = data.of(focus)
    failing = sorted((row for row in rows if row.repairs), key=lambda row: (-(row.repairs or 0), _key(row)))
    moved = sorted(
        (row for row in rows if _key(row) in base),
        key=lambda row: (-abs(adjusted(row) - adjusted(base[_key(row)])), _key(row)),
    )
    chosen = {*keys[:count], *(_key(row) for row in failing[: count // 2])}
    chosen.update([_key(row) for row in moved if _key(row) not in chosen][: count - min(len(failing), count // 2)])
    by_id = {task: [key for key in keys if key[1] == task] for task in named}
    for task, found in by_id.items():
        if not found:
            raise UnknownName(f"task of {data.folder}", task, {key[1] for key in keys})
        chosen.update(found)
    return [key for key in keys if key in chosen]


def unavailable(data: RunData) -> dict[str, str]:
    """Arms whose prompts cannot be assembled again here, with the reason."""
    installed = engine_names()
    return {
        arm.name: f"the engine {arm.engine!r} is not installed" for arm in data.played if arm.engine not in installed
    }


def _key(row: TaskRow) -> TaskKey:
    return row.session, row.task, row.attempt
