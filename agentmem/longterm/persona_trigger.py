"""When the persona (L3) is written: five rules in order, the first that matches wins. memory_core.md B12."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentmem.longterm.scene_format import strip_navigation


@dataclass(frozen=True, slots=True)
class Trigger:
    """Why it is written. ``priority`` is the number of the rule: 1, 2, 2.5, 3 or 4."""

    priority: str
    reason: str
    detail: str | None = None


def persona_trigger(
    counters: Mapping[str, Any], has_scenes: bool, persona: str | None, interval: int
) -> Trigger | None:
    """The rule that fires, or None.

    ``counters`` holds ``request_persona_update``, ``persona_update_reason``, ``scenes_processed``,
    ``last_persona_at``, ``last_persona_time`` and ``memories_since_last_persona``; ``persona`` is the text of the
    file, None when there is none.
    """
    if counters.get("request_persona_update"):
        return Trigger("1", "a scene asked for it", counters.get("persona_update_reason") or None)
    processed = int(counters.get("scenes_processed") or 0)
    waiting = int(counters.get("memories_since_last_persona") or 0)
    has_body = bool(strip_navigation(persona or "").strip())
    generated = bool(counters.get("last_persona_at") or counters.get("last_persona_time"))
    if processed > 0 and has_scenes and not generated and not has_body:
        return Trigger("2", "there is none yet")
    if generated and has_scenes and not has_body:
        return Trigger("2.5", "it was lost")
    if processed == 1 and waiting > 0:
        return Trigger("3", "the first scenes are there")
    if interval > 0 and waiting >= interval:
        return Trigger("4", "enough new memories", f"{waiting} >= {interval}")
    return None
