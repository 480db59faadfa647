"""Turns (L0): written once, read by cursor. Every function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.errors import RecordNotFound
from agentmem.store import vectors, words
from agentmem.store.frames import stamp
from agentmem.store.records import Added, Turn
from agentmem.store.rows import MANY, TURN, by_ids, insert_turn, storable, turn_of

if TYPE_CHECKING:
    import apsw


def add(
    connection: apsw.Connection, scope: int, turns: Sequence[Turn], tokens: Sequence[Sequence[str]], now: int
) -> Added:
    """Store turns with their index tokens. See ``MemoryStore.add_turns``."""
    known = {id: turn_of(row) for id, row in by_ids(connection, scope, "turn", (turn.id for turn in turns)).items()}
    new: list[str] = []
    replaced: list[str] = []
    unchanged: list[str] = []
    fresh: dict[int, Sequence[str]] = {}
    places: dict[str, int] = {}
    for turn, cut in zip(turns, tokens, strict=True):
        old = known.get(turn.id)
        position = turn.position
        if old is not None:
            if (old.content, old.role) == (storable(turn.content), turn.role):
                unchanged.append(turn.id)
                continue
            fresh.pop(old.seq, None)
            remove(connection, scope, [old.seq])
            position = old.position if position < 0 else position
        if position < 0:
            position = _next_place(connection, scope, turn.session, places)
        seq = insert_turn(connection, scope, turn, position, turn.recorded or now, len(cut))
        places[turn.session] = max(places.get(turn.session, -1), position)
        known[turn.id] = turn_of(
            (seq, turn.id, turn.session, position, turn.role, "", storable(turn.content), "", 0, 0, None, None, 0)
        )
        fresh[seq] = cut
        (new if old is None else replaced).append(turn.id)
    if fresh:
        words.add(connection, "turn", scope, fresh.items())
        stamp(connection, "turn", scope, "added")
    return Added(tuple(new), tuple(replaced), tuple(unchanged))


def after(connection: apsw.Connection, scope: int, cursor: int, limit: int, session: str | None) -> list[Turn]:
    """Turns behind the cursor, oldest first."""
    which, values = _of_session(session)
    rows = connection.execute(
        f"SELECT {TURN} FROM turns WHERE scope = ? AND seq > ? {which} ORDER BY seq LIMIT ?",
        (scope, cursor, *values, limit),
    )
    return [turn_of(row) for row in rows]


def before(connection: apsw.Connection, scope: int, cursor: int, limit: int, session: str | None) -> list[Turn]:
    """The last turns up to the cursor, oldest first."""
    which, values = _of_session(session)
    rows = connection.execute(
        f"SELECT {TURN} FROM turns WHERE scope = ? AND seq <= ? {which} ORDER BY seq DESC LIMIT ?",
        (scope, cursor, *values, limit),
    )
    return [turn_of(row) for row in rows][::-1]


def get(connection: apsw.Connection, scope: int | None, ids: Sequence[str]) -> list[Turn]:
    """Those that exist, in the order asked for."""
    if scope is None:
        return []
    found = by_ids(connection, scope, "turn", ids)
    return [turn_of(found[id]) for id in ids if id in found]


def one(connection: apsw.Connection, scope: int | None, id: str) -> Turn:
    """Raises ``RecordNotFound``."""
    found = get(connection, scope, [id])
    if not found:
        raise RecordNotFound(f"no turn {id!r} in this scope")
    return found[0]


def sessions(connection: apsw.Connection, scope: int) -> list[str]:
    """Names of sessions by their first turn."""
    rows = connection.execute("SELECT session FROM turns WHERE scope = ? GROUP BY session ORDER BY min(seq)", (scope,))
    return [row[0] for row in rows]


def count(connection: apsw.Connection, scope: int, cursor: int, session: str | None) -> int:
    """Number of turns behind the cursor."""
    which, values = _of_session(session)
    number = connection.execute(
        f"SELECT count(*) FROM turns WHERE scope = ? AND seq > ? {which}", (scope, cursor, *values)
    ).get
    return int(number)


def remove(connection: apsw.Connection, scope: int, seqs: Sequence[int]) -> None:
    """Take rows out of the table, the keyword index and the vectors."""
    if not seqs:
        return
    connection.executemany("DELETE FROM turns WHERE seq = ?", ((seq,) for seq in seqs))
    words.remove(connection, "turn", seqs)
    vectors.remove(connection, "turn", scope, seqs)
    stamp(connection, "turn", scope, "removed")


def seqs_of(connection: apsw.Connection, scope: int, ids: Sequence[str]) -> list[int]:
    """Row numbers of ids that exist."""
    found: list[int] = []
    for start in range(0, len(ids), MANY):
        part = ids[start : start + MANY]
        marks = ",".join("?" * len(part))
        rows = connection.execute(f"SELECT seq FROM turns WHERE scope = ? AND id IN ({marks})", (scope, *part))
        found.extend(row[0] for row in rows)
    return found


def _of_session(session: str | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if session is None else ("AND session = ?", (session,))


def _next_place(connection: apsw.Connection, scope: int, session: str, places: dict[str, int]) -> int:
    if session not in places:
        last = connection.execute(
            "SELECT max(position) FROM turns WHERE scope = ? AND session = ?", (scope, session)
        ).get
        places[session] = -1 if last is None else int(last)
    return places[session] + 1
