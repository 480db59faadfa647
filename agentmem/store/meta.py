"""Facts about the file itself, by key: which index table is current, how it was cut, which embedder is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw


def get(connection: apsw.Connection, key: str) -> str | None:
    """The value, or None."""
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return None if value is None else str(value)


def put(connection: apsw.Connection, key: str, value: str | None) -> None:
    """Replace the value; None removes it."""
    if value is None:
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
    else:
        connection.execute("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", (key, value))
