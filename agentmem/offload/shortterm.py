"""Our policy: what leaves the prompt, when, and what stays in its place. Nothing leaves it before it is on disk.

A finished task leaves as one line. Within a task, results and commands that are no longer among the newest are
replaced by an extract with a pointer, many at once, so that the prefix of the prompt stays the same in between.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message, ToolCall
from agentmem.offload.boundaries import Situation, transition
from agentmem.offload.chronicle import Chronicle
from agentmem.offload.drilldown import DrillDown
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.fold import Folded, Step, last_block, said
from agentmem.offload.history import TaskHistory
from agentmem.offload.identifiers import identifiers
from agentmem.offload.judges import Heuristic
from agentmem.offload.lock import SessionLock
from agentmem.offload.shorten import shorten_call, shorten_result
from agentmem.settings.shortterm import ShortTermSettings
from agentmem.tokens import Counter

log = logging.getLogger("agentmem.offload")
PRESENT = "001-present.mmd"  # what a judge is told of the task at hand; its label is no canvas of ours
CANVAS_SHARE = 0.2  # of the window: what folded steps may take at most


@dataclass(eq=False, slots=True)
class Item:
    """One message of the task: as it came, as it is shown, its short form with the score of its extract, and where its
    whole text lies on disk."""

    whole: Message
    shown: Message
    short: Message | None = None
    score: float = 0.0
    ref: str | None = None
    key: str | None = None  # of its entry in the record


class ShortTerm:
    """Short-term memory of one session. ``folder`` is its own; ``window`` is in tokens."""

    def __init__(
        self,
        settings: ShortTermSettings,
        folder: Path,
        counter: Counter,
        window: int,
        *,
        clock: Callable[[], float] = time.time,
        durable: bool = True,
        warn: Callable[[str], None] = log.warning,
    ) -> None:
        self.settings = settings
        self._lock = SessionLock(folder)
        self._warn = warn
        self.store = EvidenceStore(folder, durable)
        self.chronicle = Chronicle(folder, clock, durable, warn)
        self._counter = counter
        self._window = window
        self._extractive = Extractive(counter, settings.extract, settings.names)
        self._history = TaskHistory(self.store, counter, settings.line, settings.history)
        self._system: list[Message] = []
        self._refused = False
        self._drill = DrillDown(self.store, counter, self.chronicle.entries)
        self._start()

    def begin_task(self, task: str) -> None:
        """The task so far is finished; what comes next belongs to ``task``."""
        if self._items and self.settings.leave_tasks:
            self._history.add([item.whole for item in self._items], [item.ref for item in self._items])
            self._start()
        self.chronicle.begin(task)
        self._history.begin(task)

    def observe(self, message: Message) -> None:
        """Take in a message; a tool result is written to disk before anything else."""
        if message.role == "system" and not self._system:
            self._system = [message]
            return
        if message.is_request and self.settings.boundaries == "judged":
            self._judge_request(message.content)
        item = Item(message, message)
        self._items.append(item)
        self._tokens += self._counter.message(message)
        if message.is_request:
            self._asked += self._counter.message(message)
            self._names.update(identifiers(message.content))
            self.chronicle.asked(message.content)
        if message.is_result:
            if not self._keep(item):
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

    def narrow(self, window: int) -> None:
        """From now on the window has this size, in tokens."""
        self._window = window

    def call(self, call: ToolCall) -> str:
        """Run the drill-down tool: a node, a tool call or a ref, with line range, pattern and token limit."""
        return self._drill.call(call)

    def close(self) -> None:
        """Write what is open, close files, give the lock back."""
        self.chronicle.close()
        self._lock.release()

    def _judge_request(self, text: str) -> None:
        """Begin a task where a request opens one."""
        asked = [item.whole.content for item in self._items if item.whole.is_request]
        present = Situation(text, active=PRESENT if asked else None, active_text="\n".join(asked))
        move = transition(present.active, Heuristic().judge(present))
        if move.kind == "create":
            self.begin_task(move.target)

    def _keep(self, item: Item) -> bool:
        """Write a result to disk and record it; False where the disk refuses."""
        message = item.whole
        try:
            item.ref = self.store.put(message.content)
        except EvidenceWriteFailed as error:
            if not self._refused:
                self._refused = True
                self._warn(f"results stay in the prompt: {error}")
            return False
        item.key = self.chronicle.arrive(message, self._call_of(item), item.ref, self._counter.message(message))
        return True

    def _call_of(self, item: Item) -> str:
        """The call that a result answers, as text."""
        for other in reversed(self._items):
            if other.whole.role == "assistant":
                calls = {call.id: call.values() for call in other.whole.tool_calls}
                return calls.get(item.whole.tool_call_id or "") or last_block(other.whole.content)
        return ""

    def _start(self) -> None:
        """A task with nothing in it."""
        settings = self.settings
        canvas = min(settings.canvas, int(CANVAS_SHARE * self._window))
        self._folded = Folded(self.store, self._counter, canvas, settings.canvas_line)
        self._items: list[Item] = []
        self._tokens = 0
        self._asked = 0  # the part of it that requests take
        self._new_results: deque[Item] = deque()
        self._new_calls: deque[Item] = deque()
        self._old: list[Item] = []  # what is no longer among the newest and still shown whole, oldest first
        self._saving = 0  # tokens that short forms of it would save, about
        self._names: set[str] = set()  # identifiers that stay visible: an extract need not repeat them

    def _age(self, newest: deque[Item], item: Item, keep: int) -> None:
        newest.append(item)
        if len(newest) > keep:
            self._leave(newest.popleft())

    def _leave(self, item: Item) -> None:
        """It is no longer among the newest. An extract is only made when it is shown: many tasks end before."""
        size = self._counter.message(item.whole)
        if item.whole.is_result:
            saving = size - self.settings.extract if item.ref and size > self.settings.result else 0
        else:
            item.short = shorten_call(item.whole, self.store, self.settings.command, self._counter)
            saving = size - self._counter.message(item.short) if item.short else 0
        if saving > 0:
            self._old.append(item)
            self._saving += saving

    def _show_short(self) -> None:
        """Replace everything that is old by its short form, all at once."""
        for item in self._old:
            if item.whole.is_result and item.ref:
                self._extract(item, item.ref)
            if item.short is not None:
                self._names.update(identifiers(item.short.content))
                self._tokens += self._counter.message(item.short) - self._counter.message(item.shown)
                item.shown = item.short
        self.chronicle.summarised({i.key: (said(i.short), i.score) for i in self._old if i.key and i.short})
        self._old.clear()
        self._saving = 0

    def _extract(self, item: Item, ref: str) -> None:
        """Make the short form of a result, where one is shorter."""
        made = shorten_result(item.whole, ref, self._extractive, self.settings.result, self._counter, self._names)
        if made is not None:
            item.short, item.score = made

    def _make_room(self, target: float) -> None:
        """The task is too large: shorten what can be, then fold its oldest steps, down to ``target``."""
        if self._tokens > self.settings.fill * self._window:
            for item in (*self._new_results, *self._new_calls):
                self._leave(item)
            self._new_results.clear()
            self._new_calls.clear()
        self._show_short()
        if self._tokens > target:
            self._fold(target)

    def _fold(self, target: float) -> None:
        requests = [item for item in self._items if item.whole.is_request]
        cut = self._leading(self._tokens - target)
        gone = [item for item in self._items[:cut] if not item.whole.is_request and item.whole.kind != "canvas"]
        self.chronicle.place()
        steps = self._steps(gone)
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

    def _steps(self, items: list[Item]) -> list[Step]:
        """Items as whole steps: each message of the model with the results behind it."""
        grouped: list[list[Item]] = []
        for item in items:
            if item.whole.is_result and grouped:
                grouped[-1].append(item)
            else:
                grouped.append([item])
        return [
            Step(
                tuple(item.whole for item in group),
                tuple(item.shown for item in group),
                tuple(item.ref for item in group if item.ref),
                next(filter(None, (self.chronicle.node(item.key) for item in group)), ""),
            )
            for group in grouped
        ]


def _may_leave(item: Item) -> bool:
    return item.ref is not None or not item.whole.is_result
