"""Asks every question of a corpus in every mode and notes which messages came back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from agentmem.embed.protocol import Embedder, Vectors
from agentmem.longterm.recall_atoms import rank_atoms, returned
from agentmem.longterm.recall_candidates import fuse
from agentmem.longterm.recall_turns import TurnWeights, rank_turns
from agentmem.store.database import Store
from agentmem.store.records import Scope
from harness.retrieval.corpus import Corpus
from harness.retrieval.fill import scope_of
from harness.retrieval.measure import Found, by_session

OWN = ("keyword", "embedding", "hybrid")
CONTROLS = ("bm25", "cosine", "rrf")
MODES = (*OWN, *CONTROLS)
"""The first three are the memory's own. The others are controls: BM25 or cosine of the message alone, and their
fusion by rank as upstream does it (k = 60)."""

Level = Literal["turn", "atom", "noted"]
"""Messages, atoms that the rules make of them, or statements that come with the data, searched as atoms."""

DEEP = 400  # rows ranked, so that sessions can be told apart


@dataclass(frozen=True, slots=True)
class Asking:
    """The answers of one mode: per question the messages found and the sessions found, and seconds a question."""

    mode: str
    messages: tuple[Found, ...]
    sessions: tuple[Found, ...]
    seconds: tuple[float, ...]


def needs_vectors(mode: str) -> bool:
    """Whether a mode cannot do without an embedder."""
    return mode in ("embedding", "hybrid", "cosine", "rrf")


def ask_all(
    corpus: Corpus,
    store: Store,
    mode: str,
    embedder: Embedder | None = None,
    weights: TurnWeights = TurnWeights(),
    level: Level = "turn",
    only: Callable[[str], bool] = lambda group: True,
) -> Asking:
    """Ask every question whose group passes ``only``. The time of a question includes embedding it."""
    messages, sessions, seconds = [], [], []
    for conversation in corpus.conversations:
        scope = scope_of(corpus, conversation)
        session_of = {said.id: said.session for said in conversation.said}
        for asked in conversation.asked:
            if not only(asked.group):
                continue
            started = perf_counter()
            vector = embedder.embed([asked.text])[0] if embedder is not None and needs_vectors(mode) else None
            if level == "turn":
                results = find_turns(store, scope, asked.text, mode, vector, weights)
            else:
                results = find_atoms(store, scope, asked.text, mode, vector)
            seconds.append(perf_counter() - started)
            found = Found(asked.id, conversation.id, asked.group, tuple(results), asked.evidence)
            messages.append(found)
            sessions.append(by_session(found, session_of, asked.sessions))
    return Asking(mode, tuple(messages), tuple(sessions), tuple(seconds))


def find_turns(
    store: Store, scope: Scope, query: str, mode: str, vector: Vectors | None, weights: TurnWeights
) -> list[tuple[str, ...]]:
    """Messages, best first; each result is one message."""
    if mode in OWN:
        view = store.view(scope, "turn")
        ranking = rank_turns(view, query, DEEP, vector, mode != "embedding", weights=weights)
        return [(candidate.id,) for candidate in ranking.candidates]
    words = [hit.id for hit in store.search_text(scope, "turn", query, DEEP)] if mode != "cosine" else []
    near = [hit.id for hit in store.search_vector(scope, "turn", vector, DEEP)] if vector is not None else []
    return [(id,) for id in _joined(mode, words, near)]


def find_atoms(store: Store, scope: Scope, query: str, mode: str, vector: Vectors | None) -> list[tuple[str, ...]]:
    """Atoms, best first; each result is the messages the atom rests on."""
    if mode in OWN:
        view = store.view(scope, "atom")
        ids = [found.id for found in returned(rank_atoms(view, query, DEEP, vector, mode != "embedding"))]
    else:
        words = [hit.id for hit in store.search_text(scope, "atom", query, DEEP)] if mode != "cosine" else []
        near = [hit.id for hit in store.search_vector(scope, "atom", vector, DEEP)] if vector is not None else []
        ids = _joined(mode, words, near)
    return [atom.sources for atom in store.atoms(scope, ids)]


def _joined(mode: str, words: Sequence[str], near: Sequence[str]) -> list[str]:
    if mode == "rrf":
        return [id for id, _ in fuse([words, near])]
    return list(near if mode == "cosine" else words)
