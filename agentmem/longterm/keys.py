"""Names for what is kept: scopes as keys and folders, ids of atoms. The same input gives the same name everywhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import quote

from agentmem.store.records import Scope


def scope_key(scope: Scope) -> str:
    """A scope as one text, unambiguous whatever its parts hold."""
    return "|".join(quote(part, safe="") for part in (scope.team, scope.agent, scope.user))


def scope_folder(scope: Scope) -> str:
    """A folder name for a scope: readable, legal on every system, and never shared by two scopes."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", scope.user).strip("-")[:40] or "user"
    return f"{readable.lower()}-{digest(scope.team, scope.agent, scope.user, size=6)}"


def state_key(kind: str, scope: Scope, session: str | None = None) -> str:
    """The key of a small state: ``kind/scope`` or ``kind/scope/session``."""
    return f"{kind}/{scope_key(scope)}" + ("" if session is None else f"/{session}")


def digest(*parts: str, size: int = 8) -> str:
    """Hex of a hash over parts; ("ab", "c") and ("a", "bc") differ."""
    hashed = hashlib.blake2b(digest_size=size)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


def atom_id(scope: Scope, kind: str, content: str, sources: Iterable[str]) -> str:
    """The id of an atom, from what it says and what it rests on: a second extraction of the same gives the same id."""
    return f"m_{digest(scope_key(scope), kind, content, *sorted(sources), size=6)}"


def slug(text: str, limit: int = 48) -> str:
    """A file name part of lower-case letters, digits, Han characters and dashes; empty when nothing of that is left."""
    plain = re.sub(r"[^\w\u3400-\u9fff]+", "-", text.lower()).strip("-_")
    return plain[:limit].strip("-_")
