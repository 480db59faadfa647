"""Settings of hosts and of parts that upstream has and this package does not."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentmem.settings.base import Group, own, unused


class Server(Group):
    """The gateway, and where a client finds one."""

    url: str | None = Field(default=None, min_length=1)
    """Address of a gateway; when set, `offload.mode` defaults to `client`."""
    api_key: str | None = Field(default=None, min_length=1)
    """Bearer key the gateway asks for; unset asks for none."""
    instance_id: str = unused("default", min_length=1)
    """Deployments with many instances only."""
    host: str = Field(default="127.0.0.1", min_length=1)
    """Address the gateway listens on."""
    port: int = Field(default=8_420, ge=0, le=65_535)
    """Port the gateway listens on; 0 takes a free one."""
    max_body_bytes: int = own(1_048_576, ge=1_024, le=1_073_741_824)
    """Largest request body; a larger one is answered with 413 (upstream: environment variable)."""
    session_end_seconds: float = own(60, ge=0, le=3_600)
    """How long `/session/end` waits for extraction before it answers `flushed: false`."""


class Tcvdb(Group):
    """A remote vector database. Only `sqlite` is implemented here."""

    url: str = unused("")
    """Remote store only."""
    username: str = unused("root")
    """Remote store only."""
    api_key: str = unused("")
    """Remote store only."""
    database: str = unused("")
    """Remote store only."""
    alias: str = unused("")
    """Remote store only."""
    embedding_enabled: bool = unused(False)
    """Remote store only."""
    embedding_model: str = unused("bge-large-zh")
    """Remote store only."""
    timeout: int = unused(10_000, ge=1, le=3_600_000)
    """Remote store only; milliseconds."""
    ca_pem_path: str | None = unused(None, min_length=1)
    """Remote store only."""


class Bm25(Group):
    """Sparse vectors of the remote store."""

    enabled: bool = unused(True)
    """Remote store only; keyword search is always on here."""
    language: Literal["zh", "en"] = unused("zh")
    """Remote store only."""


class Report(Group):
    """Metric events."""

    enabled: bool = unused(False)
    """This package sends nothing anywhere."""
    type: str = unused("local", min_length=1)
    """This package sends nothing anywhere."""
