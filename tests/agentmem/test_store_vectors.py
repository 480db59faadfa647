"""Both vector searches give the same answers; vectors survive a change of the embedder without search going down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from agentmem.errors import StoreError
from agentmem.store import extension, vectors
from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn

ANA, BEN = Scope("ana"), Scope("ben")
Matrix = NDArray[np.float32]


def random_rows(count: int, dimensions: int = 32, seed: int = 0) -> Matrix:
    """Unit vectors."""
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def fill(store: Store, scope: Scope, rows: Matrix, embedder: str = "model") -> None:
    """Turns m0, m1, ... with these vectors."""
    store.use_embedder(embedder, rows.shape[1])
    store.add_turns(scope, [Turn(f"m{i}", "s", "user", f"text {i}", 0) for i in range(len(rows))])
    seqs = [row.seq for row in store.turns_after(scope, 0, len(rows))]
    assert store.put_vectors("turn", seqs, rows) == len(rows)


def nearest(store: Store, scope: Scope, query: Matrix, limit: int) -> list[str]:
    """Ids by cosine."""
    return [hit.id for hit in store.search_vector(scope, "turn", query, limit)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(tmp_path / "memory.db")
    yield opened
    opened.close()


def test_every_path_finds_the_nearest_of_an_exhaustive_search(tmp_path: Path, store: Store) -> None:
    rows, query = random_rows(300), random_rows(1, seed=1)[0]
    fill(store, ANA, rows)
    fill(store, BEN, random_rows(50, seed=2))
    rounded = vectors.unpack(vectors.pack(rows)[0].tobytes(), 32)
    wanted = [f"m{i}" for i in np.argsort(-(rounded @ query))[:10]]
    assert len(set(wanted) & {f"m{i}" for i in np.argsort(-(rows @ query))[:10]}) >= 9
    opened = {
        "numpy": Store(tmp_path / "memory.db", vectors="numpy"),
        "sqlite-vec": Store(tmp_path / "memory.db", vectors="sqlite-vec"),
        "numpy, from disk": Store(tmp_path / "memory.db", vectors="numpy", memory=100),
        "too large for memory": Store(tmp_path / "memory.db", memory=100),
    }
    for name, other in opened.items():
        hits = other.search_vector(ANA, "turn", query, 10)
        assert [hit.id for hit in hits] == wanted, name
        assert [hit.score for hit in hits] == pytest.approx(sorted(rows @ query, reverse=True)[:10], abs=0.01), name
        other.close()


def test_filters_act_before_the_limit_on_every_path(tmp_path: Path, store: Store) -> None:
    rows = random_rows(1_300)
    fill(store, ANA, rows)
    farthest = int(np.argmin(rows @ rows[0]))
    store.add_turns(ANA, [Turn("far", "other", "user", "x", 0)])
    store.put_vectors("turn", [store.turn(ANA, "far").seq], rows[farthest][None, :])
    paths: list[extension.VectorPath] = ["numpy", "sqlite-vec"]
    for kind in paths:
        with Other(tmp_path / "memory.db", kind) as other:
            found = other.search_vector(ANA, "turn", rows[0], 1, session="other")
            assert [hit.id for hit in found] == ["far"]


def test_the_status_says_which_path_runs_and_why(tmp_path: Path, store: Store) -> None:
    assert (store.status().vector_path, store.status().vector_reason) == (
        "off",
        "no embedder has been used on this file",
    )
    store.use_embedder("m", 4)
    assert store.status().vector_path == "numpy"
    with Other(tmp_path / "memory.db", "sqlite-vec") as other:
        assert other.status().vector_path == "sqlite-vec"


def test_without_the_extension_everything_works_and_the_status_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    def refuse(*_: object) -> None:
        raise apsw.ExtensionLoadingError("built without extensions")

    class Refusing(extension.Extension):
        def _find(self) -> None:
            super()._find()
            self._file = str(tmp_path / "no-such-library")

    monkeypatch.setattr("agentmem.store.database.Extension", Refusing)
    with Other(tmp_path / "memory.db") as store:
        rows = random_rows(20)
        fill(store, ANA, rows)
        assert nearest(store, ANA, rows[7], 1) == ["m7"]
        assert store.search_text(ANA, "turn", "text", 1)
        assert store.status().vector_path == "numpy"
        assert "cannot be loaded" in store.status().vector_reason
    with pytest.raises(StoreError, match=r"cannot be loaded.*vectors='auto'"):
        Store(tmp_path / "memory.db", vectors="sqlite-vec")


class Other:
    """A store for the length of a block."""

    def __init__(self, path: Path, vectors: extension.VectorPath = "auto") -> None:
        self.store = Store(path, vectors=vectors)

    def __enter__(self) -> Store:
        return self.store

    def __exit__(self, *_: object) -> None:
        self.store.close()


def test_rows_added_and_removed_are_seen_at_once(store: Store, tmp_path: Path) -> None:
    rows = random_rows(40)
    fill(store, ANA, rows[:30])
    assert nearest(store, ANA, rows[3], 1) == ["m3"]
    store.add_turns(ANA, [Turn(f"n{i}", "s", "user", "new", 0) for i in range(10)])
    assert "n0" not in nearest(store, ANA, rows[30], 40)
    seqs = [row.seq for row in store.turns(ANA, [f"n{i}" for i in range(10)])]
    store.put_vectors("turn", seqs[::-1], rows[30:][::-1])
    assert [nearest(store, ANA, rows[30 + i], 1) for i in range(10)] == [[f"n{i}"] for i in range(10)]
    with Other(tmp_path / "memory.db") as other:
        other.delete_turns(ANA, ["n4"])
    assert nearest(store, ANA, rows[34], 1) != ["n4"]
    assert nearest(store, ANA, rows[35], 1) == ["n5"]


def test_vectors_of_a_transaction_that_failed_are_not_remembered(store: Store) -> None:
    rows = random_rows(5)
    fill(store, ANA, rows)
    nearest(store, ANA, rows[0], 1)
    seqs = [row.seq for row in store.turns_after(ANA, 0, 5)]
    with pytest.raises(RuntimeError), store.transaction():
        store.put_vectors("turn", seqs, rows[::-1])
        assert nearest(store, ANA, rows[0], 1) == ["m4"]
        raise RuntimeError
    assert nearest(store, ANA, rows[0], 1) == ["m0"]


def test_another_embedder_makes_rows_pending_and_search_stays_up(store: Store, tmp_path: Path) -> None:
    fill(store, ANA, random_rows(50))
    assert store.pending("turn", 100) == []
    store.use_embedder("larger", 48)
    rows = random_rows(50, 48)
    assert store.status().pending == {"turn": 50, "atom": 0}
    with pytest.raises(StoreError, match="32 dimensions, the stored ones 48"):
        store.search_vector(ANA, "turn", random_rows(1)[0], 3)
    assert store.search_text(ANA, "turn", "text", 3)
    first = store.pending("turn", 20)
    assert [row.id for row in first] == [f"m{i}" for i in range(49, 29, -1)]
    store.put_vectors("turn", [row.seq for row in first], rows[[int(row.id[1:]) for row in first]])
    assert nearest(store, ANA, rows[40], 1) == ["m40"]
    store.close()
    with Other(tmp_path / "memory.db") as again:  # interrupted: it goes on where it was
        rest = again.pending("turn", 100)
        assert len(rest) == 30
        again.put_vectors("turn", [row.seq for row in rest], rows[[int(row.id[1:]) for row in rest]])
        assert [nearest(again, ANA, rows[i], 1) for i in (0, 29, 49)] == [["m0"], ["m29"], ["m49"]]
        again.use_embedder("model", 32)  # and back: state follows from the rows, not from a flag
        assert len(again.pending("turn", 100)) == 50
        assert nearest(again, ANA, random_rows(1)[0], 5) == []


def test_an_unusable_vector_is_done_without_one(store: Store) -> None:
    rows = random_rows(4)
    rows[1] = 0
    rows[2, 5] = np.nan
    fill(store, ANA, rows)
    assert store.pending("turn", 10) == []
    assert sorted(nearest(store, ANA, rows[0], 10)) == ["m0", "m3"]
    assert store.search_vector(ANA, "turn", np.zeros(32, np.float32), 3) == []
    assert store.search_vector(ANA, "turn", np.full(32, np.nan, np.float32), 3) == []


def test_wrong_shapes_and_rows_that_are_gone(store: Store) -> None:
    store.add_turns(ANA, [Turn("a", "s", "user", "x", 0)])
    with pytest.raises(StoreError, match="call use_embedder first"):
        store.put_vectors("turn", [1], random_rows(1))
    store.use_embedder("m", 32)
    with pytest.raises(StoreError, match=r"expected vectors of shape \(1, 32\), got \(1, 8\)"):
        store.put_vectors("turn", [1], random_rows(1, 8))
    store.delete_turns(ANA, ["a"])
    assert store.put_vectors("turn", [1], random_rows(1)) == 0
    assert store.traces(ANA).counts["vectors"] == 0


def test_a_turn_is_embedded_with_the_end_of_the_one_before(store: Store) -> None:
    said = [("a", "one " * 100), ("b", "two"), ("c", "three")]
    store.add_turns(ANA, [Turn(id, "s", "user", text, 0, speaker="Ana") for id, text in said])
    store.add_turns(ANA, [Turn("d", "another", "user", "four", 0)])
    store.use_embedder("m", 32)
    texts = {row.id: row.text for row in store.pending("turn", 10)}
    assert texts["a"] == f"Ana: {'one ' * 100}"
    assert texts["b"].endswith(" Ana: two") and len(texts["b"]) < 330
    assert texts["c"] == "Ana: two Ana: three"
    assert texts["d"] == "four"


def test_superseded_atoms_are_not_searched_and_not_embedded(store: Store) -> None:
    store.use_embedder("m", 32)
    store.put_atoms(ANA, [Atom("old", "persona", "x"), Atom("other", "persona", "y")])
    rows = random_rows(2)
    pending = store.pending("atom", 10)
    store.put_vectors("atom", [row.seq for row in pending], rows)
    store.put_atoms(ANA, [Atom("new", "persona", "z")], {"new": ["old"]})
    assert [row.id for row in store.pending("atom", 10)] == ["new"]
    assert [hit.id for hit in store.search_vector(ANA, "atom", rows[0], 5)] == ["other"]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
def test_rounding_to_bytes_moves_a_cosine_by_little(seed: int, scale: float) -> None:
    rows = random_rows(20, 384, seed)
    packed, usable = vectors.pack(rows * np.float32(scale))
    assert usable.all()
    unpacked = vectors.unpack(packed.tobytes(), 384)
    assert np.abs(unpacked @ unpacked.T - rows @ rows.T).max() < 0.004
