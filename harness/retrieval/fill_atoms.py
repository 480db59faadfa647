"""Lets the rules make atoms (L1) of a filled store, session by session, as a memory without a model does."""

from __future__ import annotations

from agentmem.embed.protocol import Embedder
from agentmem.embed.worker import embed_pending
from agentmem.longterm.clock import ManualClock
from agentmem.longterm.dedup import RulesDecider
from agentmem.longterm.extractor_rules import RulesExtractor
from agentmem.longterm.l1 import L1Runner
from agentmem.settings.longterm import Extraction
from agentmem.store.database import Store
from harness.errors import ModelFailed
from harness.retrieval.corpus import Corpus
from harness.retrieval.fill import scope_of


def fill_atoms(corpus: Corpus, store: Store, embedder: Embedder | None) -> int:
    """Extract every conversation to its end; returns the number of live atoms. Raises ``ModelFailed``."""
    runner = L1Runner(store, Extraction(), "chat", RulesExtractor(), RulesDecider(), ManualClock(), embedder=embedder)
    for conversation in corpus.conversations:
        scope = scope_of(corpus, conversation)
        for session in store.sessions(scope):
            while runner.waiting(scope, session):
                runner.run(scope, session)
    while embedder is not None:
        step = embed_pending(store, embedder)
        if step.error:
            raise ModelFailed(f"{corpus.name}: {step.error}")
        if not step.done:
            break
    return store.status().atoms
