"""Atoms (L1): written, superseded and linked to turns. Every function works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentmem.errors import RecordNotFound, StoreConflict
from agentmem.store import meta, vectors, words
from agentmem.store.frames import stamp
from agentmem.store.records import Atom
from agentmem.store.rows import ATOM, MANY, atom_of, by_ids, insert_atom, storable

if TYPE_CHECKING:
    import apsw


def put(
    connection: apsw.Connection,
    scope: int,
    atoms: Sequence[Atom],
    tokens: Sequence[Sequence[str]],
    supersedes: Mapping[str, Sequence[str]],
    now: int,
) -> None:
    """Store atoms with their index tokens and mark those they replace. See ``MemoryStore.put_atoms``."""
    known = _known(
        connection, scope, [*(atom.id for atom in atoms), *(id for ids in supersedes.values() for id in ids)]
    )
    change = int(meta.get(connection, "change") or 0)
    fresh: list[tuple[int, Sequence[str]]] = []
    for atom, cut in zip(atoms, tokens, strict=True):
        old = known.get(atom.id)
        if old is not None:
            _check_same(old, atom)
            continue
        change += 1
        stored = replace(atom, created=atom.created or now, updated=atom.updated or now)
        seq = insert_atom(connection, scope, stored, change, len(cut))
        known[atom.id] = replace(stored, seq=seq)
        if atom.superseded_by is None:
            fresh.append((seq, cut))
    if fresh:
        words.add(connection, "atom", scope, fresh)
        stamp(connection, "atom", scope, "added")
    gone: list[int] = []
    for new, olds in supersedes.items():
        for id in olds:
            old = _replaceable(known, new, id)
            if old is not None:
                change += 1
                connection.execute(
                    "UPDATE atoms SET superseded_by = ?, change = ? WHERE seq = ?", (new, change, old.seq)
                )
                known[id] = replace(old, superseded_by=new)
                gone.append(old.seq)
    _take_from_search(connection, scope, gone)
    meta.put(connection, "change", str(change))


def get(connection: apsw.Connection, scope: int | None, ids: Sequence[str] | None, superseded: bool) -> list[Atom]:
    """Atoms of the ids in their order, or all by ``seq``; superseded ones only when asked for."""
    if scope is None:
        return []
    if ids is None:
        live = "" if superseded else "AND superseded_by IS NULL"
        rows = connection.execute(f"SELECT {ATOM} FROM atoms WHERE scope = ? {live} ORDER BY seq", (scope,))
        return [atom_of(row) for row in rows]
    known = _known(connection, scope, ids)
    return [known[id] for id in ids if id in known and (superseded or known[id].superseded_by is None)]


def one(connection: apsw.Connection, scope: int | None, id: str) -> Atom:
    """Live or superseded. Raises ``RecordNotFound``."""
    found = get(connection, scope, [id], superseded=True)
    if not found:
        raise RecordNotFound(f"no atom {id!r} in this scope")
    return found[0]


def changed_since(connection: apsw.Connection, scope: int, change: int, limit: int) -> list[Atom]:
    """Atoms written or superseded after that change, in order."""
    rows = connection.execute(
        f"SELECT {ATOM} FROM atoms WHERE scope = ? AND change > ? ORDER BY change LIMIT ?", (scope, change, limit)
    )
    return [atom_of(row) for row in rows]


def resting_on(connection: apsw.Connection, scope: int, turn_ids: Sequence[str]) -> list[Atom]:
    """Atoms whose sources hold one of the turns, by ``seq``."""
    found: dict[int, Atom] = {}
    columns = ", ".join(f"atoms.{name.strip()}" for name in ATOM.split(","))
    for start in range(0, len(turn_ids), MANY):
        part = turn_ids[start : start + MANY]
        marks = ",".join("?" * len(part))
        for row in connection.execute(
            f"SELECT {columns} FROM links JOIN atoms ON atoms.seq = links.atom "
            f"WHERE links.scope = ? AND links.turn IN ({marks})",
            (scope, *part),
        ):
            found[row[0]] = atom_of(row)
    return [found[seq] for seq in sorted(found)]


def remove(connection: apsw.Connection, scope: int, seqs: Sequence[int]) -> None:
    """Take rows out of the table, the links, the keyword index and the vectors."""
    if not seqs:
        return
    for seq in seqs:
        sources = connection.execute("SELECT sources FROM atoms WHERE seq = ?", (seq,)).get
        if sources:
            connection.execute(
                "DELETE FROM links WHERE scope = ? AND atom = ? AND turn IN (SELECT value FROM json_each(?))",
                (scope, seq, sources),
            )
    connection.executemany("DELETE FROM atoms WHERE seq = ?", ((seq,) for seq in seqs))
    _take_from_search(connection, scope, seqs)


def seqs_of(connection: apsw.Connection, scope: int, ids: Sequence[str]) -> list[int]:
    """Row numbers of ids that exist."""
    return [atom.seq for atom in _known(connection, scope, ids).values()]


def _known(connection: apsw.Connection, scope: int, ids: Sequence[str]) -> dict[str, Atom]:
    return {id: atom_of(row) for id, row in by_ids(connection, scope, "atom", ids).items()}


def _check_same(old: Atom, new: Atom) -> None:
    if (old.content, old.type, old.sources) != (storable(new.content), new.type, new.sources):
        raise StoreConflict(f"atom {new.id!r} exists with another content; nothing was written")


def _replaceable(known: Mapping[str, Atom], new: str, id: str) -> Atom | None:
    """The atom to mark, None when it is marked already as asked. Raises ``StoreConflict``."""
    if new not in known:
        raise StoreConflict(f"atom {id!r} cannot be superseded by {new!r}, which does not exist")
    old = known.get(id)
    if old is None:
        raise StoreConflict(f"atom {id!r}, to be superseded by {new!r}, does not exist any more")
    if old.superseded_by == new:
        return None
    if old.superseded_by is not None or id == new:
        raise StoreConflict(f"atom {id!r} is already superseded by {old.superseded_by!r}")
    return old


def _take_from_search(connection: apsw.Connection, scope: int, seqs: Sequence[int]) -> None:
    if seqs:
        words.remove(connection, "atom", seqs)
        vectors.remove(connection, "atom", scope, seqs)
        stamp(connection, "atom", scope, "removed")
