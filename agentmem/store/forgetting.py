"""Deletes for good, and counts what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.store import atoms, turns, words
from agentmem.store.records import LEVELS, Traces
from agentmem.store.rows import TABLE

if TYPE_CHECKING:
    import apsw


def scope_rows(connection: apsw.Connection, scope: int) -> int:
    """Remove everything that stands under the number of a scope; returns the number of turns and atoms."""
    mine = [row[0] for row in connection.execute("SELECT seq FROM turns WHERE scope = ?", (scope,))]
    memories = [row[0] for row in connection.execute("SELECT seq FROM atoms WHERE scope = ?", (scope,))]
    turns.remove(connection, scope, mine)
    atoms.remove(connection, scope, memories)
    for table in ("links", "vectors", "stamps"):
        connection.execute(f"DELETE FROM {table} WHERE scope = ?", (scope,))
    connection.execute("DELETE FROM scopes WHERE id = ?", (scope,))
    return len(mine) + len(memories)


def counts(connection: apsw.Connection, scope: int | None) -> dict[str, int]:
    """Number of turns, live atoms and superseded atoms, of one scope or of all."""
    which, values = ("", ()) if scope is None else ("AND scope = ?", (scope,))

    def count(table: str, condition: str) -> int:
        return int(connection.execute(f"SELECT count(*) FROM {table} WHERE {condition} {which}", values).get)

    return {
        "turns": count("turns", "1"),
        "atoms": count("atoms", "superseded_by IS NULL"),
        "superseded": count("atoms", "superseded_by IS NOT NULL"),
    }


def traces(connection: apsw.Connection, scope: int | None, ids: Sequence[str] | None) -> Traces:
    """What is left of the ids, or of the whole scope, and index entries of the file that belong to no row at all."""
    counts: dict[str, int] = {}
    if scope is not None and ids is None:
        counts["scopes"] = 1
        for table in ("turns", "atoms", "links", "vectors"):
            counts[table] = connection.execute(f"SELECT count(*) FROM {table} WHERE scope = ?", (scope,)).get
        for level in LEVELS:
            counts[f"{level} words"] = words.count_of_scope(connection, level, scope)
    elif scope is not None and ids is not None:
        counts["turns"] = len(turns.seqs_of(connection, scope, ids))
        counts["atoms"] = len(atoms.seqs_of(connection, scope, ids))
    for level in LEVELS:
        counts[f"{level} words without a row"] = words.orphans(connection, level)
        counts[f"{level} vectors without a row"] = connection.execute(
            f"SELECT count(*) FROM vectors WHERE level = ? AND seq NOT IN (SELECT seq FROM {TABLE[level]})", (level,)
        ).get
    counts["links without a row"] = connection.execute(
        "SELECT count(*) FROM links WHERE atom NOT IN (SELECT seq FROM atoms)"
    ).get
    return Traces(counts)
