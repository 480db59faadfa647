"""Where one task ends and the next begins: what a judge says, what follows from it, and the list kept on disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from agentmem.errors import CanvasError, EvidenceCorrupt, ModelError
from agentmem.offload.index import Journal

FILE = "tasks.jsonl"
LABEL = 30  # characters of a label
RETRY = 3.0  # seconds before a judge is asked a second time
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_CANVAS_FILE = re.compile(r"(\d{3})-([a-z0-9-]+)\.mmd")


@dataclass(frozen=True, slots=True)
class Judgment:
    """What a judge says of a new request: is the task so far complete, is the new one long enough for a canvas, does it
    go on with a canvas (the present one, or ``file``), and what it should be called."""

    completed: bool
    long: bool
    continuation: bool
    file: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What a judge is told of a canvas there is."""

    file: str
    goal: str
    counts: str = ""
    updated: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a judge decides on: the new request, a few turns before it, the present canvas, the newest canvases."""

    request: str
    turns: Sequence[str] = ()
    active: str | None = None
    active_text: str = ""
    canvases: Sequence[Known] = ()


class Judge(Protocol):
    """Says what a new request means for the task at hand."""

    name: str

    def judge(self, situation: Situation) -> Judgment:
        """A judgment. Raises ``ModelError`` when there is none; an answer that cannot be read is none."""
        ...


@dataclass(frozen=True, slots=True)
class Move:
    """What follows: ``keep`` the canvas, have ``none``, ``create`` one (``target`` is its label) or ``reactivate`` one
    (``target`` is its file)."""

    kind: Literal["keep", "none", "create", "reactivate"]
    target: str = ""


def transition(active: str | None, judgment: Judgment) -> Move:
    """The eight rows of the table: first match wins."""
    fresh = judgment.long and bool(judgment.label)
    if judgment.completed:
        if judgment.continuation:
            return Move("reactivate", judgment.file) if judgment.file else Move("keep")
        return _create(active, judgment) if fresh else Move("none")
    if judgment.continuation:
        return Move("reactivate", judgment.file) if active is None and judgment.file else Move("keep")
    return _create(active, judgment) if fresh else Move("keep")


def slug(text: str) -> str:
    """A label: lower case letters, digits and hyphens, at most 30; ``task`` where nothing is left."""
    return _NOT_SLUG.sub("-", text.lower()).strip("-")[:LABEL].strip("-") or "task"


def file_parts(file: str) -> tuple[int, str]:
    """Number and label of a canvas file. Raises ``CanvasError`` for another name, so no path leaves the folder."""
    found = _CANVAS_FILE.fullmatch(file)
    if not found:
        raise CanvasError(f"{file!r} is no canvas file: expected NNN-label.mmd")
    return int(found[1]), found[2]


def decide(
    judge: Judge, situation: Situation, sleep: Callable[[float], None], warn: Callable[[str], None]
) -> Judgment | None:
    """Ask a judge, twice if need be. None when it failed both times: the caller has no canvas then."""
    try:
        return judge.judge(situation)
    except ModelError as error:
        warn(f"task judge {judge.name} failed, one more try in {RETRY:g} s: {error}")
    sleep(RETRY)
    try:
        return judge.judge(situation)
    except ModelError as error:
        warn(f"task judge {judge.name} failed again, the task goes without a canvas: {error}")
        return None


@dataclass(frozen=True, slots=True)
class Task:
    """One stretch of a session. ``canvas`` is its file, or None for a short task; entries carry ``id``."""

    id: str
    canvas: str | None
    request: str = ""
    time: float = 0.0


class Tasks:
    """The tasks of one session in order; the last is the present one. Every one is on disk before it is seen here."""

    def __init__(self, folder: Path, durable: bool = True) -> None:
        self._journal = Journal(folder / FILE, durable)
        self._tasks: list[Task] = []
        self._by_id: dict[str, Task] = {}
        for number, row in enumerate(self._journal.rows, 1):
            try:
                self._add(Task(**row))  # a later row about the same task takes its place
            except TypeError as error:
                raise EvidenceCorrupt(f"{folder / FILE}: line {number} is no task ({error})") from error
        self._journal.rows.clear()

    @property
    def present(self) -> Task | None:
        """The task at hand; None before the first."""
        return self._tasks[-1] if self._tasks else None

    def begin(self, canvas: str | None, request: str, time: float) -> Task:
        """A new stretch. Raises ``EvidenceWriteFailed``."""
        task = Task(f"t{len(self._tasks) + 1}", canvas, request[:200], time)
        self._journal.append(asdict(task))
        self._add(task)
        return task

    def canvas_of(self, task_id: str | None) -> str | None:
        """The canvas of a task by id; None for a short or an unknown one."""
        task = self._by_id.get(task_id or "")
        return None if task is None else task.canvas

    def give_canvas(self, task_id: str, canvas: str) -> None:
        """A short task gets a canvas after all. Raises ``EvidenceWriteFailed``."""
        task = replace(self._by_id[task_id], canvas=canvas)
        self._journal.append(asdict(task))
        self._add(task)

    def _add(self, task: Task) -> None:
        old = self._by_id.get(task.id)
        if old is None:
            self._tasks.append(task)
        else:
            self._tasks[self._tasks.index(old)] = task
        self._by_id[task.id] = task

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def _create(active: str | None, judgment: Judgment) -> Move:
    label = slug(judgment.label or "")
    if active is not None and file_parts(active)[1] == label:
        return Move("keep")
    return Move("create", label)
