"""What the pipeline and recall expect of a store. ``agentmem.store.database.Store`` is the one implementation.

Every method may be called from any thread. A write is one ``BEGIN IMMEDIATE`` transaction; calls inside
``with store.transaction():`` are one transaction together: all of them happen, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agentmem.store.records import Added, Atom, Hit, Level, Pending, Scope, StoreStatus, Traces, Turn
from agentmem.store.view import View

State = dict[str, Any]
Vectors = NDArray[np.float32]


class MemoryStore(Protocol):
    """Turns, atoms, their indexes, and small states, in one file."""

    def transaction(self) -> AbstractContextManager[None]:
        """Everything written inside happens at once or not at all. May be nested; the outermost one commits."""

    # --- turns (L0)

    def add_turns(self, scope: Scope, turns: Sequence[Turn]) -> Added:
        """Store turns. A known id with the same text changes nothing; with another text the row is replaced and gets
        a new ``seq``, so that readers behind a cursor see the edit."""

    def turns_after(self, scope: Scope, cursor: int, limit: int, session: str | None = None) -> list[Turn]:
        """At most ``limit`` turns with ``seq`` > ``cursor``, oldest first."""

    def turns_before(self, scope: Scope, cursor: int, limit: int, session: str | None = None) -> list[Turn]:
        """The last ``limit`` turns with ``seq`` <= ``cursor``, oldest first."""

    def turn(self, scope: Scope, id: str) -> Turn:
        """Raises ``RecordNotFound``."""

    def turns(self, scope: Scope, ids: Sequence[str]) -> list[Turn]:
        """Those that exist, in the order asked for."""

    def sessions(self, scope: Scope) -> list[str]:
        """Names of the sessions that hold turns, by first ``seq``."""

    def count_turns(self, scope: Scope, cursor: int = 0, session: str | None = None) -> int:
        """Number of turns with ``seq`` > ``cursor``."""

    # --- atoms (L1)

    def put_atoms(
        self, scope: Scope, atoms: Sequence[Atom], supersedes: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Store new atoms and mark the ones they replace (new id -> old ids), in one transaction.

        Raises ``StoreConflict`` when an old one is gone or already superseded, or when a new id exists with another
        content; then nothing was written. Putting the same atom twice changes nothing.
        """

    def atom(self, scope: Scope, id: str) -> Atom:
        """Live or superseded. Raises ``RecordNotFound``."""

    def atoms(self, scope: Scope, ids: Sequence[str] | None = None, superseded: bool = False) -> list[Atom]:
        """Those of ``ids`` that exist, in the order asked for; all by ``seq`` when ``ids`` is None. Superseded ones
        only when asked for."""

    def atoms_changed_since(self, scope: Scope, change: int, limit: int) -> list[Atom]:
        """Atoms written or superseded after that ``change``, in order of change."""

    def atoms_resting_on(self, scope: Scope, turn_ids: Sequence[str]) -> list[Atom]:
        """Atoms, live or superseded, whose ``sources`` hold one of the turns."""

    # --- search (live rows of the scope only)

    def view(self, scope: Scope, level: Level) -> View:
        """The live rows of a scope as arrays, for those who rank by more than one signal."""
        ...

    def search_text(self, scope: Scope, level: Level, query: str, limit: int, **only: Any) -> list[Hit]:
        """Keyword search; any text is a legal query. ``only``: session, types, scene (substring). Score in (0, 1)."""

    def search_vector(self, scope: Scope, level: Level, vector: Vectors, limit: int, **only: Any) -> list[Hit]:
        """Nearest by cosine, score = 1 - distance. Same filters. Empty when no vectors exist.

        Raises ``StoreError`` when the dimensions differ from the current embedder's.
        """

    # --- vectors

    def use_embedder(self, name: str, dimensions: int) -> None:
        """Name the embedder whose vectors are stored from now on. Another one than before makes every row pending;
        keyword search and the vectors already renewed stay usable meanwhile."""

    def uses_embedder(self, name: str, dimensions: int) -> bool:
        """Whether that is the embedder whose vectors are stored; vectors of two embedders cannot be compared."""

    def pending(self, level: Level, limit: int) -> list[Pending]:
        """Rows of any scope that have no vector of the current embedder, newest first."""

    def put_vectors(self, level: Level, seqs: Sequence[int], vectors: Vectors) -> int:
        """Store one vector a row, shape (len(seqs), dimensions). A zero or non-finite vector marks the row as done
        without a vector. Rows deleted meanwhile are skipped. Returns how many rows were marked."""

    # --- small states (cursors, checkpoint)

    def state(self, key: str) -> State | None:
        """The JSON object stored under a key, or None."""

    def set_state(self, key: str, value: State | None) -> None:
        """Replace it; None removes it."""

    def update_state(self, key: str, change: Callable[[State], State]) -> State:
        """Read, change and write in one transaction; a missing state is passed as {}. Returns the new one."""

    def states(self, prefix: str = "") -> dict[str, State]:
        """All states whose key begins with the prefix, by key."""

    # --- forgetting

    def delete_turns(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove turns from rows, keyword index and vectors. Unknown ids are ignored. Returns the number removed."""

    def delete_atoms(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove atoms, live or superseded, from rows, links, keyword index and vectors."""

    def delete_scope(self, scope: Scope) -> int:
        """Remove everything of a scope. States are not scoped; their owner removes them."""

    def scrub(self) -> None:
        """Make deletions physical: deleted words leave the index segments, free pages and the WAL."""

    def traces(self, scope: Scope, ids: Sequence[str] | None = None) -> Traces:
        """Count what is left of the ids (of the whole scope when None) in every table and index."""

    # --- the whole

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written to and not deleted."""

    def status(self, scope: Scope | None = None) -> StoreStatus:
        """Counts (of one scope, or of all) and which parts work."""

    def rebuild_index(self) -> None:
        """Build both keyword indexes anew from the rows, in slices, search staying up."""

    def close(self) -> None:
        """Close all connections. Later calls raise ``StoreError``."""
