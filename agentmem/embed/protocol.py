"""What the memory needs of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agentmem.llm.protocol import Attempt

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors. May be called from any thread.

    ``name`` identifies the model with everything that changes its vectors; vectors of another name are not compared
    with these. ``dimensions`` is the length of a vector.
    """

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (texts, dimensions), of unit length; a text that has none gets zeros.

        Raises ``ModelUnavailable`` (try later), ``ModelRejected`` (no use) or ``BadAnswer``.
        """
        ...

    def spent(self) -> list[Attempt]:
        """Every request since the last time somebody asked, failed ones included; empty without a server."""
        ...
