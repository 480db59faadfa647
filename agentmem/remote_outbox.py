"""Turns that wait to be sent to a gateway, one file each: what was put in survives the process and is sent once.

A name begins with a number, so that files sort by age; entries of one session are taken in that order.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentmem.longterm.keys import digest
from agentmem.longterm.profile import write_whole


@dataclass(frozen=True, slots=True)
class Entry:
    """One waiting turn: its file's name and the body to send."""

    name: str
    session: str
    body: Mapping[str, Any]


class Outbox:
    """A folder of waiting turns. Threads may share one; a folder belongs to one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rejected = folder / "rejected"
        self._lock = threading.Lock()
        self._taken: set[str] = set()  # sessions whose oldest entry is being sent
        folder.mkdir(parents=True, exist_ok=True)
        self._next = max((int(path.name.split("-")[0]) for path in self._paths()), default=0) + 1

    def put(self, session: str, body: Mapping[str, Any]) -> str:
        """Keep a turn and return its name. Messages without an id get one, so that sending twice records once.

        Raises ``OSError`` when the disk refuses.
        """
        with self._lock:
            number = self._next
            self._next += 1
        name = f"{number:010}-{digest(session, size=4)}.json"
        messages = [
            {**message, "id": message.get("id") or f"{name[:-5]}-{place}"}
            for place, message in enumerate(body["messages"])
        ]
        write_whole(self.folder / name, json.dumps({**body, "messages": messages}, ensure_ascii=True))
        return name

    def take(self) -> Entry | None:
        """The oldest entry of a session of which nothing is being sent; None when there is none."""
        with self._lock:
            seen = set(self._taken)
            for path in self._paths():
                session = path.stem.split("-")[1]
                if session not in seen:
                    self._taken.add(session)
                    return Entry(path.name, session, json.loads(path.read_text(encoding="utf-8")))
                seen.add(session)
        return None

    def done(self, entry: Entry) -> None:
        """It was recorded."""
        (self.folder / entry.name).unlink(missing_ok=True)
        self.give_back(entry)

    def refuse(self, entry: Entry, why: str) -> None:
        """The gateway will never take it: it is put aside with the reason, so that those behind it go on."""
        write_whole(self.rejected / entry.name, json.dumps({"why": why, "body": entry.body}, ensure_ascii=True))
        self.done(entry)

    def give_back(self, entry: Entry) -> None:
        """It was not sent; it stays the oldest of its session."""
        with self._lock:
            self._taken.discard(entry.session)

    def waiting(self, session: str | None = None) -> int:
        """Entries that wait or are being sent, of one session or of all."""
        wanted = None if session is None else digest(session, size=4)
        return sum(wanted is None or path.stem.split("-")[1] == wanted for path in self._paths())

    def refused(self) -> int:
        """Entries that were put aside."""
        return len(list(self.rejected.glob("*.json"))) if self.rejected.exists() else 0

    def _paths(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("[0-9]*.json"))
