"""Summaries for the results that wait for one: batches, tries, stand-ins, and every result in exactly one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentmem.errors import EvidenceError, ModelError
from agentmem.offload.entries import Entries, Entry
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.summaries import Result, Summariser

BATCH = 5  # results one call summarises
FORCE = 4  # results that wait before a run is forced
TRIES = 3  # then a stand-in is made, and replaced later


class Flush:
    """Runs a summariser over the pending entries of a session.

    A result without a summary stays pending on disk: a model that fails, or leaves it out, is asked again at the next
    run. After ``TRIES`` it gets a degraded summary from ``fallback`` (which must not need a model), which is replaced
    as soon as the model works again.
    """

    def __init__(
        self,
        entries: Entries,
        store: EvidenceStore,
        summariser: Summariser,
        fallback: Summariser,
        warn: Callable[[str], None],
        force: int = FORCE,
    ) -> None:
        self._entries = entries
        self._store = store
        self._summariser = summariser
        self._fallback = fallback
        self._warn = warn
        self._force = force
        self._tries: dict[str, int] = {}

    def waiting(self) -> list[Entry]:
        """Entries without any summary, oldest first."""
        return [entry for entry in self._entries.unsummarised.values() if entry.result_ref is not None]

    def due(self) -> bool:
        """True when enough results wait."""
        return len(self._entries.unsummarised) >= self._force and len(self.waiting()) >= self._force

    def run(self, context: str = "") -> None:
        """Summarise everything that waits; each batch is asked for once.

        Raises ``EvidenceWriteFailed`` when the index cannot be written; nothing is lost then.
        """
        healthy = True
        waiting = self.waiting()
        for start in range(0, len(waiting), BATCH):
            healthy = self._batch(waiting[start : start + BATCH], context)
        degraded = list(self._entries.degraded.values())
        if healthy and degraded:
            self._batch(degraded[:BATCH], context, first_time=False)

    def stand_ins(self) -> None:
        """Give everything that still waits a degraded summary, before something is deleted that has none."""
        self._degrade(self.waiting())

    def _batch(self, entries: Sequence[Entry], context: str, first_time: bool = True) -> bool:
        """Ask once for a batch; True when the summariser answered."""
        results = [result for entry in entries if (result := self._result(entry)) is not None]
        if not results:
            return True
        try:
            made = self._summariser.summarise(results, context)
        except ModelError as error:
            self._warn(f"summaries by {self._summariser.name} failed for {len(results)} results: {error}")
            made = {}
        self._entries.change({key: _fields(summary) for key, summary in made.items()})
        for key in made:
            self._tries.pop(key, None)
        if first_time:
            self._count([entry for entry in entries if entry.key not in made])
        return bool(made)

    def _count(self, missing: Sequence[Entry]) -> None:
        given_up = []
        for entry in missing:
            self._tries[entry.key] = self._tries.get(entry.key, 0) + 1
            if self._tries[entry.key] >= TRIES:
                given_up.append(entry)
                del self._tries[entry.key]
        self._degrade(given_up)

    def _degrade(self, entries: Sequence[Entry]) -> None:
        results = [result for entry in entries if (result := self._result(entry)) is not None]
        made = self._fallback.summarise(results)
        self._entries.change({key: {**_fields(summary), "degraded": True} for key, summary in made.items()})

    def _result(self, entry: Entry) -> Result | None:
        try:
            text = self._store.get(entry.result_ref or "")
        except EvidenceError as error:
            self._warn(f"entry {entry.key} gets no summary: {error}")
            self._entries.change({entry.key: {"summary": "(the stored result cannot be read)", "score": 0.0}})
            return None
        return Result(entry.key, entry.tool_call, text, entry.timestamp, entry.is_error)


def _fields(summary: Any) -> Mapping[str, Any]:
    return {"summary": summary.text, "score": summary.score, "degraded": False}
