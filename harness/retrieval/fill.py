"""Brings a corpus into a store, as a memory would have captured it, and gives every row its vector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentmem.embed.protocol import Embedder
from agentmem.embed.worker import embed_pending
from agentmem.store.database import Store
from agentmem.store.records import Scope, Turn
from harness.errors import ModelFailed
from harness.retrieval.corpus import Conversation, Corpus

BATCH = 500


def scope_of(corpus: Corpus, conversation: Conversation) -> Scope:
    """Every conversation is another user, so that none can help or disturb another."""
    return Scope(conversation.id, corpus.name, "retrieval")


def fill(
    corpus: Corpus, folder: Path, embedder: Embedder | None, told: Callable[[int, int], None] = lambda done, of: None
) -> Store:
    """A new store in ``folder``. ``told`` hears how many rows have a vector. Raises ``ModelFailed``."""
    store = Store(folder / "memory.sqlite", clock=lambda: 0.0)
    for conversation in corpus.conversations:
        turns = [
            Turn(said.id, said.session, said.role, said.text, said.timestamp, said.speaker)
            for said in conversation.said
        ]
        for start in range(0, len(turns), BATCH):
            store.add_turns(scope_of(corpus, conversation), turns[start : start + BATCH])
    if embedder is not None:
        total = sum(len(conversation.said) for conversation in corpus.conversations)
        done = 0
        while True:
            step = embed_pending(store, embedder, most=512)
            if step.error:
                store.close()
                raise ModelFailed(f"{corpus.name}: after {done} rows: {step.error}")
            if not step.done:
                break
            done += step.done
            told(done, total)
    return store
