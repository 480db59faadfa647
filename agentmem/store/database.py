"""The long-term store: one SQLite file behind the methods of ``MemoryStore``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agentmem.store import atoms, embedding_queue, forgetting, schema, scopes, states, turns, vectors, words
from agentmem.store.bm25 import row_scores
from agentmem.store.connections import Connections
from agentmem.store.extension import Extension, VectorPath
from agentmem.store.frames import FrameCache, empty
from agentmem.store.records import LEVELS, Added, Atom, Hit, Level, Pending, Scope, StoreStatus, Traces, Turn
from agentmem.store.view import NEAREST, Mask, Scores, View, best
from agentmem.text.keywords import index_tokens, query_terms
from agentmem.text.segment import segmenter

MATRIX_BYTES = 1 << 30  # vectors kept in memory; a scope with more is searched from disk


class Store:
    """Opens or makes the file. ``clock`` gives seconds since 1970 and fills times that a record leaves at 0.

    ``vectors`` is "auto" (numpy, and sqlite-vec for a scope whose vectors exceed ``memory`` bytes), or one of the two
    by name. ``synchronous`` is SQLite's: "NORMAL" survives a killed process, "FULL" also a power cut.
    Raises ``SchemaTooNew``, or ``StoreError`` when the file cannot be used.
    """

    def __init__(
        self,
        path: Path | str,
        clock: Callable[[], float] = time.time,
        vectors: VectorPath = "auto",
        memory: int = MATRIX_BYTES,
        synchronous: str = "NORMAL",
    ) -> None:
        self._clock = clock
        self._extension = Extension(vectors)
        self._memory = memory
        self._connections = Connections(Path(path), self._extension.load, synchronous)
        self._cache = FrameCache(memory)
        with self._connections.writing() as connection:
            words.create(connection)
            stale = words.stale(connection)
        if stale:
            self.rebuild_index()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything written inside happens at once or not at all; may be nested."""
        with self._connections.writing():
            yield

    # --- turns (L0)

    def add_turns(self, scope: Scope, turns_: Sequence[Turn]) -> Added:
        """Store turns; a known id with another text is replaced."""
        tokens = [index_tokens(turn.content) for turn in turns_]  # outside the transaction, which stays short
        with self._connections.writing() as connection:
            return turns.add(connection, scopes.make(connection, scope), turns_, tokens, self._now())

    def turns_after(self, scope: Scope, cursor: int, limit: int, session: str | None = None) -> list[Turn]:
        """Turns behind the cursor, oldest first."""
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            return [] if number is None else turns.after(connection, number, cursor, limit, session)

    def turns_before(self, scope: Scope, cursor: int, limit: int, session: str | None = None) -> list[Turn]:
        """The last turns up to the cursor, oldest first."""
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            return [] if number is None else turns.before(connection, number, cursor, limit, session)

    def turn(self, scope: Scope, id: str) -> Turn:
        """Raises ``RecordNotFound``."""
        with self._connections.reading() as connection:
            return turns.one(connection, scopes.find(connection, scope), id)

    def turns(self, scope: Scope, ids: Sequence[str]) -> list[Turn]:
        """Those that exist, in the order asked for."""
        with self._connections.reading() as connection:
            return turns.get(connection, scopes.find(connection, scope), ids)

    def sessions(self, scope: Scope) -> list[str]:
        """Names of the sessions that hold turns, by their first turn."""
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            return [] if number is None else turns.sessions(connection, number)

    def count_turns(self, scope: Scope, cursor: int = 0, session: str | None = None) -> int:
        """Number of turns behind the cursor."""
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            return 0 if number is None else turns.count(connection, number, cursor, session)

    # --- atoms (L1)

    def put_atoms(
        self, scope: Scope, atoms_: Sequence[Atom], supersedes: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Store atoms and mark those they replace (new id -> old ids). Raises ``StoreConflict``."""
        tokens = [index_tokens(atom.content) for atom in atoms_]
        with self._connections.writing() as connection:
            atoms.put(connection, scopes.make(connection, scope), atoms_, tokens, supersedes or {}, self._now())

    def atom(self, scope: Scope, id: str) -> Atom:
        """Live or superseded. Raises ``RecordNotFound``."""
        with self._connections.reading() as connection:
            return atoms.one(connection, scopes.find(connection, scope), id)

    def atoms(self, scope: Scope, ids: Sequence[str] | None = None, superseded: bool = False) -> list[Atom]:
        """Those of the ids that exist, in their order; all when ids is None."""
        with self._connections.reading() as connection:
            return atoms.get(connection, scopes.find(connection, scope), ids, superseded)

    def atoms_changed_since(self, scope: Scope, change: int, limit: int) -> list[Atom]:
        """Atoms written or superseded after that change, in order."""
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            return [] if number is None else atoms.changed_since(connection, number, change, limit)

    def atoms_resting_on(self, scope: Scope, turn_ids: Sequence[str]) -> list[Atom]:
        """Atoms whose sources hold one of the turns."""
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            return [] if number is None else atoms.resting_on(connection, number, turn_ids)

    # --- search

    def view(self, scope: Scope, level: Level) -> View:
        """The live rows of a scope, ready for ranking."""
        inside = self._connections.inside
        with self._connections.reading() as connection:
            number = scopes.find(connection, scope)
            frame = empty(level, 0) if number is None else self._cache.get(connection, level, number, not inside)
            using = embedding_queue.current(connection)
        most = self._memory // (4 * using[2]) if using else 0
        path, _ = self._vector_path(using is not None, len(frame) > most)
        embedder = (using[0], using[2]) if using else None
        return View(frame, self._connections.reading, self._cache, embedder, path, most, not inside)

    def search_text(self, scope: Scope, level: Level, query: str, limit: int, **only: Any) -> list[Hit]:
        """Rows that hold a word of the query, best first. ``only``: session, types, scene (a part of its name)."""
        view = self.view(scope, level)
        scores = row_scores(view.frame, view.matches(query_terms(query)))
        return self._hits(view, scores / (1 + scores), scores > 0, limit, only)

    def search_vector(self, scope: Scope, level: Level, vector: vectors.Matrix, limit: int, **only: Any) -> list[Hit]:
        """Rows nearest to a vector, best first. Same filters. Raises ``StoreError`` for other dimensions."""
        view = self.view(scope, level)
        scores, has = view.cosines(vector, len(view) if only else max(NEAREST, limit))
        return self._hits(view, scores, has, limit, only)

    # --- vectors

    def use_embedder(self, name: str, dimensions: int) -> None:
        """Name the embedder whose vectors are stored from now on; rows without one become pending."""
        if self.uses_embedder(name, dimensions):
            return
        with self._connections.writing() as connection:
            embedding_queue.use(connection, name, dimensions)

    def uses_embedder(self, name: str, dimensions: int) -> bool:
        """Whether that is the embedder whose vectors are stored."""
        with self._connections.reading() as connection:
            return embedding_queue.uses(connection, name, dimensions)

    def pending(self, level: Level, limit: int) -> list[Pending]:
        """Rows of any scope without a vector of the embedder in use, newest first."""
        with self._connections.reading() as connection:
            return embedding_queue.pending(connection, level, limit)

    def put_vectors(self, level: Level, seqs: Sequence[int], matrix: vectors.Matrix) -> int:
        """Store one vector a row, shape (rows, dimensions); returns how many rows are done by that."""
        matrix = np.asarray(matrix, np.float32)
        with self._connections.writing() as connection:
            stored = embedding_queue.store(connection, level, seqs, matrix)
            for part in stored:
                self._connections.after_commit(partial(self._note, level, part, matrix.shape[1]))
        return sum(part.done for part in stored)

    # --- small states

    def state(self, key: str) -> dict[str, Any] | None:
        """The JSON object stored under a key, or None."""
        with self._connections.reading() as connection:
            return states.get(connection, key)

    def set_state(self, key: str, value: dict[str, Any] | None) -> None:
        """Replace it; None removes it."""
        with self._connections.writing() as connection:
            states.put(connection, key, value)

    def update_state(self, key: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Read, change and write in one transaction; returns the new one."""
        with self._connections.writing() as connection:
            value = change(states.get(connection, key) or {})
            states.put(connection, key, value)
            return value

    def states(self, prefix: str = "") -> dict[str, dict[str, Any]]:
        """All states whose key begins with the prefix, by key."""
        with self._connections.reading() as connection:
            return states.every(connection, prefix)

    # --- forgetting

    def delete_turns(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove turns from rows, keyword index and vectors; returns the number removed."""
        with self._connections.writing() as connection:
            number = scopes.find(connection, scope)
            seqs = [] if number is None else turns.seqs_of(connection, number, ids)
            if number is not None:
                turns.remove(connection, number, seqs)
            return len(seqs)

    def delete_atoms(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove atoms, live or superseded, from rows, links, keyword index and vectors."""
        with self._connections.writing() as connection:
            number = scopes.find(connection, scope)
            seqs = [] if number is None else atoms.seqs_of(connection, number, ids)
            if number is not None:
                atoms.remove(connection, number, seqs)
            return len(seqs)

    def delete_scope(self, scope: Scope) -> int:
        """Remove everything of a scope; returns the number of turns and atoms removed."""
        with self._connections.writing() as connection:
            number = scopes.find(connection, scope)
            if number is None:
                return 0
            for level in LEVELS:
                self._connections.after_commit(partial(self._cache.forget, level, number))
            return forgetting.scope_rows(connection, number)

    def scrub(self) -> None:
        """Make deletions physical: deleted words leave the index segments, free pages and the WAL."""
        for level in LEVELS:
            first = more = True
            while more:
                with self._connections.writing() as connection:
                    more = words.merge(connection, level, first)
                first = False
        self._connections.truncate_log()

    def traces(self, scope: Scope, ids: Sequence[str] | None = None) -> Traces:
        """What is left of the ids, or of the whole scope, and index entries that belong to no row."""
        with self._connections.reading() as connection:
            return forgetting.traces(connection, scopes.find(connection, scope), ids)

    # --- the whole

    def scopes(self) -> list[Scope]:
        """Every scope that was written to and not deleted."""
        with self._connections.reading() as connection:
            return scopes.every(connection)

    def status(self, scope: Scope | None = None) -> StoreStatus:
        """Counts (of one scope, or of all) and which parts work."""
        with self._connections.reading() as connection:
            number = None if scope is None else scopes.find(connection, scope) or -1
            counts = forgetting.counts(connection, number)
            using = embedding_queue.current(connection)
            pending: dict[str, int] = {level: embedding_queue.count(connection, level, number) for level in LEVELS}
        path, reason = self._vector_path(using is not None, too_large=False)
        return StoreStatus(
            path=str(self._connections.path),
            schema=schema.VERSION,
            embedder=using[1] if using else None,
            dimensions=using[2] if using else None,
            vector_path=path,
            vector_reason=reason,
            segmenter=segmenter()[0],
            pending=pending,
            bytes=self._connections.size(),
            **counts,
        )

    def rebuild_index(self) -> None:
        """Build both keyword indexes anew from the rows, in slices, search staying up."""
        for level in LEVELS:
            with self._connections.writing() as connection:
                words.begin_rebuild(connection, level)
            more = True
            while more:
                with self._connections.writing() as connection:
                    more = words.rebuild_slice(connection, level)

    def close(self) -> None:
        """Close all connections; later calls raise ``StoreError``."""
        self._connections.close()

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _note(self, level: Level, part: embedding_queue.Stored, dimensions: int) -> None:
        unit = vectors.unpack(part.packed.tobytes(), dimensions)
        self._cache.note_vectors(level, part.scope, part.stamp, part.embedder, part.seqs, unit)

    def _vector_path(self, used: bool, too_large: bool) -> tuple[str, str]:
        if not used:
            return "off", "no embedder has been used on this file"
        missing = self._extension.missing
        if self._extension.wanted == "sqlite-vec" or (too_large and missing is None):
            return "sqlite-vec", "asked for" if not too_large else "the scope's vectors exceed the memory allowed"
        if missing is not None:
            return "numpy", f"sqlite-vec: {missing}"
        return "numpy", "faster than sqlite-vec while the vectors fit in memory"

    def _hits(self, view: View, scores: Scores, allowed: Mask, limit: int, only: Mapping[str, Any]) -> list[Hit]:
        mask = view.mask(**only)
        places = best(scores, allowed if mask is None else allowed & mask, limit)
        seqs = view.frame.seq[places].tolist()
        ids = view.ids(places)
        found = zip(seqs, scores[places], strict=True)
        return [Hit(seq, ids[seq], float(score), rank) for rank, (seq, score) in enumerate(found, 1) if seq in ids]
