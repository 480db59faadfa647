"""What the memory knows about a message: persona and scenes for the system prompt, atoms for the user's message.

Each part degrades by itself: without an embedder, with a slow or broken one, there is keyword search; without atoms
there are still persona and scenes. ``degraded`` says what was missing, ``candidates`` why each row is here or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from agentmem.embed.protocol import Embedder
from agentmem.longterm.recall_atoms import Fusion, rank_atoms, returned
from agentmem.longterm.recall_candidates import Candidate
from agentmem.longterm.recall_embedding import QueryEmbedder, QueryVector, WaitingVector, known_vector
from agentmem.longterm.recall_lines import format_line, within_budget
from agentmem.longterm.recall_parts import dynamic_part, stable_part
from agentmem.longterm.recall_turns import Ranking, rank_turns
from agentmem.longterm.sanitize import sanitize_text
from agentmem.store.records import Atom, Level, Scope, Turn

if TYPE_CHECKING:
    from agentmem.settings.longterm import Recall as Settings
    from agentmem.store.database import Store

LEAST_QUERY = 2  # characters (memory_core.md B15)
NO_EMBEDDER = "no embedder: keyword search only"
OTHER_EMBEDDER = "the stored vectors are of another embedder: keyword search only"


class ProfileTexts(Protocol):
    """What recall needs of a scope's files."""

    def persona(self) -> str | None:
        """The persona without its navigation."""
        ...

    def navigation(self) -> str:
        """The list of scenes."""
        ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """Both parts of a recall, and how it came about.

    ``atoms`` are those in the dynamic part, best first; ``strategy`` is the one that acted ("keyword", "embedding",
    "hybrid" or "none"). ``seconds`` is wall time. ``late`` is True when the time limit left something out.
    """

    stable: str = ""
    dynamic: str = ""
    atoms: tuple[Atom, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    strategy: str = "none"
    degraded: tuple[str, ...] = ()
    late: bool = False
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For a gateway: both parts apart and together, ids, and the explanation."""
        return {
            "context": "\n\n".join(part for part in (self.stable, self.dynamic) if part),
            "stable": self.stable,
            "dynamic": self.dynamic,
            "memory_count": len(self.atoms),
            "memory_ids": [atom.id for atom in self.atoms],
            "strategy": self.strategy,
            "degraded": list(self.degraded),
            "late": self.late,
            "candidates": [asdict(candidate) for candidate in self.candidates],
        }


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found: atoms or turns, best first, with the candidate of each."""

    rows: tuple[Atom | Turn, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    strategy: str = "none"
    degraded: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For a gateway: the text a model reads, and the rows with their ids."""
        from agentmem.longterm.search_text import as_text, row_json

        rows = [row_json(row, candidate) for row, candidate in zip(self.rows, self.candidates, strict=True)]
        return {
            "results": as_text(self),
            "total": len(self.rows),
            "strategy": self.strategy,
            "degraded": list(self.degraded),
            "rows": rows,
        }


class Recaller:
    """Recall and search over one store. May be used from any thread; ``now`` is a clock for measuring, in seconds.

    The embedder becomes the one in use: rows with vectors of another are found by words until they are embedded anew.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        embedder: Embedder | None,
        profile: Callable[[Scope], ProfileTexts] | None = None,
        fusion: Fusion = "blend",
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.store = store
        self.settings = settings
        self._embedder = embedder
        self._queries = QueryEmbedder(embedder) if embedder is not None else None
        if embedder is not None:
            store.use_embedder(embedder.name, embedder.dimensions)
        self._profile = profile
        self._fusion = fusion
        self._now = now

    def recall(self, scope: Scope, query: str) -> Recalled:
        """See ``Recalled``. Never fails for want of an embedder; a broken store raises ``StoreError``."""
        if not self.settings.enabled:
            return Recalled()
        started = self._now()
        clean = sanitize_text(query)
        if len(clean) < LEAST_QUERY:
            return Recalled(stable_part(*self._texts(scope), guide=False), seconds=self._now() - started)
        strategy = self.settings.strategy
        waiting = self._ask(clean, strategy, started)
        persona, navigation = self._texts(scope)  # read while the embedder works
        ranking = self._rank(scope, clean, strategy, waiting)
        atoms, lines, candidates = self._fitted(scope, ranking)
        vector = waiting.get()
        return Recalled(
            stable_part(persona, navigation, guide=bool(lines)),
            dynamic_part(lines),
            atoms,
            candidates,
            _acting(strategy, vector),
            (vector.trouble,) if vector.trouble else (),
            vector.late,
            self._now() - started,
        )

    def search(
        self, scope: Scope, query: str, limit: int = 5, type: str | None = None, scene: str | None = None
    ) -> Searched:
        """Atoms by words and meaning. ``type`` is exact, ``scene`` a part of the name; both act before the limit."""
        if not query.strip():
            return Searched()
        waiting = self._ask(query, "hybrid", self._now())
        view = self.store.view(scope, "atom")
        allowed = view.mask(types=[type] if type else None, scene=scene)
        ranking = rank_atoms(view, query, limit, waiting, allowed=allowed, fusion=self._fusion)
        return self._searched(scope, "atom", returned(ranking), waiting.get())

    def search_conversations(self, scope: Scope, query: str, limit: int = 5, session: str | None = None) -> Searched:
        """Messages by words, meaning, neighbours, speaker and date; of one session when it is named."""
        if not query.strip():
            return Searched()
        waiting = self._ask(query, "hybrid", self._now())
        view = self.store.view(scope, "turn")
        ranking = rank_turns(view, query, limit, waiting, allowed=view.mask(session=session))
        return self._searched(scope, "turn", ranking.candidates, waiting.get())

    def _ask(self, query: str, strategy: str, started: float) -> WaitingVector:
        """Begin to embed the query, if the strategy wants that; whoever calls the result waits for it."""
        if strategy == "keyword":
            return known_vector(QueryVector(None))
        if self._queries is None or self._embedder is None:
            return known_vector(QueryVector(None, NO_EMBEDDER))
        if not self.store.uses_embedder(self._embedder.name, self._embedder.dimensions):
            return known_vector(QueryVector(None, OTHER_EMBEDDER))
        limit = self.settings.timeout_ms / 1000
        return self._queries.start(query).by(lambda: limit - (self._now() - started))

    def _rank(self, scope: Scope, query: str, strategy: str, waiting: WaitingVector) -> Ranking:
        view = self.store.view(scope, "atom")
        keyword = strategy != "embedding" or waiting.get().vector is None
        return rank_atoms(
            view,
            query,
            self.settings.max_results,
            waiting,
            keyword,
            self.settings.score_threshold,
            fusion=self._fusion,
        )

    def _fitted(self, scope: Scope, ranking: Ranking) -> tuple[tuple[Atom, ...], list[str], tuple[Candidate, ...]]:
        """The atoms whose lines fit the limits, the lines, and all candidates with the reason each was dropped."""
        chosen = returned(ranking)
        known = {atom.id: atom for atom in self.store.atoms(scope, [candidate.id for candidate in chosen])}
        atoms = [known[candidate.id] for candidate in chosen if candidate.id in known]
        total = self.settings.total_chars
        lines = within_budget(list(map(format_line, atoms)), self.settings.max_chars_per_memory, total)
        kept = {atom.id for atom in atoms[: len(lines)]}
        candidates = tuple(
            candidate
            if candidate.dropped or candidate.id in kept
            else replace(candidate, dropped=f"no room within {total} characters")
            for candidate in ranking.candidates
        )
        return tuple(atoms[: len(lines)]), lines, candidates

    def _texts(self, scope: Scope) -> tuple[str | None, str | None]:
        if self._profile is None:
            return None, None
        profile = self._profile(scope)
        return profile.persona(), profile.navigation()

    def _searched(self, scope: Scope, level: Level, candidates: Sequence[Candidate], vector: QueryVector) -> Searched:
        ids = [candidate.id for candidate in candidates]
        rows: list[Atom] | list[Turn] = (
            self.store.atoms(scope, ids) if level == "atom" else self.store.turns(scope, ids)
        )
        known: dict[str, Atom | Turn] = {row.id: row for row in rows}
        kept = [candidate for candidate in candidates if candidate.id in known]
        return Searched(
            tuple(known[candidate.id] for candidate in kept),
            tuple(kept),
            _acting("hybrid", vector),
            (vector.trouble,) if vector.trouble else (),
        )


def _acting(wanted: str, vector: QueryVector) -> str:
    """The strategy that can act: one that needs a vector is a keyword search without one."""
    return "keyword" if wanted in ("embedding", "hybrid") and vector.vector is None else wanted
