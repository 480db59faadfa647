"""Puts summarised results on the canvas of their task: when, in what batches, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from agentmem.errors import CanvasError, ModelError
from agentmem.offload.boundaries import Tasks, file_parts
from agentmem.offload.canvas import Canvas, parse
from agentmem.offload.canvas_build import CanvasBuilder, Deed
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.canvas_rules import RulesBuilder
from agentmem.offload.entries import Entries, Entry
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.intents import is_failure
from agentmem.offload.shapes import unwrap

THRESHOLD = 4  # eligible entries that trigger a run
OLD = 300.0  # seconds after which fewer do
RETRY = 120.0  # seconds before an entry whose run failed is tried again
BATCH = 30  # entries of one run


class Mapping:
    """Maps the entries of one session. Only entries of a task with a canvas are eligible; without any, nothing runs."""

    def __init__(
        self,
        entries: Entries,
        tasks: Tasks,
        files: CanvasFiles,
        store: EvidenceStore,
        builder: CanvasBuilder,
        warn: Callable[[str], None],
    ) -> None:
        self._entries = entries
        self._tasks = tasks
        self._files = files
        self._store = store
        self._builder = builder
        self._warn = warn
        self._failed: dict[str, float] = {}  # key -> when its run failed
        self._canvases: dict[str, Canvas] = {}  # as they are on disk
        self.moves = 0  # how often nodes were merged, so that entries changed theirs

    def eligible(self, now: float) -> list[Entry]:
        """Entries that may be mapped now, oldest first."""
        return [
            entry
            for entry in self._entries.unmapped.values()
            if self._tasks.canvas_of(entry.task) is not None and now - self._failed.get(entry.key, -RETRY) >= RETRY
        ]

    def due(self, now: float) -> bool:
        """True when enough entries wait, or one has waited long, or one is to be tried again."""
        if not self._entries.unmapped:
            return False
        waiting = self.eligible(now)
        return len(waiting) >= THRESHOLD or any(
            now - entry.timestamp >= OLD or entry.key in self._failed for entry in waiting
        )

    def run(self, now: float, builder: CanvasBuilder | None = None) -> None:
        """Map everything that is eligible, canvas by canvas. What fails waits ``RETRY`` seconds.

        ``builder`` takes the place of the usual one for this run. Raises ``EvidenceWriteFailed``.
        """
        by_canvas: dict[str, list[Entry]] = {}
        for entry in self.eligible(now):
            by_canvas.setdefault(self._tasks.canvas_of(entry.task) or "", []).append(entry)
        for file, entries in by_canvas.items():
            for start in range(0, len(entries), BATCH):
                self._batch(file, entries[start : start + BATCH], now, builder or self._builder)

    def at_once(self, now: float) -> None:
        """Map everything by rules, whatever failed before: something is about to be deleted."""
        self._failed.clear()
        self.run(now, RulesBuilder())

    def canvas(self, file: str) -> Canvas:
        """A canvas by file. A damaged one is set aside and drawn anew from its entries, by rules."""
        known = self._canvases.get(file)
        if known is None:
            known = self._canvases[file] = self._opened(file)
        return known

    def write(self, canvas: Canvas) -> None:
        """Put a canvas on disk. Raises ``EvidenceWriteFailed``."""
        self._files.write(canvas)
        # as it will be read after a restart, so that what is shown of it stays the same
        self._canvases[canvas.file] = parse(canvas.text(), canvas.number, canvas.label)

    def _opened(self, file: str) -> Canvas:
        try:
            return self._files.read(file)
        except CanvasError as error:
            if not (self._files.folder / file).exists():
                number, label = file_parts(file)
                return Canvas(number, label)
            aside = self._files.set_aside(file)
            self._warn(f"{error}; it is kept as {aside.name} and drawn anew")
        number, label = file_parts(file)
        entries = [e for e in self._entries if e.summary is not None and self._tasks.canvas_of(e.task) == file]
        canvas = Canvas(number, label)
        if entries:
            self._place(RulesBuilder(), canvas, entries)
            return self._canvases[file]
        self._files.write(canvas)
        return canvas

    def _batch(self, file: str, entries: Sequence[Entry], now: float, builder: CanvasBuilder) -> None:
        try:
            self._place(builder, self.canvas(file), entries)
        except (ModelError, CanvasError) as error:
            self._failed.update((entry.key, now) for entry in entries)
            self._warn(f"canvas {file}: {len(entries)} tool calls wait, {builder.name} failed: {error}")

    def _place(self, builder: CanvasBuilder, canvas: Canvas, entries: Sequence[Entry]) -> None:
        update = builder.update(canvas, [self._deed(entry) for entry in entries])
        self.write(update.canvas)  # the node is there before an entry names it
        changes = {key: {"node_id": node} for key, node in update.mapping.items()}
        self.moves += bool(update.moved)
        for entry in self._entries if update.moved else ():
            moved = update.moved.get(entry.node_id or "")
            if moved and entry.key not in changes:
                changes[entry.key] = {"node_id": moved}
        self._entries.change(changes)
        for entry in entries:
            self._failed.pop(entry.key, None)

    def _deed(self, entry: Entry) -> Deed:
        ref = entry.result_ref or ""
        text = self._store.get(ref) if ref in self._store else ""
        failed = is_failure(unwrap(text), entry.is_error)
        return Deed(entry.key, entry.tool_call, first_line(entry.summary or ""), failed, stamp(entry.timestamp))


def stamp(timestamp: float) -> str:
    """A time as canvases write it: UTC, to the second."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def first_line(summary: str) -> str:
    """The line of a summary that says most: the one behind the line of counts, if there is one."""
    lines = [line for line in summary.split("\n") if line.strip() and not line.startswith("also: ")]
    return lines[1] if len(lines) > 1 and lines[0].endswith("lines") else lines[0] if lines else ""
