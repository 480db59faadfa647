"""A session's folder read without opening it for writing: from a canvas to entries to evidence, and back, as text."""

from __future__ import annotations

from pathlib import Path

from agentmem.errors import CanvasError, EvidenceError
from agentmem.offload.boundaries import file_parts
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.entries import Entry, read_entries
from agentmem.offload.evidence import EvidenceStore


class Trail:
    """One session as it lies on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = read_entries(folder)
        self._files = CanvasFiles(folder)
        self._store = EvidenceStore(folder)

    def names(self) -> list[str]:
        """Everything that can be followed: canvas files, node ids, keys of entries, refs."""
        nodes = {entry.node_id for entry in self._entries if entry.node_id}
        keys = {entry.key for entry in self._entries}
        return sorted({*self._files.names(), *nodes, *keys, *self._store.refs()})

    def follow(self, name: str, limit: int) -> str | None:
        """What a name leads to, with at most ``limit`` lines of a stored result; None when it is not known here."""
        if name in self._files.names():
            return self._canvas(name)
        entries = [entry for entry in self._entries if name in (entry.node_id, entry.key, entry.tool_call_id)]
        if not entries and name in self._store:
            entries = [entry for entry in self._entries if entry.result_ref == name]
            if not entries:
                return "\n".join([f"{name}: a record without an entry", *self._head(name, limit)])
        if not entries:
            return None
        several = len(entries) > 1
        return "\n".join(line for entry in entries for line in self._entry(entry, 0 if several else limit))

    def _canvas(self, name: str) -> str:
        try:
            canvas = self._files.read(name)
        except CanvasError as error:
            return f"{self.folder.name}/{name}: damaged: {error}"
        lines = [f"{self.folder.name}/{name}: {canvas.goal or canvas.label}"]
        for node in canvas.nodes:
            lines.append(f"  {node.id} [{node.status}] {node.title}")
            lines += [
                f"    {entry.key} -> {entry.result_ref or '(not stored)'}  {entry.tool_call}"
                for entry in self._entries
                if entry.node_id == node.id
            ]
        return "\n".join(lines)

    def _entry(self, entry: Entry, limit: int) -> list[str]:
        canvas = self._canvas_of(entry)
        node, ref = entry.node_id or "(none yet)", entry.result_ref or "(none)"
        state = "waits" if entry.summary is None else "degraded" if entry.degraded else f"score {entry.score:g}"
        lines = [
            f"{entry.key}: {entry.tool_call}",
            f"  canvas {canvas or '(none)'}, node {node}, evidence {ref}",
            f"  summary ({state}):",
        ]
        lines += [f"    {line}" for line in (entry.summary or "").split("\n") if line]
        if limit and entry.result_ref:
            lines += self._head(entry.result_ref, limit)
        return lines

    def _canvas_of(self, entry: Entry) -> str | None:
        if entry.node_id is None:
            return None
        number = int(entry.node_id[:3])
        return next((name for name in self._files.names() if file_parts(name)[0] == number), None)

    def _head(self, ref: str, limit: int) -> list[str]:
        try:
            rows = self._store.get(ref).split("\n")
        except EvidenceError as error:
            return [f"  {error}"]
        more = [f"    ... {len(rows) - limit} more lines: show {ref}"] if len(rows) > limit else []
        return [f"  {ref}, {len(rows)} lines:", *(f"    {row}" for row in rows[:limit]), *more]


def overview(folder: Path) -> str:
    """One session in a few lines."""
    trail = Trail(folder)
    entries = trail._entries
    mapped = sum(entry.node_id is not None for entry in entries)
    files = trail._files.names()
    return "\n".join(
        [
            f"{folder}: {len(entries)} tool calls ({mapped} on a canvas), {len(trail._store.refs())} stored texts",
            *(f"  {name}" for name in files),
        ]
    )
