"""What is old goes; what a canvas still cites stays, and so does everything of a session that is in use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentmem.errors import CanvasError, EvidenceError, SessionLocked
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.entries import FILE as ENTRIES
from agentmem.offload.entries import Entries
from agentmem.offload.evidence import FOLDER as REFS
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.lock import SessionLock

DAY = 86_400.0
LEAST_DAYS = 3  # shorter times mean: keep everything
CANVASES = 15  # canvases that stay whatever their age


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep removed and what it had to leave alone."""

    refs: int = 0
    canvases: int = 0
    parts: int = 0
    busy: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


def sessions(root: Path) -> Iterator[Path]:
    """Every session folder below a root, by name."""
    folders = {path.parent for pattern in (ENTRIES, REFS) for path in root.rglob(pattern)}
    yield from sorted(folders)


def sweep(root: Path, days: float, now: float, keep: int = CANVASES) -> Swept:
    """Remove what was last touched more than ``days`` ago (``now`` in seconds).

    Canvases go oldest first, but ``keep`` of them and those of sessions in use stay. Evidence goes when it is old and
    no canvas that is left cites it. With fewer than three days nothing is done.
    """
    if days < LEAST_DAYS:
        return Swept()
    cutoff = now - days * DAY
    refs = parts = 0
    busy: list[str] = []
    damaged: list[str] = []
    held: list[tuple[Path, SessionLock]] = []
    try:
        for folder in sessions(root):
            try:
                held.append((folder, SessionLock(folder)))
            except SessionLocked:
                busy.append(folder.name)
        canvases = _old_canvases([folder for folder, _ in held], root, cutoff, keep)
        for path in canvases:
            path.unlink(missing_ok=True)
        for folder, _ in held:
            parts += _remove_parts(folder, now - DAY)
            try:
                refs += _remove_evidence(folder, cutoff)
            except EvidenceError:
                damaged.append(folder.name)  # an index that cannot be read cites everything
    finally:
        for _, lock in held:
            lock.release()
    return Swept(refs, len(canvases), parts, tuple(busy), tuple(damaged))


def _old_canvases(folders: list[Path], root: Path, cutoff: float, keep: int) -> list[Path]:
    """Canvases to remove: old ones of sessions not in use, as long as ``keep`` stay under the root."""
    every = [path for folder in sessions(root) for path in _canvas_paths(folder)]
    free = {path for folder in folders for path in _canvas_paths(folder)}
    old = sorted((path.stat().st_mtime, str(path), path) for path in every)
    spare = max(0, len(old) - keep)
    return [path for time, _, path in old[:spare] if time < cutoff and path in free]


def _canvas_paths(folder: Path) -> list[Path]:
    files = CanvasFiles(folder)
    return [files.folder / name for name in files.names()]


def _remove_evidence(folder: Path, cutoff: float) -> int:
    store = EvidenceStore(folder)
    cited = _cited(folder)
    removed = 0
    for ref in store.refs():
        if ref not in cited and store.path(ref).stat().st_mtime < cutoff:
            store.forget(ref)
            removed += 1
    return removed


def _cited(folder: Path) -> set[str]:
    """Refs of entries whose node stands on a canvas that is left."""
    files = CanvasFiles(folder)
    nodes: set[str] = set()
    for name in files.names():
        with contextlib.suppress(CanvasError):
            nodes.update(node.id for node in files.read(name).nodes)
            continue
        prefix = name[:3]  # a damaged canvas may cite any of its nodes
        nodes.add(prefix)
    entries = Entries(folder)
    try:
        return {
            entry.result_ref
            for entry in entries
            if entry.result_ref and entry.node_id and (entry.node_id in nodes or entry.node_id[:3] in nodes)
        }
    finally:
        entries.close()


def _remove_parts(folder: Path, cutoff: float) -> int:
    """Half-written files that a crash left behind."""
    removed = 0
    for path in folder.rglob(".*.part"):
        if path.stat().st_mtime < cutoff:
            path.unlink(missing_ok=True)
            removed += 1
    return removed
