"""Our policy: what leaves the prompt, when, and what stays in its place. Nothing leaves it before it is on disk.

A finished task leaves as one line. Within a task, results and commands that are no longer among the newest are
replaced by an extract with a pointer, many at once, so that the prefix of the prompt stays the same in between.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.fold import Folded, Step
from agentmem.offload.history import TaskHistory
from agentmem.offload.identifiers import identifiers
from agentmem.offload.shorten import shorten_call, shorten_result
from agentmem.settings.shortterm import ShortTermSettings
from agentmem.tokens import Counter

CANVAS_SHARE = 0.2  # of the window: what folded steps may take at most


@dataclass(eq=False, slots=True)
class Item:
    """One message of the task: as it came, as it is shown, its short form, and where its whole text lies on disk."""

    whole: Message
    shown: Message
    short: Message | None = None
    ref: str | None = None


class ShortTerm:
    """Short-term memory of one session. ``folder`` is its own; ``window`` is in tokens."""

    def __init__(
        self, settings: ShortTermSettings, folder: Path, counter: Counter, window: int, durable: bool = True
    ) -> None:
        self.settings = settings
        self.store = EvidenceStore(folder, durable)
        self._counter = counter
        self._window = window
        self._extractive = Extractive(counter, settings.extract, settings.names)
        self._history = TaskHistory(self.store, counter, settings.line, settings.history)
        self._system: list[Message] = []
        self._number = 0
        self._start()

    def begin_task(self, task: str) -> None:
        """The task so far is finished; what comes next belongs to ``task``."""
        if self._items and self.settings.leave_tasks:
            self._history.add([item.whole for item in self._items], [item.ref for item in self._items])
            self._number += 1
            self._start()
        self._history.begin(task)

    def observe(self, message: Message) -> None:
        """Take in a message; a tool result is written to disk before anything else."""
        if message.role == "system" and not self._system:
            self._system = [message]
            return
        item = Item(message, message)
        self._items.append(item)
        self._tokens += self._counter.message(message)
        if message.is_request:
            self._asked += self._counter.message(message)
            self._names.update(identifiers(message.content))
        if message.is_result:
            try:
                item.ref = self.store.put(message.content)
            except EvidenceWriteFailed:
                return  # it stays in the prompt
            self._age(self._new_results, item, self.settings.keep_results)
        elif message.role == "assistant" and self.settings.command:
            self._age(self._new_calls, item, self.settings.keep_calls)

    def assemble(self) -> list[Message]:
        """The prompt."""
        if self._old and self._saving >= self.settings.batch:
            self._show_short()
        front = [*self._system, *self._history.block()]
        room = min(self.settings.task, self.settings.fill * self._window - self._counter.total(front))
        if self._tokens - self._asked > room:
            self._make_room(room * self.settings.low + self._asked)
        return [*front, *(item.shown for item in self._items)]

    def _start(self) -> None:
        """A task with nothing in it."""
        settings = self.settings
        canvas = min(settings.canvas, int(CANVAS_SHARE * self._window))
        self._folded = Folded(self._number + 1, self.store, self._counter, canvas, settings.canvas_line)
        self._items: list[Item] = []
        self._tokens = 0
        self._asked = 0  # the part of it that requests take
        self._new_results: deque[Item] = deque()
        self._new_calls: deque[Item] = deque()
        self._old: list[Item] = []  # what has a short form that is not shown yet, oldest first
        self._saving = 0  # tokens that showing it would save
        self._names: set[str] = set()  # identifiers that stay visible: an extract need not repeat them

    def _age(self, newest: deque[Item], item: Item, keep: int) -> None:
        newest.append(item)
        if len(newest) > keep:
            self._shorten(newest.popleft())

    def _shorten(self, item: Item) -> None:
        """Make the short form now, one message at a time, so that no single call has to wait for many."""
        if item.whole.is_result and item.ref:
            item.short = shorten_result(
                item.whole, item.ref, self._extractive, self.settings.result, self._counter, self._names
            )
        elif not item.whole.is_result:
            item.short = shorten_call(item.whole, self.store, self.settings.command, self._counter)
        if item.short is not None:
            self._names.update(identifiers(item.short.content))
            self._old.append(item)
            self._saving += self._counter.message(item.whole) - self._counter.message(item.short)

    def _show_short(self) -> None:
        """Replace everything that is old by its short form, all at once."""
        for item in self._old:
            if item.short is not None:
                self._tokens += self._counter.message(item.short) - self._counter.message(item.shown)
                item.shown = item.short
        self._old.clear()
        self._saving = 0

    def _make_room(self, target: float) -> None:
        """The task is too large: shorten what can be, then fold its oldest steps, down to ``target``."""
        if self._tokens > self.settings.fill * self._window:
            for item in (*self._new_results, *self._new_calls):
                self._shorten(item)
            self._new_results.clear()
            self._new_calls.clear()
        self._show_short()
        if self._tokens > target:
            self._fold(target)

    def _fold(self, target: float) -> None:
        requests = [item for item in self._items if item.whole.is_request]
        cut = self._leading(self._tokens - target)
        gone = [item for item in self._items[:cut] if not item.whole.is_request and item.whole.kind != "canvas"]
        steps = _steps(gone)
        if not steps:
            return
        try:
            block = self._folded.fold(steps)
        except EvidenceWriteFailed:
            return
        stay = [item for item in requests if item in self._items[:cut]][-1:]
        self._items[:cut] = [*stay, Item(block, block)]
        self._tokens = self._counter.total(item.shown for item in self._items)

    def _leading(self, excess: float) -> int:
        """How many of the oldest items, in whole steps, hold ``excess`` tokens; the newest steps always stay."""
        starts = [i for i, item in enumerate(self._items) if not item.whole.is_result]
        newest = {id(item) for item in (*self._new_results, *self._new_calls)}
        total = 0
        cut = 0
        for start, stop in pairwise(starts):
            step = self._items[start:stop]
            if total >= excess or any(id(item) in newest or not _may_leave(item) for item in step):
                break
            total += self._counter.total(item.shown for item in step if not item.whole.is_request)
            cut = stop
        return cut


def _may_leave(item: Item) -> bool:
    return item.ref is not None or not item.whole.is_result


def _steps(items: list[Item]) -> list[Step]:
    """Items as whole steps: each message of the model with the results behind it."""
    grouped: list[list[Item]] = []
    for item in items:
        if item.whole.is_result and grouped:
            grouped[-1].append(item)
        else:
            grouped.append([item])
    return [
        Step(tuple(i.whole for i in group), tuple(i.shown for i in group), tuple(i.ref for i in group if i.ref))
        for group in grouped
    ]
