"""Settings of short-term memory (offload)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from agentmem.settings.base import Group, unused
from agentmem.settings.models import Thinking


class Offload(Group):
    """Short-term memory: evidence, summaries, task boundaries, canvas, compression."""

    enabled: bool = False
    """Offload tool results."""
    mode: Literal["local", "backend", "client", "collect"] | None = None
    """Where the work is done; unset: `backend` with a `backendUrl`, `client` with a `server.url`, else `local`."""
    model: str | None = Field(default=None, min_length=1)
    """Model for summaries, boundaries and canvas; else that of `llm`."""
    temperature: float = Field(default=0.2, ge=0, le=2)
    """Temperature of those calls."""
    disable_thinking: Thinking = False
    """Turn off a model's reasoning in those calls; see `llm.disableThinking`."""
    force_trigger_threshold: int = Field(default=4, ge=1, le=10_000)
    """Pending results that force a summary run."""
    data_dir: str | None = Field(default=None, min_length=1)
    """Folder for evidence and canvases; absolute."""
    default_context_window: int = Field(default=200_000, ge=1_000, le=100_000_000)
    """Window in tokens when the model's is unknown."""
    max_pairs_per_batch: int = unused(20, ge=1, le=10_000)
    """Has no effect upstream either: batches hold 5."""
    l2_null_threshold: int = Field(default=4, ge=1, le=10_000)
    """Entries without a node that trigger a canvas run."""
    l2_timeout_seconds: float = Field(default=300, ge=0, le=86_400)
    """Age of such an entry that triggers one."""
    mild_offload_ratio: float = Field(default=0.5, gt=0, le=1)
    """Share of the window at which old results are replaced by their summaries."""
    aggressive_compress_ratio: float = Field(default=0.85, gt=0, le=1)
    """Share of the window at which the oldest messages are removed."""
    mmd_max_token_ratio: float = Field(default=0.2, gt=0, le=1)
    """Share of the window that canvases may take."""
    compaction_ratio: float = unused(0.5, gt=0, le=1)
    """Client mode only."""
    ingest_timeout_ms: int = unused(5_000, ge=1, le=3_600_000)
    """Client mode only."""
    compaction_timeout_ms: int = unused(30_000, ge=1, le=3_600_000)
    """Client mode only."""
    backend_url: str | None = unused(None, min_length=1)
    """Backend mode only."""
    backend_api_key: str | None = unused(None, min_length=1)
    """Backend mode only."""
    backend_timeout_ms: int = unused(120_000, ge=1, le=3_600_000)
    """Has no effect upstream either."""
    offload_retention_days: int = Field(default=0, ge=0, le=36_500)
    """Days after which evidence below `dataDir` that no canvas cites goes, at `capture.cleanTime`; under 3: never."""
    log_max_size_mb: float = Field(default=50, gt=0, le=100_000)
    """Size at which a log is cut."""
    user_id: str | None = unused(None, min_length=1)
    """Client mode only."""
    server_url: str | None = unused(None, min_length=1)
    """Client mode only; else `server.url`."""
    api_key: str | None = unused(None, min_length=1)
    """Client mode only; else `server.apiKey`."""
    service_id: str | None = unused(None, min_length=1)
    """Client mode only; else `server.instanceId`."""
    agent_name: str | None = unused(None, min_length=1)
    """Never read from the configuration upstream."""

    @model_validator(mode="after")
    def _in_order(self) -> Offload:
        if self.mild_offload_ratio > self.aggressive_compress_ratio:
            mild, aggressive = self.mild_offload_ratio, self.aggressive_compress_ratio
            raise ValueError(f"mildOffloadRatio {mild} is above aggressiveCompressRatio {aggressive}")
        return self
