"""The log of a run: append-only, readable after ``kill -9`` at any byte, resumed only under the same recipe.

A folder holds ``recipe.json``, ``calls.jsonl`` (the ledger), ``tasks.jsonl`` and, when the run is over,
``summary.json``. The rows of a task stand in ``calls.jsonl`` before its row stands in ``tasks.jsonl``, so a task that
has a row is complete. Every row carries the sha256 of the recipe.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from harness import recipe as recipes
from harness.errors import RecipeMismatch, UnreadableInput
from harness.types import Call, Recipe, TaskRow, Usage

CALLS, TASKS, RECIPE, SUMMARY = "calls.jsonl", "tasks.jsonl", "recipe.json", "summary.json"
_TASK_FIELDS = tuple(field.name for field in fields(TaskRow))


class RunLog:
    """Writes one run. Opening a folder that holds an unfinished run continues it.

    Raises ``RecipeMismatch`` when the folder holds a run of another recipe.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self.folder = folder
        self.recipe = recipe
        self.sha256 = recipes.sha256(recipe)
        folder.mkdir(parents=True, exist_ok=True)
        self._claim()
        for name in (CALLS, TASKS):
            _drop_torn_line(folder / name)
        self.tasks = [task_from_row(row) for _, row in read_rows(folder / TASKS)]

    def keep(self, complete: Iterable[tuple[str, str]]) -> None:
        """Keep the rows of these (arm, session) pairs and cut off what comes behind them.

        The pairs must stand in front of the log; a replay writes its sessions in a fixed order, whole.
        """
        wanted = set(complete)
        for name in (CALLS, TASKS):
            path = self.folder / name
            end = 0
            for end_of_row, row in read_rows(path):
                if (row["arm"], row["session"]) not in wanted:
                    break
                end = end_of_row
            _truncate(path, end)
        self.tasks = [task for task in self.tasks if (task.arm, task.session) in wanted]

    def append(self, calls: Iterable[Call], tasks: Iterable[TaskRow]) -> None:
        """Write rows: first the calls, then the tasks they belong to."""
        tasks = list(tasks)
        _append(self.folder / CALLS, (call_to_row(call, self.sha256) for call in calls))
        _append(self.folder / TASKS, (task_to_row(task, self.sha256) for task in tasks))
        self.tasks += tasks

    def finish(self, summary: dict[str, Any]) -> None:
        """Write ``summary.json``; the run is over."""
        write_json(self.folder / SUMMARY, summary)

    def _claim(self) -> None:
        path = self.folder / RECIPE
        text = recipes.canonical(self.recipe)
        if path.exists():
            before = recipes.load(path.read_text())
            if recipes.sha256(before) != self.sha256:
                raise RecipeMismatch(f"resuming {self.folder}", recipes.differences(before, self.recipe))
        else:
            _replace(path, text)


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a JSON Lines file with the offset at which each ends. A missing file has none.

    A torn last line is left out; a broken line elsewhere raises ``UnreadableInput`` with its number.
    """
    if not path.exists():
        return
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            try:
                yield offset, json.loads(line)
            except ValueError as error:
                raise UnreadableInput(f"{path}:{number}: expected a JSON object, found {line[:60]!r}") from error


def read_tasks(folder: Path) -> list[TaskRow]:
    """The task rows of a run; of rows for the same arm, session, task and attempt the last wins."""
    if not (folder / TASKS).exists():
        raise UnreadableInput(f"{folder}: expected a run folder, found no {TASKS} in it")
    rows = [task_from_row(row) for _, row in read_rows(folder / TASKS)]
    return list({(row.arm, row.session, row.task, row.attempt): row for row in rows}.values())


def read_recipe(folder: Path) -> Recipe:
    """The recipe of a run."""
    path = folder / RECIPE
    if not path.exists():
        raise UnreadableInput(f"{folder}: expected a run folder, found no {RECIPE} in it")
    return recipes.load(path.read_text())


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of a finished run."""
    path = folder / SUMMARY
    if not path.exists():
        raise UnreadableInput(f"{folder}: the run is not finished, it has no {SUMMARY}; run the same command again")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def call_to_row(call: Call, recipe: str) -> dict[str, Any]:
    """A ledger row as JSON."""
    usage = call.usage
    return {
        "recipe": recipe,
        "arm": call.arm,
        "session": call.session,
        "task": call.task,
        "position": call.position,
        "number": call.number,
        "purpose": call.purpose,
        "messages": call.messages,
        "prompt_tokens": usage.prompt,
        "cached_tokens": usage.cached,
        "completion_tokens": usage.completion,
        "reasoning_tokens": usage.reasoning,
        "from": [usage.prompt_from, usage.cached_from, usage.completion_from],
        "needs": call.needs,
        "missing": call.missing,
        "lost": call.lost,
        "repairs": call.repairs,
        "repair_calls": call.repair_calls,
        "fetched": call.fetched,
        "error": call.error,
    }


def call_from_row(row: dict[str, Any]) -> Call:
    """Read what ``call_to_row`` made."""
    usage = Usage(
        row["prompt_tokens"], row["cached_tokens"], row["completion_tokens"], row["reasoning_tokens"], *row["from"]
    )
    return Call(
        arm=row["arm"],
        session=row["session"],
        task=row["task"],
        position=row["position"],
        number=row["number"],
        purpose=row["purpose"],
        usage=usage,
        messages=row["messages"],
        needs=row["needs"],
        missing=tuple(row["missing"]),
        lost=tuple(row["lost"]),
        repairs=row["repairs"],
        repair_calls=row["repair_calls"],
        fetched=row["fetched"],
        error=row["error"],
    )


def task_to_row(task: TaskRow, recipe: str) -> dict[str, Any]:
    """A task row as JSON."""
    return {"recipe": recipe} | {name: getattr(task, name) for name in _TASK_FIELDS}


def task_from_row(row: dict[str, Any]) -> TaskRow:
    """Read what ``task_to_row`` made."""
    return TaskRow(**{name: row[name] for name in _TASK_FIELDS})


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people, atomically. NaN is refused."""
    _replace(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _append(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    dump = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
    text = "".join([dump(row) + "\n" for row in rows])
    with path.open("ab") as file:
        file.write(text.encode())


def _drop_torn_line(path: Path) -> None:
    if path.exists():
        end = 0
        with path.open("rb") as file:
            for line in file:
                end += len(line) if line.endswith(b"\n") else 0
        _truncate(path, end)


def _truncate(path: Path, size: int) -> None:
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def sessions_done(
    tasks: Sequence[TaskRow], planned: Mapping[str, Sequence[str]], arms: Sequence[str]
) -> list[tuple[str, str]]:
    """The (arm, session) pairs, in the order they are played, up to the first that is not complete.

    ``planned`` maps a session to its task ids.
    """
    have = {(task.arm, task.session, task.task) for task in tasks}
    done: list[tuple[str, str]] = []
    for session, ids in planned.items():
        for arm in arms:
            if not all((arm, session, task) in have for task in ids):
                return done
            done.append((arm, session))
    return done
