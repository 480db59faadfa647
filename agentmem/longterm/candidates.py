"""Old atoms that a new one is compared with: keyword and vector search over the whole scope, joined by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agentmem.errors import ModelError, StoreError
from agentmem.longterm.extraction import Draft
from agentmem.longterm.recall_candidates import fuse
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope


class TextEmbedder(Protocol):
    """What is needed of an embedder here."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text. Raises ``ModelError``."""
        ...


def find_candidates(
    store: MemoryStore, scope: Scope, new: Mapping[str, Draft], count: int, embedder: TextEmbedder | None = None
) -> tuple[dict[str, list[Atom]], str]:
    """At most ``count`` old atoms for each new one, nearest first, and why vectors were not used, if so.

    An embedder that fails leaves keyword search (upstream stores everything instead).
    """
    vectors, degraded = _vectors(new, embedder)
    found: dict[str, list[Atom]] = {}
    for row, (id, draft) in enumerate(new.items()):
        hits = [store.search_text(scope, "atom", draft.content, count * 2)]
        if vectors is not None:
            try:
                hits.append(store.search_vector(scope, "atom", vectors[row], count * 2))
            except StoreError as error:  # the vectors of another model: keyword search still works
                degraded = str(error)
        ids = [other for other, _ in fuse([[hit.id for hit in side] for side in hits]) if other not in new]
        found[id] = store.atoms(scope, ids[:count])
    return found, degraded


def _vectors(new: Mapping[str, Draft], embedder: TextEmbedder | None) -> tuple[NDArray[np.float32] | None, str]:
    if embedder is None or not new:
        return None, ""
    try:
        return embedder.embed([draft.content for draft in new.values()]), ""
    except ModelError as error:
        return None, f"duplicates were looked for by words only: {error}"
