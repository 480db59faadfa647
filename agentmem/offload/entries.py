"""The index of a session's evidence: one entry a tool result, built from an append-only journal of events.

An entry is written when the result arrives, before anything else sees it; its summary, its place on a canvas
and its fate in the prompt are later events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agentmem.errors import EvidenceCorrupt, EvidenceNotFound
from agentmem.offload.index import Journal, read_rows

FILE = "entries.jsonl"
Fate = Literal["replaced", "deleted"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool result.

    ``key`` is unique in the session: the ``tool_call_id``, with ``#2``, ``#3`` behind it when a provider gives an
    id again. ``summary`` is None while the entry is pending; ``degraded`` means that a model failed on it and the
    summary is a stand-in. ``score`` (0 to 10) says how well the summary can stand for the result; ``tokens`` is the
    size of the result. ``task`` names the boundary it belongs to, ``fate`` what became of it in the prompt.
    """

    key: str
    tool_call_id: str
    tool_call: str
    result_ref: str | None
    timestamp: float
    task: str | None = None
    tokens: int = 0
    is_error: bool = False
    summary: str | None = None
    score: float | None = None
    degraded: bool = False
    node_id: str | None = None
    fate: Fate | None = None

    @property
    def pending(self) -> bool:
        """True while there is no summary, or only a degraded one."""
        return self.summary is None or self.degraded


FIELDS = tuple(Entry.__dataclass_fields__)
CHANGES = ("summary", "score", "degraded", "node_id", "fate", "result_ref")


class Entries:
    """Entries of one session in order of arrival. Every change is on disk before it is seen here."""

    def __init__(self, folder: Path, durable: bool = True) -> None:
        self._journal = Journal(folder / FILE, durable)
        self._entries: dict[str, Entry] = {}
        self.unsummarised: dict[str, Entry] = {}  # no summary yet, oldest first
        self.degraded: dict[str, Entry] = {}  # only a stand-in
        self.unmapped: dict[str, Entry] = {}  # summarised, on no canvas
        self.by_canvas: dict[str, dict[str, Entry]] = {}  # number of a canvas as its nodes write it -> its entries
        folded: dict[str, Entry] = {}
        _fold(folded, self._journal.rows, self._journal.path)
        for entry in folded.values():
            self._put(entry)
        self._journal.rows.clear()
        self._seen = _count(self._entries.values())

    def arrive(
        self,
        tool_call_id: str | None,
        tool_call: str,
        result_ref: str | None,
        timestamp: float,
        **more: Any,
    ) -> Entry:
        """Record a result that has just been stored; a result without an id is given ``auto-N``.

        ``more`` are further fields of ``Entry``. Raises ``EvidenceWriteFailed``.
        """
        call = tool_call_id or f"auto-{len(self._entries) + 1}"
        number = self._seen.get(call, 0) + 1
        key = call if number == 1 else f"{call}#{number}"
        while key in self._entries:  # a provider's own id may look like ours
            number += 1
            key = f"{call}#{number}"
        entry = Entry(key, call, tool_call, result_ref, timestamp, **more)
        self._journal.append({"event": "result", **_written(entry)})
        self._put(entry)
        self._seen[call] = number
        return entry

    def change(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Change fields (``CHANGES``) of several entries by key, all or none.

        Raises ``EvidenceNotFound`` for an unknown key, ``EvidenceWriteFailed`` for a full disk.
        """
        fresh = {key: replace(self[key], **_allowed(fields)) for key, fields in changes.items()}
        self._journal.extend({"event": "change", "key": key, **fields} for key, fields in changes.items())
        for entry in fresh.values():
            self._put(entry)

    def __getitem__(self, key: str) -> Entry:
        try:
            return self._entries[key]
        except KeyError:
            raise EvidenceNotFound(f"no entry {key!r}: {_known(self._entries)}") from None

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def pending(self) -> list[Entry]:
        """Entries that wait for a summary of their own, oldest first."""
        return [entry for entry in self if entry.pending]

    def _put(self, entry: Entry) -> None:
        self._entries[entry.key] = entry
        if entry.node_id is not None:
            self.by_canvas.setdefault(entry.node_id[:3], {})[entry.key] = entry
        lists = (
            (self.unsummarised, entry.summary is None),
            (self.degraded, entry.degraded),
            (self.unmapped, entry.summary is not None and entry.node_id is None),
        )
        for kept, belongs in lists:
            if belongs:
                kept[entry.key] = entry
            else:
                kept.pop(entry.key, None)

    def of_node(self, node_id: str) -> list[Entry]:
        """Entries mapped to a canvas node, oldest first."""
        return [entry for entry in self if entry.node_id == node_id]

    def of_ref(self, ref: str) -> list[Entry]:
        """Entries whose result is stored under a ref; several when equal results came twice."""
        return [entry for entry in self if entry.result_ref == ref]

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def read_entries(folder: Path) -> list[Entry]:
    """The entries of a session without opening it for writing (for show and trace)."""
    entries: dict[str, Entry] = {}
    _fold(entries, read_rows(folder / FILE), folder / FILE)
    return list(entries.values())


def _fold(entries: dict[str, Entry], rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    for number, row in enumerate(rows, 1):
        fields = {key: value for key, value in row.items() if key != "event"}
        try:
            if row.get("event") == "result":
                entry = Entry(**{"result_ref": None, **fields})
                entries[entry.key] = entry
            elif row.get("event") == "change":
                key = fields.pop("key")
                entries[key] = replace(entries[key], **_allowed(fields))
            else:
                raise KeyError("event")
        except (KeyError, TypeError) as error:
            raise EvidenceCorrupt(f"{path}: line {number} is no event of this version ({error})") from error


def _written(entry: Entry) -> dict[str, Any]:
    return {name: value for name in FIELDS if (value := getattr(entry, name)) is not None}


def _allowed(fields: Mapping[str, Any]) -> dict[str, Any]:
    wrong = [name for name in fields if name not in CHANGES]
    if wrong:
        raise TypeError(f"an entry's {wrong[0]} cannot change; these can: {', '.join(CHANGES)}")
    return dict(fields)


def _count(entries: Iterable[Entry]) -> dict[str, int]:
    seen: dict[str, int] = {}
    for entry in entries:
        seen[entry.tool_call_id] = seen.get(entry.tool_call_id, 0) + 1
    return seen


def _known(entries: Mapping[str, Entry]) -> str:
    if not entries:
        return "the session has none yet"
    newest = list(entries)[-3:]
    return f"there are {len(entries)}, the newest {', '.join(map(repr, newest))}"
