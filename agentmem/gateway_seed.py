"""Bulk import of conversations (memory_core.md B21): recorded in order, then extracted to the last message.

``data`` is a list of sessions: ``{"session_key": ..., "rounds": [[{"role", "content", "timestamp"?}, ...], ...]}``, or
the same with ``messages`` in place of ``rounds``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.core import Memory
from agentmem.store.records import Scope


def seed(memory: Memory, body: Mapping[str, Any], scope: Scope | None) -> dict[str, Any]:
    """Import and extract; returns counts. Raises ``ValueError`` naming what is wrong before anything is recorded."""
    sessions = [_session(entry, index, body) for index, entry in enumerate(_list(body.get("data"), "data"))]
    if body.get("strict_round_role"):
        for name, rounds in sessions:
            for number, messages in enumerate(rounds):
                _check_roles(messages, f"session {name!r}, round {number}")
    recorded = 0
    for name, rounds in sessions:
        for messages in rounds:
            captured = memory.capture(messages, session=name, scope=scope)
            recorded += len(captured.new) + len(captured.replaced)
    errors: list[str] = []
    done = True
    for name in dict.fromkeys(name for name, _ in sessions):
        flushed = memory.flush(name, scope)
        done = done and flushed.done
        errors += [ran.error for ran in flushed.ran if ran.error]
    return {"sessions": len(sessions), "l0_recorded": recorded, "flushed": done, "errors": errors}


def _session(entry: Any, index: int, body: Mapping[str, Any]) -> tuple[str, list[list[Any]]]:
    if not isinstance(entry, Mapping):
        raise ValueError(f"entry {index}: expected an object with session_key and rounds")
    name = entry.get("session_key") or body.get("session_key") or f"seed-{index}"
    if not isinstance(name, str):
        raise ValueError(f"entry {index}: session_key must be a text")
    if "messages" in entry:
        return name, [_list(entry["messages"], f"entry {index}, messages")]
    rounds = _list(entry.get("rounds"), f"entry {index}, rounds")
    return name, [_list(messages, f"entry {index}, round {number}") for number, messages in enumerate(rounds)]


def _check_roles(messages: list[Any], where: str) -> None:
    roles = [message.get("role") if isinstance(message, Mapping) else None for message in messages]
    if roles[:1] != ["user"] or "assistant" not in roles:
        raise ValueError(f"{where}: expected a user message and an answer, got roles {roles}")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{where}: expected a list that is not empty")
    return value
