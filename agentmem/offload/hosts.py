"""What hosts put into a conversation that is not the agent's work, and how a session finds its folder."""

from __future__ import annotations

import re
from pathlib import Path

from agentmem.errors import ConfigError
from agentmem.messages import Message

HEARTBEAT = "HEARTBEAT.md"
_INTERNAL = re.compile(r"memory-.*-session-\d+")
_KEY = re.compile(r"agent:([^:]+):(.+)", re.DOTALL)
_WORKER = re.compile(r"swebench-w(\d+)")
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_DOTS = re.compile(r"\.{2,}")
LONGEST = 64  # characters of a name made from a key that is no ``agent:NAME:SESSION``


def is_internal(session_key: str) -> bool:
    """True for the memory's own model runs: they are left alone."""
    return bool(_INTERNAL.search(session_key))


def is_heartbeat_call(arguments: str) -> bool:
    """True for a call that only keeps the agent alive."""
    return HEARTBEAT in arguments


def is_heartbeat_text(text: str) -> bool:
    """True for a turn that is left out of the context other calls are shown."""
    return "HEARTBEAT" in text or "heartbeat" in text


def heartbeat_ids(message: Message) -> set[str]:
    """Ids of the heartbeat calls of a message."""
    return {call.id for call in message.tool_calls if is_heartbeat_call(call.arguments)}


def session_folder(root: Path, session_key: str | None, session_id: str | None = None) -> Path:
    """``root``/AGENT/SESSION.

    The key ``agent:NAME:REST`` names both; parallel benchmark workers (``swebench-wN``) get agents of their own. With
    another key the session id is the session; with none at all the id alone is used. Raises ``ConfigError`` without
    either: a session that cannot be named must not run unnoticed.
    """
    if not session_key and not session_id:
        raise ConfigError("neither a session key nor a session id was given: one of them has to name the session")
    found = _KEY.fullmatch(session_key or "")
    if found:
        worker = _WORKER.search(found[2])
        return root / _safe(found[1] + (f"-w{worker[1]}" if worker else "")) / _safe(found[2])
    agent = _safe(session_key or "default")[:LONGEST]
    return root / agent / _safe(session_id or session_key or "")


def _safe(name: str) -> str:
    """A name that is one plain folder on every system."""
    safe = _DOTS.sub("_", _UNSAFE.sub("_", name)).strip()
    return safe if safe not in ("", ".") else "_"
