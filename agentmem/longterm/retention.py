"""Retention: messages and events older than some days expire, from rows, indexes and files. memory_core.md B20.

What lasts does not expire by age: facts about a person and rules stay. A small memory is never emptied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo

from agentmem.longterm.clock import Clock, local_day, midnight_before
from agentmem.longterm.journal import Journal
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Scope, Turn

LEAST_TURNS, LEAST_ATOMS = 50, 20
LASTING = frozenset({"persona", "instruction", "work_method"})
SLICE = 500  # rows that go in one transaction


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a cleanup removed."""

    turns: int = 0
    atoms: int = 0
    files: int = 0


class Cleaner:
    """``days`` 0 does nothing."""

    def __init__(self, store: MemoryStore, journal: Journal, clock: Clock, days: int, zone: tzinfo | None) -> None:
        self.store = store
        self.journal = journal
        self.clock = clock
        self.days = days
        self.zone = zone

    def clean(self) -> Cleaned:
        """Remove what is older than the local midnight that began the first of the last ``days`` days. Cursors stay:
        they are numbers of rows, and rows that are gone do not come again."""
        if not self.days:
            return Cleaned()
        cutoff = midnight_before(self.clock.now(), self.days, self.zone)
        turns = atoms = 0
        for scope in self.store.scopes():
            turns += self._turns(scope, cutoff)
            atoms += self._atoms(scope, cutoff)
        first_day = local_day(cutoff, self.zone)
        old = [path for path in self.journal.files() if path.stem < first_day]
        for path in old:
            path.unlink()
        if turns or atoms:
            self.store.scrub()
        return Cleaned(turns, atoms, len(old))

    def _turns(self, scope: Scope, cutoff: int) -> int:
        if self.store.count_turns(scope) <= LEAST_TURNS:
            return 0
        waiting = [turn.id for turn in self._expired(scope, cutoff)]
        return sum(self.store.delete_turns(scope, waiting[i : i + SLICE]) for i in range(0, len(waiting), SLICE))

    def _expired(self, scope: Scope, cutoff: int) -> Iterator[Turn]:
        cursor = 0
        while page := self.store.turns_after(scope, cursor, SLICE):
            yield from (turn for turn in page if turn.recorded < cutoff)
            cursor = page[-1].seq

    def _atoms(self, scope: Scope, cutoff: int) -> int:
        atoms = self.store.atoms(scope, superseded=True)
        if len(atoms) <= LEAST_ATOMS:
            return 0
        old = [a.id for a in atoms if a.updated < cutoff and (a.superseded_by or a.type not in LASTING)]
        return sum(self.store.delete_atoms(scope, old[i : i + SLICE]) for i in range(0, len(old), SLICE))
