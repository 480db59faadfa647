"""What is deleted is gone from rows, links, keyword index, vectors and, after a scrub, from the bytes of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn

ANA, BEN = Scope("ana"), Scope("ben")
SECRET = "xylophonequartz"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two scopes with turns, atoms and vectors; the secret is in three places of each."""
    opened = Store(tmp_path / "memory.db")
    opened.use_embedder("m", 8)
    for scope in (ANA, BEN):
        opened.add_turns(scope, [Turn(f"t{i}", "s", "user", f"{SECRET} {i} filler", i) for i in range(300)])
        opened.put_atoms(scope, [Atom("a", "persona", f"knows {SECRET}", sources=("t0", "t1"))])
        opened.put_atoms(scope, [Atom("b", "persona", f"knew {SECRET}", sources=("t1",))], {"b": ["a"]})
    for level in ("turn", "atom"):
        while rows := opened.pending(level, 500):
            opened.put_vectors(level, [row.seq for row in rows], np.ones((len(rows), 8), np.float32))
    yield opened
    opened.close()


def holds(path: Path, text: str) -> bool:
    """Whether any file of the database holds the text."""
    return any(text.encode() in file.read_bytes() for file in path.parent.glob("memory.db*"))


def test_records_are_removed_everywhere_and_nothing_else(store: Store) -> None:
    assert not store.traces(ANA, ["t0", "a"]).none
    assert store.delete_turns(ANA, ["t0", "t5", "nobody"]) == 2
    assert store.delete_atoms(ANA, ["a"]) == 1
    assert store.traces(ANA, ["t0", "t5", "a"]).none
    assert store.atoms_resting_on(ANA, ["t0"]) == []
    assert [atom.id for atom in store.atoms_resting_on(ANA, ["t1"])] == ["b"]
    assert store.search_text(ANA, "turn", "5", 5) == []
    assert len(store.search_vector(ANA, "turn", np.ones(8, np.float32), 1_000)) == 298
    assert store.status(BEN).turns == 300
    counts = store.traces(ANA).counts
    assert (counts["turns"], counts["turn words"], counts["vectors"]) == (298, 298, 299)


def test_a_deleted_scope_leaves_no_trace(store: Store) -> None:
    assert store.delete_scope(ANA) == 302
    assert store.traces(ANA).none
    assert store.scopes() == [BEN]
    assert store.search_text(ANA, "turn", SECRET, 5) == []
    assert store.search_vector(ANA, "turn", np.ones(8, np.float32), 5) == []
    assert store.delete_scope(ANA) == 0
    store.add_turns(ANA, [Turn("new", "s", "user", "fresh start", 0)])
    assert [hit.id for hit in store.search_text(ANA, "turn", f"{SECRET} fresh", 5)] == ["new"]
    assert len(store.search_text(BEN, "turn", SECRET, 500)) == 300


def test_a_scrub_removes_the_words_from_the_bytes(store: Store, tmp_path: Path) -> None:
    store.search_text(ANA, "turn", SECRET, 5)
    assert holds(tmp_path / "memory.db", SECRET)
    store.delete_scope(ANA)
    store.delete_scope(BEN)
    store.scrub()
    assert not holds(tmp_path / "memory.db", SECRET)
    assert not holds(tmp_path / "memory.db", SECRET[:8])


def test_the_proof_finds_what_a_careless_deletion_leaves(store: Store, tmp_path: Path) -> None:
    import apsw

    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("DELETE FROM turns WHERE id = 't7'")
    counts = store.traces(ANA, ["t7"]).counts
    assert counts["turn words without a row"] == 2
    assert counts["turn vectors without a row"] == 2
    assert not store.traces(ANA, ["t7"]).none
    connection.close()
