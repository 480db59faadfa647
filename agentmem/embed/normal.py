"""Brings vectors of any source into one form: float32, finite, unit length, zeros where there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from agentmem.embed.protocol import Vectors


def normalised(vectors: ArrayLike) -> Vectors:
    """Rows of unit length. NaN and infinities count as 0, as upstream does (memory_core.md B19)."""
    matrix = np.nan_to_num(np.asarray(vectors, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0), np.float32)
