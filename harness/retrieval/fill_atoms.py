"""Atoms (L1) of a filled store: made by the rules, session by session, or taken from the data set's own notes."""

from __future__ import annotations

from agentmem.embed.protocol import Embedder
from agentmem.embed.worker import embed_pending
from agentmem.longterm.clock import ManualClock
from agentmem.longterm.dedup import RulesDecider
from agentmem.longterm.extractor_rules import RulesExtractor
from agentmem.longterm.l1 import L1Runner
from agentmem.settings.longterm import Extraction
from agentmem.store.database import Store
from agentmem.store.records import Atom
from harness.errors import DataError, ModelFailed
from harness.retrieval.corpus import Corpus
from harness.retrieval.fill import scope_of


def fill_atoms(corpus: Corpus, store: Store, embedder: Embedder | None) -> None:
    """Extract every conversation to its end. Raises ``ModelFailed``."""
    runner = L1Runner(store, Extraction(), "chat", RulesExtractor(), RulesDecider(), ManualClock(), embedder=embedder)
    for conversation in corpus.conversations:
        scope = scope_of(corpus, conversation)
        for session in store.sessions(scope):
            while runner.waiting(scope, session):
                runner.run(scope, session)
    _embed(corpus, store, embedder)


def fill_noted(corpus: Corpus, store: Store, embedder: Embedder | None) -> None:
    """Store what the data set notes of its conversations as if it were atoms. Raises ``DataError``, ``ModelFailed``."""
    if not any(conversation.noted for conversation in corpus.conversations):
        raise DataError(f"{corpus.name} notes nothing of its conversations: use --level turn or atom")
    for conversation in corpus.conversations:
        atoms = [
            Atom(
                noted.id, "episodic", noted.text, session=noted.session, sources=noted.sources, updated=noted.timestamp
            )
            for noted in conversation.noted
        ]
        store.put_atoms(scope_of(corpus, conversation), atoms)
    _embed(corpus, store, embedder)


def _embed(corpus: Corpus, store: Store, embedder: Embedder | None) -> None:
    while embedder is not None:
        step = embed_pending(store, embedder)
        if step.error:
            raise ModelFailed(f"{corpus.name}: {step.error}")
        if not step.done:
            break
