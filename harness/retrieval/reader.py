"""The embedded reader: chooses the option that the given texts support best. No language model.

It stands in for a model only to compare what retrieval brought; its accuracy says nothing about any model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from agentmem.embed.protocol import Embedder
from agentmem.text.keywords import index_tokens
from agentmem.text.stopwords import ALL

WORDS = 1.0  # weight of shared words beside the cosine, which lies between -1 and 1


class Reader:
    """Scores options. ``embedder`` should be cached: every text is embedded again for every question."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def choose(self, question: str, options: Sequence[str], texts: Sequence[str]) -> int:
        """Place of the best-supported option; the first of equals. Without texts the question is all it knows."""
        known = list(texts) or [question]
        vectors = self._embedder.embed([*options, *known])
        near = (vectors[: len(options)] @ vectors[len(options) :].T).max(axis=1)
        shared = shared_words(options, known)
        return int(np.argmax([cosine + WORDS * words for cosine, words in zip(near, shared, strict=True)]))


def shared_words(options: Sequence[str], texts: Sequence[str]) -> list[float]:
    """For each option the share of its telling words that a text holds, the best text counting.

    Telling are words that not every option has; a word counts less the more texts hold it.
    """
    words = [set(index_tokens(option)) - ALL for option in options]
    common = set.intersection(*words) if words else set()
    held = [set(index_tokens(text)) for text in texts]
    spread = Counter(word for text in held for word in text)
    scores = []
    for mine in words:
        weights = {word: math.log1p(len(held) / (1 + spread[word])) for word in sorted(mine - common)}
        total = sum(weights.values())
        best = max((sum(weights[word] for word in weights if word in text) for text in held), default=0.0)
        scores.append(best / total if total > 0 else 0.0)
    return scores
