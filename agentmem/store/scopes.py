"""Numbers of scopes inside the file. A number is never given twice, not even after its scope was deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.store.records import Scope

if TYPE_CHECKING:
    import apsw


def find(connection: apsw.Connection, scope: Scope) -> int | None:
    """The number of a scope, or None when nothing was ever written to it."""
    number = connection.execute(
        "SELECT id FROM scopes WHERE user = ? AND agent = ? AND team = ?", (scope.user, scope.agent, scope.team)
    ).get
    return None if number is None else int(number)


def make(connection: apsw.Connection, scope: Scope) -> int:
    """The number of a scope, a new one where there is none."""
    number = find(connection, scope)
    if number is None:
        connection.execute(
            "INSERT INTO scopes(user, agent, team) VALUES (?, ?, ?)", (scope.user, scope.agent, scope.team)
        )
        number = connection.last_insert_rowid()
    return number


def every(connection: apsw.Connection) -> list[Scope]:
    """All scopes, in order of their first write."""
    return [Scope(*row) for row in connection.execute("SELECT user, agent, team FROM scopes ORDER BY id")]
