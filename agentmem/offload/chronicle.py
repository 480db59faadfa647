"""The record of a session beside its prompts: an entry for every tool result, a Mermaid canvas for every task.

It is what `trace` and drill-down by node read. Nothing in a prompt depends on it: where the disk refuses, it warns once
and goes on, and the results stay in the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agentmem.errors import CanvasError, EvidenceWriteFailed
from agentmem.messages import Message
from agentmem.offload.boundaries import file_parts, slug
from agentmem.offload.canvas import Canvas
from agentmem.offload.canvas_build import Deed
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.canvas_rules import RulesBuilder, close
from agentmem.offload.entries import Entries, Entry
from agentmem.offload.intents import is_failure
from agentmem.offload.mapping import first_line, stamp
from agentmem.offload.shapes import unwrap
from agentmem.offload.summaries import short_call

GOAL = 200  # characters of a request that a canvas is named after
PLAIN = 150  # characters of a result that needed no extract


class Chronicle:
    """Entries and canvases of one session, written as the session goes on."""

    def __init__(self, folder: Path, clock: Callable[[], float], durable: bool, warn: Callable[[str], None]) -> None:
        self.entries = Entries(folder, durable)
        self._before: Iterator[Entry] = iter(list(self.entries))  # recorded by an earlier process, oldest first
        self._known = next(self._before, None)
        self._files = CanvasFiles(folder, durable)
        self._clock = clock
        self._warn = warn
        self._warned = False
        self._builder = RulesBuilder()
        self._goal = ""
        self._number: int | None = None  # of the canvas that an earlier process gave this task
        self._start("task")

    def begin(self, task: str) -> None:
        """A task begins; the canvas of the one before is closed."""
        if self._waiting or self._canvas is not None:
            self._guarded(lambda: self._place(finished=True))
        self._start(task)

    def asked(self, text: str) -> None:
        """What the task is about, in the words of its first request."""
        self._goal = self._goal or " ".join(text.split())[:GOAL]

    def arrive(self, message: Message, call: str, ref: str, tokens: int) -> str | None:
        """Record a result that has just been stored; its key, or None where the disk refused.

        After a restart the host gives its history again: what was recorded then is not recorded twice.
        """
        entry = self._known if self._known is not None and self._known.result_ref == ref else None
        if entry is not None:
            self._known = next(self._before, None)
            self._number = int(entry.node_id[:3]) if entry.node_id else self._number
        else:
            entry = self._record(message, call, ref, tokens)
        if entry is None:
            return None
        failed = is_failure(unwrap(message.content), message.is_error)
        text = " ".join(message.content.split())[:PLAIN]
        self._waiting[entry.key] = Deed(entry.key, entry.tool_call, text, failed, stamp(entry.timestamp))
        return entry.key

    def summarised(self, summaries: Mapping[str, tuple[str, float]]) -> None:
        """Record extracts and their scores by key."""
        for key, (text, _) in summaries.items():
            if key in self._waiting:
                deed = self._waiting[key]
                self._waiting[key] = Deed(key, deed.call, first_line(text), deed.failed, deed.time)
        changes = {key: {"summary": text, "score": score} for key, (text, score) in summaries.items()}
        if changes:
            self._guarded(lambda: self.entries.change(changes))

    def place(self) -> None:
        """Put every result that has no node yet on the canvas of the task."""
        if self._waiting:
            self._guarded(self._place)

    def node(self, key: str | None) -> str:
        """The node of an entry, or an empty text."""
        if key is None or key not in self.entries:
            return ""
        return self.entries[key].node_id or ""

    def close(self) -> None:
        """Write what is open and close the journal."""
        self.begin("")
        self.entries.close()

    def _start(self, task: str) -> None:
        self._task = task
        self._goal = ""
        self._canvas: Canvas | None = None
        self._number = None
        self._waiting: dict[str, Deed] = {}

    def _record(self, message: Message, call: str, ref: str, tokens: int) -> Entry | None:
        made: list[Entry] = []
        self._guarded(
            lambda: made.append(
                self.entries.arrive(
                    message.tool_call_id,
                    short_call(call),
                    ref,
                    self._clock(),
                    task=self._task,
                    tokens=tokens,
                    is_error=message.is_error,
                )
            )
        )
        return made[0] if made else None

    def _open_canvas(self) -> Canvas:
        """A new canvas; after a restart the one the task had, empty, so that the same calls make the same nodes."""
        file = next((name for name in self._files.names() if file_parts(name)[0] == self._number), None)
        if file is None:
            return self._files.create(slug(self._task), self._goal or self._task, stamp(self._clock()))
        return replace(self._files.read(file), nodes=())

    def _place(self, finished: bool = False) -> None:
        if self._canvas is None:
            self._canvas = self._open_canvas()
        update = self._builder.update(self._canvas, list(self._waiting.values()))
        # the node is there before an entry names it
        self._write(close(update.canvas, finished=True) if finished else update.canvas)
        changes = {key: {"node_id": node} for key, node in update.mapping.items()}
        for entry in self.entries if update.moved else ():
            moved = update.moved.get(entry.node_id or "")
            if moved and entry.key not in changes:
                changes[entry.key] = {"node_id": moved}
        self.entries.change(changes)
        self._waiting.clear()

    def _write(self, canvas: Canvas) -> None:
        self._files.write(canvas)
        self._canvas = canvas

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (EvidenceWriteFailed, CanvasError) as error:
            if not self._warned:
                self._warned = True
                self._warn(f"the record of the session could not be written; the prompts do not depend on it: {error}")
