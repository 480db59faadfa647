"""JSONL files beside the rows: one a local day for turns, one for atoms, each an event log in the order of writing.

The rows are the truth and the files follow them: what a crash left out is added at the next write, half a line at the
end of a file is cut off first, and no line is written twice. A line is ``{"event": ..., "seq": ..., ...}``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import tzinfo
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from agentmem.longterm.clock import iso, local_day
from agentmem.longterm.keys import state_key
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope, Turn

PAGE = 500
Kind = Literal["conversations", "records"]


class Journal:
    """Follows the rows of a store. ``now`` gives milliseconds."""

    def __init__(self, folder: Path, store: MemoryStore, now: Callable[[], int], zone: tzinfo | None = None) -> None:
        self.folder = folder
        self.store = store
        self.now = now
        self.zone = zone
        self._lock = Lock()
        self._known: dict[tuple[Kind, Scope], tuple[Path, int, int]] = {}  # file, its size, last number in it

    def follow(self, scope: Scope) -> int:
        """Write what the files lack of a scope and return the number of lines. Raises ``OSError``."""
        # the store's writer lock also keeps other processes from appending the same lines
        with self._lock, self.store.transaction():
            return self._follow("conversations", scope) + self._follow("records", scope)

    def forget(self, scope: Scope, gone: Callable[[dict[str, Any]], bool]) -> int:
        """Rewrite the files without the lines of a scope for which ``gone`` is true; returns how many went."""
        removed = 0
        with self._lock:
            for path in self.files():
                kept, dropped = [], 0
                for line in _whole_lines(path):
                    if _is_of(line, scope) and gone(line):
                        dropped += 1
                    else:
                        kept.append(line)
                if dropped:
                    _replace(path, kept)
                    removed += dropped
            self._known.clear()
        return removed

    def files(self) -> list[Path]:
        """Every journal file, oldest day first."""
        return sorted(path for kind in ("conversations", "records") for path in (self.folder / kind).glob("*.jsonl"))

    def lines(self, kind: Kind) -> Iterator[dict[str, Any]]:
        """All whole lines of a kind, oldest first."""
        for path in sorted((self.folder / kind).glob("*.jsonl")):
            yield from _whole_lines(path)

    def _follow(self, kind: Kind, scope: Scope) -> int:
        path = self.folder / kind / f"{local_day(self.now(), self.zone)}.jsonl"
        reached = self._reached(kind, scope, path)
        count = 0
        while rows := self._page(kind, scope, reached):
            if not count:
                path.parent.mkdir(parents=True, exist_ok=True)
                _cut_half_a_line(path)
            with path.open("a", encoding="utf-8") as file:
                file.writelines(_text(line) for line in rows)
            count, reached = count + len(rows), int(rows[-1]["seq"])
            if len(rows) < PAGE:
                break
        self._known[kind, scope] = (path, _size(path), reached)
        return count

    def _reached(self, kind: Kind, scope: Scope, path: Path) -> int:
        """The last number that the files hold. The state names a day before which nothing is missing; the files from
        that day on are read again unless nobody has touched them since this process wrote to them."""
        known = self._known.get((kind, scope))
        if known and known[0] == path and known[1] == _size(path):
            return known[2]
        key = state_key(f"journal-{kind}", scope)
        state = self.store.state(key) or {}
        reached, day = int(state.get("reached", 0)), str(state.get("day", ""))
        for file in sorted((self.folder / kind).glob("*.jsonl")):
            if file.stem >= day:
                reached = max([reached] + [int(line["seq"]) for line in _whole_lines(file) if _is_of(line, scope)])
        if day != path.stem:
            self.store.set_state(key, {"reached": reached, "day": path.stem})
        return reached

    def _page(self, kind: Kind, scope: Scope, reached: int) -> list[dict[str, Any]]:
        if kind == "conversations":
            return [_turn_line(scope, turn) for turn in self.store.turns_after(scope, reached, PAGE)]
        return [_atom_line(scope, atom) for atom in self.store.atoms_changed_since(scope, reached, PAGE)]


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=True, sort_keys=True, allow_nan=False) + "\n"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _turn_line(scope: Scope, turn: Turn) -> dict[str, Any]:
    return {
        "event": "turn",
        "seq": turn.seq,
        "sessionKey": turn.session,
        "userId": scope.user,
        "agentId": scope.agent,
        "teamId": scope.team,
        "recordedAt": iso(turn.recorded),
        "id": turn.id,
        "role": turn.role,
        "content": turn.content,
        "timestamp": turn.timestamp,
        "speaker": turn.speaker,
        "refs": list(turn.refs),
    }


def _atom_line(scope: Scope, atom: Atom) -> dict[str, Any]:
    fields = {**asdict(atom), "metadata": dict(atom.metadata)}
    number = fields.pop("change")
    fields.pop("seq")
    event = "superseded" if atom.superseded_by else "atom"
    return {**fields, "event": event, "seq": number, "userId": scope.user, "agentId": scope.agent, "teamId": scope.team}


def _is_of(line: dict[str, Any], scope: Scope) -> bool:
    return (line.get("userId"), line.get("agentId"), line.get("teamId")) == (scope.user, scope.agent, scope.team)


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Lines that end in a newline; a last one without is half written. Damage elsewhere raises ``ValueError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    *whole, _ = text.split("\n")
    for number, line in enumerate(whole, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number} is damaged: {error}") from error


def _cut_half_a_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        if not size:
            return
        file.seek(size - 1)
        if file.read(1) == b"\n":
            return
        file.seek(0)
        data = file.read()
        file.truncate(data.rfind(b"\n") + 1)


def _replace(path: Path, lines: list[dict[str, Any]]) -> None:
    if not lines:
        path.unlink()
        return
    part = path.with_suffix(".part")
    part.write_text("".join(map(_text, lines)), encoding="utf-8")
    part.replace(path)
