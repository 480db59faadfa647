"""Settings of long-term memory: capture, extraction, scenes and persona, scheduler, recall."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from agentmem.settings.base import Group, own

PromptMode = Literal["chat", "code"]
DAYS = 36_500


class Capture(Group):
    """What of a conversation is recorded, and for how long (L0)."""

    enabled: bool = True
    """Record conversations at all."""
    exclude_agents: list[str] = Field(default_factory=list)
    """Sessions that are left out: globs with `*`, matched against the whole session key."""
    l0l1_retention_days: int = Field(default=0, ge=0, le=DAYS)
    """Days after which messages and events expire; 0 keeps all. 1 and 2 act only with `allowAggressiveCleanup`."""
    allow_aggressive_cleanup: bool = False
    """Let `l0l1RetentionDays` be 1 or 2."""
    clean_time: str = "03:00"
    """Local time of the daily cleanup, `H:MM` or `HH:MM`."""
    code_block_chars: int = own(2_000, ge=0, le=1_000_000)
    """Characters of one fenced block that are kept of an assistant's text; a longer one keeps its head and tail."""

    @field_validator("clean_time")
    @classmethod
    def _time_of_day(cls, value: str) -> str:
        hours, colon, minutes = value.partition(":")
        well_formed = colon and hours.isascii() and hours.isdigit() and minutes.isascii() and minutes.isdigit()
        if not well_formed or len(hours) > 2 or len(minutes) != 2 or int(hours) > 23 or int(minutes) > 59:
            raise ValueError("a time of day between 0:00 and 23:59")
        return f"{int(hours):02}:{minutes}"


class Extraction(Group):
    """How messages become atoms (L1)."""

    enabled: bool = True
    """Extract atoms at all."""
    enable_dedup: bool = True
    """Compare new atoms with old ones before they are stored."""
    max_memories_per_session: int = Field(default=20, ge=1, le=1_000)
    """Most atoms one extraction call may store (per call, in spite of its name)."""
    model: str | None = Field(default=None, min_length=1)
    """Model for extraction, `provider/model` or a plain name; else that of `llm`."""
    prompt_mode: PromptMode | None = None
    """Atom types: `chat` (persona, episodic, instruction) or `code` (work types); else the global `promptMode`."""
    extractor: Literal["auto", "llm", "rules"] = own("auto")
    """Who extracts: `llm`, `rules` (no model), or `auto`: the model when there is one."""
    batch_messages: int = own(10, ge=1, le=100)
    """New messages shown to the extractor in one call (upstream: 10, fixed)."""
    background_messages: int = own(5, ge=0, le=100)
    """Earlier messages shown as context only (upstream: 5, fixed)."""
    timeout_ms: int = own(180_000, ge=1, le=3_600_000)
    """Time limit of one extraction or dedup call (upstream: 180,000, fixed)."""
    retry_delay_seconds: float = own(30, ge=0, le=86_400)
    """Wait before a failed batch is tried again (upstream: 30, fixed)."""
    max_retries: int = own(5, ge=0, le=100)
    """Tries after the first; then the batch is parked until the next turn or flush (upstream: 5, fixed)."""


class Persona(Group):
    """Scenes (L2) and persona (L3)."""

    trigger_every_n: int = Field(default=50, ge=1, le=1_000_000)
    """New atoms after which the persona is written again."""
    max_scenes: int = Field(default=15, ge=1, le=1_000)
    """Scenes a scope may hold; enforced."""
    backup_count: int = Field(default=3, ge=0, le=1_000)
    """Earlier versions of the persona that are kept."""
    scene_backup_count: int = Field(default=10, ge=0, le=1_000)
    """Earlier versions of all scenes that are kept."""
    model: str | None = Field(default=None, min_length=1)
    """Model for scenes and persona; else that of `llm`."""
    prompt_mode: PromptMode | None = None
    """`chat` or `code`; else the global `promptMode`."""
    builder: Literal["auto", "llm", "rules"] = own("auto")
    """Who writes scenes and persona: `llm`, `rules` (no model), or `auto`: the model when there is one."""
    max_scene_chars: int = own(1_500, ge=200, le=100_000)
    """Characters of a scene's body; enforced (upstream asks for 1,500)."""
    max_persona_chars: int = own(2_000, ge=200, le=100_000)
    """Characters of a persona in `chat` mode, without navigation; enforced (upstream asks for 2,000)."""
    max_work_persona_chars: int = own(1_200, ge=200, le=100_000)
    """Characters of a persona in `code` mode; enforced (upstream asks for 1,200)."""
    scene_timeout_ms: int = own(300_000, ge=1, le=3_600_000)
    """Time limit of one scene run with a model (upstream: 300,000, fixed)."""
    persona_timeout_ms: int = own(180_000, ge=1, le=3_600_000)
    """Time limit of one persona run with a model (upstream: 180,000, fixed)."""
    batch_atoms: int = own(50, ge=1, le=1_000)
    """Changed atoms shown to one scene run (upstream: no limit)."""


class Pipeline(Group):
    """When each level runs."""

    every_n_conversations: int = Field(default=5, ge=1, le=10_000)
    """Turns of a session after which atoms are extracted."""
    enable_warmup: bool = True
    """Begin with 1, 2, 4, ... turns until `everyNConversations` is reached."""
    l1_idle_timeout_seconds: float = Field(default=600, ge=0, le=604_800)
    """Extract what is left after that much silence."""
    l2_delay_after_l1_seconds: float = Field(default=10, ge=0, le=604_800)
    """Wait between an extraction and the scene run it causes."""
    l2_min_interval_seconds: float = Field(default=900, ge=0, le=604_800)
    """Least time between two scene runs of a session."""
    l2_max_interval_seconds: float = Field(default=3_600, ge=1, le=604_800)
    """Longest time without a scene run while a session is active."""
    session_active_window_hours: float = Field(default=24, gt=0, le=8_760)
    """A session without a turn for that long is cold: its scene timer stops."""
    shutdown_seconds: float = own(2, ge=0, le=600)
    """How long closing waits for work that is under way (upstream: 2, fixed)."""


class Recall(Group):
    """What is brought back into a prompt."""

    enabled: bool = True
    """Recall at all."""
    max_results: int = Field(default=5, ge=1, le=100)
    """Atoms recalled."""
    max_chars_per_memory: int = Field(default=0, ge=0, le=1_000_000)
    """Characters of one recalled line; 0 is no limit."""
    max_total_recall_chars: int = Field(default=0, ge=0, le=10_000_000)
    """Characters of all recalled lines; 0 means `defaultTotalChars`."""
    score_threshold: float = Field(default=0.3, ge=0, le=1)
    """Least raw score of a candidate, before the two searches are joined."""
    strategy: Literal["embedding", "keyword", "hybrid"] = "hybrid"
    """Which searches are used; one that is not possible is left out, and the result says so."""
    timeout_ms: int = Field(default=5_000, ge=1, le=600_000)
    """After that the recall returns what it has."""
    default_total_chars: int = own(6_000, ge=0, le=10_000_000)
    """Characters of all recalled lines when `maxTotalRecallChars` is 0; 0 here is no limit (upstream has none)."""

    @property
    def total_chars(self) -> int:
        """The limit that acts, in characters; 0 is no limit."""
        return self.max_total_recall_chars or self.default_total_chars
