"""What a memory holds, what works, what waits and why: for people, for gateways, for tests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from agentmem.longterm.clock import iso
from agentmem.longterm.scheduler import Pending
from agentmem.store.records import StoreStatus


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """``degraded`` names each part that does not work as configured, with the reason; empty when all do.

    ``scenes`` and ``persona`` are those of one scope, None when no scope was named.
    """

    store: StoreStatus
    extractor: str
    builder: str
    embedder: str | None
    pending: tuple[Pending, ...] = ()
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    scenes: int | None = None
    persona: bool | None = None
    background: bool = False

    @property
    def ok(self) -> bool:
        """True when every part works."""
        return not self.degraded

    def as_json(self) -> dict[str, Any]:
        """The same as plain values; times as ISO texts."""
        values = asdict(self)
        values["ok"] = self.ok
        values["pending"] = [_waiting(pending) for pending in self.pending]
        return values


def _waiting(pending: Pending) -> dict[str, Any]:
    return {
        "level": pending.level,
        "user": pending.scope.user,
        "agent": pending.scope.agent,
        "team": pending.scope.team,
        "session": pending.session,
        "messages": pending.messages,
        "due": None if pending.due is None else iso(int(pending.due * 1000)),
        "why": pending.why,
    }
