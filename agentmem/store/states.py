"""Small JSON objects by key: cursors, counters, the checkpoint of the pipeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentmem.errors import StoreError

if TYPE_CHECKING:
    import apsw


def get(connection: apsw.Connection, key: str) -> dict[str, Any] | None:
    """The object, or None."""
    value = connection.execute("SELECT value FROM states WHERE key = ?", (key,)).get
    return None if value is None else json.loads(value)


def put(connection: apsw.Connection, key: str, value: dict[str, Any] | None) -> None:
    """Replace it; None removes it. Raises ``StoreError`` for what JSON cannot hold (NaN, sets, ...)."""
    if value is None:
        connection.execute("DELETE FROM states WHERE key = ?", (key,))
        return
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise StoreError(f"state {key!r} cannot be written as JSON: {error}") from error
    connection.execute("INSERT OR REPLACE INTO states(key, value) VALUES (?, ?)", (key, text))


def every(connection: apsw.Connection, prefix: str) -> dict[str, dict[str, Any]]:
    """Objects whose key begins with the prefix, by key."""
    rows = connection.execute(
        "SELECT key, value FROM states WHERE substr(key, 1, ?) = ? ORDER BY key", (len(prefix), prefix)
    )
    return {key: json.loads(value) for key, value in rows}
