"""Our policy: what leaves the prompt, when, and what stays in its place. Nothing leaves it before it is on disk.

A finished task leaves as one line. Within a task, results and commands that are no longer among the newest are
replaced by an extract with a pointer, many at once, so that the prefix of the prompt stays the same in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.history import TaskHistory
from agentmem.offload.shorten import shorten_call, shorten_result
from agentmem.settings.shortterm import ShortTermSettings
from agentmem.tokens import Counter


class ShortTerm:
    """Short-term memory of one session."""

    def __init__(
        self, settings: ShortTermSettings, folder: Path, counter: Counter, window: int, durable: bool = True
    ) -> None:
        self.settings = settings
        self.store = EvidenceStore(folder, durable)
        self._counter = counter
        self._window = window
        self._extractive = Extractive(counter, settings.extract)
        self._history = TaskHistory(self.store, counter, settings.line, settings.history)
        self._system: Message | None = None
        self._task: list[Message] = []
        self._shorter: dict[int, Message | None] = {}
        self._refs: dict[int, str] = {}
        self._done = 0  # messages of the task in front of this index have been looked at

    def begin_task(self, task: str) -> None:
        """The task so far is finished; what comes next belongs to ``task``."""
        if self._task and self.settings.leave_tasks:
            self._history.add(self._task, self._refs)
            self._task, self._shorter, self._refs, self._done = [], {}, {}, 0
        self._history.begin(task)

    def observe(self, message: Message) -> None:
        """Take in a message; a tool result is written to disk before anything else."""
        if message.role == "system" and self._system is None:
            self._system = message
            return
        if message.is_result:
            try:
                self._refs[id(message)] = self.store.put(message.content)
            except EvidenceWriteFailed:
                self._shorter[id(message)] = None  # it stays in the prompt
        self._task.append(message)

    def assemble(self) -> list[Message]:
        """The prompt."""
        self._compress()
        front = [self._system] if self._system else []
        return [*front, *self._history.block(), *self._task]

    def _compress(self) -> None:
        candidates = self._candidates()
        saving = 0
        planned: list[tuple[int, Message]] = []
        for index in candidates:
            message = self._task[index]
            shorter = self._shorten(message)
            if shorter is not None:
                planned.append((index, shorter))
                saving += self._counter.message(message) - self._counter.message(shorter)
        if planned and saving >= self.settings.batch:
            for index, shorter in planned:
                self._task[index] = shorter

    def _candidates(self) -> list[int]:
        results = [i for i, m in enumerate(self._task) if m.is_result]
        calls = [i for i, m in enumerate(self._task) if m.role == "assistant"]
        old = results[: -self.settings.keep_results]
        if self.settings.command:
            old += calls[: -self.settings.keep_calls]
        return sorted(old)

    def _shorten(self, message: Message) -> Message | None:
        key = id(message)
        if key in self._shorter:
            return self._shorter[key]
        if message.refs:
            return None
        if message.is_result:
            ref = self._refs.get(key)
            short = shorten_result(message, ref, self._extractive, self.settings.result, self._counter) if ref else None
        else:
            short = shorten_call(message, self.store, self.settings.command, self._counter)
        self._shorter[key] = short
        return short
