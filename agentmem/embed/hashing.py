"""The last resort: hashed words and letter triples. It knows spelling, not meaning, and is labelled so."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from agentmem.embed.normal import normalised
from agentmem.embed.protocol import Vectors
from agentmem.llm.protocol import Attempt
from agentmem.text.keywords import fold, index_tokens

SEED = 0x9E3779B9


class HashingEmbedder:
    """Needs no model and no network; the same text gives the same vector on every machine."""

    def __init__(self, dimensions: int = 512) -> None:
        self.name = f"hashing/1-{dimensions} (no model: spelling only)"
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Never fails; a text without letters and digits gets zeros."""
        matrix = np.zeros((len(texts), self.dimensions), np.float64)
        for row, text in enumerate(texts):
            for part, times in _parts(text).items():
                code = zlib.crc32(part.encode("utf-8", "replace"), SEED)
                sign = 1.0 if code & 1 else -1.0
                matrix[row, (code >> 1) % self.dimensions] += sign * (1.0 + math.log(times))
        return normalised(matrix)

    def spent(self) -> list[Attempt]:
        """Always empty."""
        return []


def _parts(text: str) -> Counter[str]:
    parts: Counter[str] = Counter(f"w{token}" for token in index_tokens(text))
    for word in fold(text).split():
        if any(letter.isalnum() for letter in word):
            padded = f" {word[:64]} "
            parts.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return parts
