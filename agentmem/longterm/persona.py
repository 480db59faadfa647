"""The persona (L3): written when a trigger fires, within its size, every line with the ids it rests on.

A run that failed puts the old text back and is not counted as done. memory_core.md B12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agentmem.errors import BadAnswer, ModelError
from agentmem.longterm.citations import cited_ids, fitted, supported
from agentmem.longterm.clock import Clock, iso
from agentmem.longterm.keys import state_key
from agentmem.longterm.persona_trigger import Trigger, persona_trigger
from agentmem.longterm.profile import Profile
from agentmem.longterm.sanitize import escape_xml_tags
from agentmem.longterm.scene_format import Scene
from agentmem.longterm.scenes import live_ids, weigher
from agentmem.settings.longterm import Persona as PersonaSettings
from agentmem.settings.longterm import PromptMode
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Scope


class PersonaBuilder(Protocol):
    """Writes the body of a persona."""

    name: str

    def write(self, before: str, scenes: Sequence[Scene], trigger: Trigger, limit: int) -> str:
        """The new body, with ids behind each line. ``before`` is empty for the first one. Raises ``ModelError``."""
        ...


@dataclass(frozen=True, slots=True)
class PersonaResult:
    """What a run did: the trigger, or None when none fired; whether the text changed; lines that rested on nothing,
    and lines over the size limit."""

    trigger: Trigger | None = None
    changed: bool = False
    unsupported: int = 0
    over: int = 0


class PersonaRunner:
    """Runs one scope at a time."""

    def __init__(
        self, store: MemoryStore, settings: PersonaSettings, mode: PromptMode, builder: PersonaBuilder, clock: Clock
    ) -> None:
        self.store = store
        self.settings = settings
        self.mode = mode
        self.builder = builder
        self.clock = clock

    @property
    def limit(self) -> int:
        """Characters a persona may have."""
        return self.settings.max_work_persona_chars if self.mode == "code" else self.settings.max_persona_chars

    def due(self, scope: Scope, profile: Profile) -> Trigger | None:
        """The trigger that fires now."""
        counters = self.store.state(state_key("profile", scope)) or {}
        return persona_trigger(counters, bool(profile.scenes()), profile.persona_file(), self.settings.trigger_every_n)

    def run(self, scope: Scope, profile: Profile, force: bool = False) -> PersonaResult:
        """Write the persona if a trigger fires, if a line of it rests on something that was replaced, or if ``force``;
        refresh its navigation otherwise.

        Raises ``ModelError`` when the builder failed; of the old text those lines stand that are still true, and the
        trigger stays.
        """
        trigger = self.due(scope, profile) or (Trigger("0", "asked for") if force else None)
        scenes = profile.scenes()
        before = profile.persona() or ""
        holds, stale = supported(before, live_ids(self.store, scope, [before]), strict=True)
        if trigger is None and stale:
            trigger = Trigger("1", "memories it rests on were replaced", f"{stale} lines")
        if trigger is None or not scenes:
            if before:
                self._refresh(profile, holds)
            return PersonaResult(unsupported=stale)
        profile.back_up("persona", self.settings.backup_count)
        try:
            body = escape_xml_tags(self.builder.write(holds, scenes, trigger, self.limit))
            body, unsupported = supported(body, live_ids(self.store, scope, [body]))
            body, over = fitted(body, self.limit, weigher(self.store, scope))
            if not cited_ids(body):
                raise BadAnswer("l3-persona: no line rests on a memory")
        except ModelError:
            self._refresh(profile, holds)  # what is no longer true must not stay, whatever the builder did
            raise
        profile.write_persona(body)
        self._mark(scope)
        return PersonaResult(trigger, body != before, unsupported, over)

    def _refresh(self, profile: Profile, body: str) -> None:
        """The navigation follows the scenes."""
        parts = [part for part in (body, profile.navigation()) if part]
        if "\n\n".join(parts) + "\n" != (profile.persona_file() or "\n"):
            profile.write_persona(body)

    def _mark(self, scope: Scope) -> None:
        def change(counters: dict[str, Any]) -> dict[str, Any]:
            counters["last_persona_at"] = max(1, int(counters.get("total_memories_extracted", 0)))
            counters["last_persona_time"] = iso(int(self.clock.now()) * 1000)
            counters["memories_since_last_persona"] = 0
            counters["request_persona_update"] = False
            counters["persona_update_reason"] = ""
            return counters

        self.store.update_state(state_key("profile", scope), change)
