"""How turns and atoms stand in their tables, and the statements that read and write single rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentmem.store.records import Atom, Level, Turn

if TYPE_CHECKING:
    import apsw

TURN = "seq, id, session, position, role, speaker, content, kind, timestamp, offset, refs, metadata, recorded"
ATOM = (
    "seq, id, type, content, priority, scene, session, sources, metadata, timestamps, created, updated, version, "
    "superseded_by, change"
)
TABLE: Mapping[Level, str] = {"turn": "turns", "atom": "atoms"}
MANY = 500  # values bound in one statement


def turn_of(row: Sequence[Any]) -> Turn:
    """The record of a row selected as ``TURN``."""
    seq, id, session, position, role, speaker, content, kind, timestamp, offset, refs, metadata, recorded = row
    return Turn(
        id,
        session,
        role,
        content,
        timestamp,
        speaker,
        position,
        offset,
        kind,
        _texts(refs),
        _object(metadata),
        recorded,
        seq,
    )


def atom_of(row: Sequence[Any]) -> Atom:
    """The record of a row selected as ``ATOM``."""
    seq, id, type, content, priority, scene, session, sources, metadata, timestamps, *rest = row
    created, updated, version, superseded_by, change = rest
    return Atom(
        id, type, content, priority, scene, session, _texts(sources), _object(metadata), _texts(timestamps), created,
        updated, version, superseded_by, seq, change,
    )  # fmt: skip


def insert_turn(connection: apsw.Connection, scope: int, turn: Turn, position: int, recorded: int, words: int) -> int:
    """Write a new row; returns its ``seq``. ``words`` is its number of index tokens."""
    connection.execute(
        "INSERT INTO turns(scope, id, session, position, role, speaker, content, kind, timestamp, offset, refs, "
        "metadata, recorded, words, asks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, turn.id, turn.session, position, turn.role, turn.speaker, storable(turn.content), turn.kind,
            turn.timestamp, turn.offset, _json(turn.refs), _json(turn.metadata), recorded,
            words, turn.content.rstrip().endswith(("?", "？")),
        ),
    )  # fmt: skip
    return connection.last_insert_rowid()


def insert_atom(connection: apsw.Connection, scope: int, atom: Atom, change: int, words: int) -> int:
    """Write a new row and its links to turns; returns its ``seq``. ``words`` is its number of index tokens."""
    connection.execute(
        "INSERT INTO atoms(scope, id, type, content, priority, scene, session, sources, metadata, timestamps, created, "
        "updated, version, superseded_by, change, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope, atom.id, atom.type, storable(atom.content), atom.priority, atom.scene, atom.session,
            _json(atom.sources) or "[]", _json(atom.metadata), _json(atom.timestamps), atom.created, atom.updated,
            atom.version, atom.superseded_by, change, words,
        ),
    )  # fmt: skip
    seq = connection.last_insert_rowid()
    connection.executemany(
        "INSERT OR IGNORE INTO links(scope, turn, atom) VALUES (?, ?, ?)", ((scope, id, seq) for id in atom.sources)
    )
    return seq


def by_ids(connection: apsw.Connection, scope: int, level: Level, ids: Iterable[str]) -> dict[str, Sequence[Any]]:
    """Rows of those ids that exist, by id."""
    columns = TURN if level == "turn" else ATOM
    found: dict[str, Sequence[Any]] = {}
    wanted = list(dict.fromkeys(ids))
    for start in range(0, len(wanted), MANY):
        part = wanted[start : start + MANY]
        marks = ",".join("?" * len(part))
        for row in connection.execute(
            f"SELECT {columns} FROM {TABLE[level]} WHERE scope = ? AND id IN ({marks})", (scope, *part)
        ):
            found[row[1]] = row
    return found


def ids_of(connection: apsw.Connection, level: Level, seqs: Sequence[int]) -> dict[int, str]:
    """Ids of rows that exist, by ``seq``."""
    found: dict[int, str] = {}
    for start in range(0, len(seqs), MANY):
        part = seqs[start : start + MANY]
        marks = ",".join("?" * len(part))
        found.update(connection.execute(f"SELECT seq, id FROM {TABLE[level]} WHERE seq IN ({marks})", part))
    return found


def storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot hold; each becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json(value: Sequence[str] | Mapping[str, Any]) -> str | None:
    if not value:
        return None
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _texts(value: str | None) -> tuple[str, ...]:
    return tuple(json.loads(value)) if value else ()


def _object(value: str | None) -> dict[str, Any]:
    return json.loads(value) if value else {}
