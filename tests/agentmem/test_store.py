"""The store keeps what it is given, once, in order, and only for the scope it belongs to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmem.errors import RecordNotFound, SchemaTooNew, ScopeRequired, StoreConflict, StoreError
from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn

ANA, BEN = Scope("ana"), Scope("ben")


def turn(id: str, content: str = "hello", session: str = "s", **more: object) -> Turn:
    """A turn of a user."""
    return Turn(id, session, "user", content, 1_700_000_000_000, **more)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store whose clock stands at second 5."""
    opened = Store(tmp_path / "memory.db", clock=lambda: 5.0)
    yield opened
    opened.close()


# --- turns


def test_turns_come_back_as_they_were_given_in_order(store: Store) -> None:
    rich = Turn("b", "s", "user", "text\0 with NUL", 7, "Ana", 9, 480, "message", ("r1",), {"outcome": "ok"}, 3)
    added = store.add_turns(ANA, [turn("a"), rich, turn("c")])
    assert added.new == ("a", "b", "c")
    first, second, third = store.turns_after(ANA, 0, 10)
    assert (first.id, first.position, first.recorded, first.seq) == ("a", 0, 5_000, 1)
    assert second == Turn(
        "b", "s", "user", "text\0 with NUL", 7, "Ana", 9, 480, "message", ("r1",), {"outcome": "ok"}, 3, 2
    )
    assert (third.id, third.position) == ("c", 10)


def test_equal_timestamps_and_a_small_limit_lose_nothing(store: Store) -> None:
    store.add_turns(ANA, [turn(f"m{i}") for i in range(25)])
    seen: list[str] = []
    cursor = 0
    while rows := store.turns_after(ANA, cursor, 10, "s"):
        seen += [row.id for row in rows]
        cursor = rows[-1].seq
    assert seen == [f"m{i}" for i in range(25)]


def test_the_same_turn_again_adds_nothing_and_an_edit_replaces_it(store: Store) -> None:
    store.add_turns(ANA, [turn("a", "one"), turn("b", "two")])
    assert store.add_turns(ANA, [turn("a", "one")]).unchanged == ("a",)
    cursor = store.turns_after(ANA, 0, 10)[-1].seq
    assert store.add_turns(ANA, [turn("a", "one, corrected")]).replaced == ("a",)
    (edited,) = store.turns_after(ANA, cursor, 10)
    assert (edited.content, edited.position) == ("one, corrected", 0)
    assert store.count_turns(ANA) == 2
    assert [hit.id for hit in store.search_text(ANA, "turn", "corrected", 5)] == ["a"]
    assert [hit.id for hit in store.search_text(ANA, "turn", "one", 5)] == ["a"]


def test_an_id_twice_in_one_call_keeps_the_later_text(store: Store) -> None:
    added = store.add_turns(ANA, [turn("a", "first"), turn("a", "second")])
    assert (added.new, added.replaced) == (("a",), ("a",))
    assert [row.content for row in store.turns_after(ANA, 0, 9)] == ["second"]
    assert store.search_text(ANA, "turn", "first", 5) == []
    assert store.traces(ANA).counts["turn words"] == 1


def test_background_is_what_stands_before_the_cursor(store: Store) -> None:
    store.add_turns(ANA, [turn(f"m{i}", session="x" if i % 2 else "y") for i in range(8)])
    cursor = store.turn(ANA, "m5").seq
    assert [row.id for row in store.turns_before(ANA, cursor, 2, "x")] == ["m3", "m5"]
    assert store.sessions(ANA) == ["y", "x"]
    assert [row.id for row in store.turns(ANA, ["m7", "nobody", "m0"])] == ["m7", "m0"]


def test_half_a_surrogate_pair_is_stored_as_a_replacement_character(store: Store) -> None:
    store.add_turns(ANA, [turn("a", "broken \ud83d text")])
    assert store.turn(ANA, "a").content == "broken � text"
    assert store.search_text(ANA, "turn", "broken", 1)
    assert store.add_turns(ANA, [turn("a", "broken \ud83d text")]).unchanged == ("a",)


# --- scopes


@pytest.mark.parametrize("parts", [("",), ("u", ""), ("u", "a", "")])
def test_a_scope_names_user_agent_and_team(parts: tuple[str, ...]) -> None:
    with pytest.raises(ScopeRequired, match="name user, agent and team"):
        Scope(*parts)


def test_nothing_crosses_from_one_scope_to_another(store: Store) -> None:
    others = [BEN, Scope("ana", "other"), Scope("ana", team="other")]
    store.add_turns(ANA, [turn("a", "secret")])
    store.put_atoms(ANA, [Atom("x", "persona", "secret", sources=("a",))])
    for other in others:
        store.add_turns(other, [turn("a", "public")])
        assert store.turn(other, "a").content == "public"
        assert store.search_text(other, "turn", "secret", 5) == []
        assert store.search_text(other, "atom", "secret", 5) == []
        assert store.atoms(other) == []
        assert store.atoms_resting_on(other, ["a"]) == []
        with pytest.raises(RecordNotFound, match="no atom 'x'"):
            store.atom(other, "x")
    assert store.scopes() == [ANA, *others]
    assert store.search_text(Scope("nobody"), "turn", "secret", 5) == []


# --- atoms


def test_an_update_supersedes_and_keeps_the_old_one(store: Store) -> None:
    store.put_atoms(ANA, [Atom("old", "persona", "lives in Rome", sources=("m1",)), Atom("other", "persona", "rows")])
    store.put_atoms(ANA, [Atom("new", "persona", "lives in Lisbon", version=1, sources=("m1", "m2"))], {"new": ["old"]})
    assert [atom.id for atom in store.atoms(ANA)] == ["other", "new"]
    assert store.atom(ANA, "old").superseded_by == "new"
    assert [atom.id for atom in store.atoms(ANA, ["old", "new"])] == ["new"]
    assert [atom.id for atom in store.atoms(ANA, ["old", "new"], superseded=True)] == ["old", "new"]
    assert [hit.id for hit in store.search_text(ANA, "atom", "lives Rome", 5)] == ["new"]
    assert [atom.id for atom in store.atoms_resting_on(ANA, ["m1"])] == ["old", "new"]
    assert store.status(ANA).superseded == 1


def test_changes_are_seen_in_order_and_once(store: Store) -> None:
    store.put_atoms(ANA, [Atom("a", "persona", "one"), Atom("b", "persona", "two")])
    first = store.atoms_changed_since(ANA, 0, 10)
    assert [atom.id for atom in first] == ["a", "b"]
    store.put_atoms(ANA, [Atom("c", "persona", "three")], {"c": ["a"]})
    after = store.atoms_changed_since(ANA, first[-1].change, 10)
    assert [(atom.id, atom.superseded_by) for atom in after] == [("c", None), ("a", "c")]
    assert store.atoms_changed_since(ANA, after[-1].change, 10) == []


def test_putting_the_same_atom_twice_changes_nothing(store: Store) -> None:
    old, new = Atom("a", "persona", "one"), Atom("b", "persona", "two")
    store.put_atoms(ANA, [old])
    store.put_atoms(ANA, [new], {"b": ["a"]})
    before = store.atoms_changed_since(ANA, 0, 10)
    store.put_atoms(ANA, [new], {"b": ["a"]})
    assert store.atoms_changed_since(ANA, 0, 10) == before


@pytest.mark.parametrize(
    ("atoms", "supersedes", "complaint"),
    [
        ([Atom("n", "persona", "x")], {"n": ["gone"]}, "does not exist any more"),
        ([Atom("n", "persona", "x")], {"n": ["dead"]}, "already superseded by 'live'"),
        ([Atom("live", "persona", "another text")], {}, "exists with another content"),
        ([], {"n": ["live"]}, "which does not exist"),
        ([Atom("n", "persona", "x")], {"n": ["n"]}, "superseded"),
    ],
)
def test_a_conflict_writes_nothing(
    store: Store, atoms: list[Atom], supersedes: dict[str, list[str]], complaint: str
) -> None:
    store.put_atoms(ANA, [Atom("dead", "persona", "d")])
    store.put_atoms(ANA, [Atom("live", "persona", "l")], {"live": ["dead"]})
    before = store.atoms(ANA, superseded=True)
    with pytest.raises(StoreConflict, match=complaint):
        store.put_atoms(ANA, [Atom("ok", "persona", "ok"), *atoms], supersedes)
    assert store.atoms(ANA, superseded=True) == before
    assert store.search_text(ANA, "atom", "ok", 5) == []


# --- transactions and states


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError), store.transaction():
        store.add_turns(ANA, [turn("a", "apple")])
        store.set_state("cursor", {"seq": 1})
        assert store.turn(ANA, "a").content == "apple"
        assert [hit.id for hit in store.search_text(ANA, "turn", "apple", 1)] == ["a"]
        raise RuntimeError
    assert store.turns_after(ANA, 0, 9) == []
    assert store.state("cursor") is None
    store.add_turns(ANA, [turn("b", "banana")])
    assert store.search_text(ANA, "turn", "apple", 1) == []
    assert [hit.id for hit in store.search_text(ANA, "turn", "banana", 1)] == ["b"]


def test_a_failed_step_inside_a_transaction_undoes_only_itself(store: Store) -> None:
    with store.transaction():
        store.put_atoms(ANA, [Atom("a", "persona", "one")])
        with pytest.raises(StoreConflict):
            store.put_atoms(ANA, [Atom("b", "persona", "two")], {"b": ["gone"]})
        store.put_atoms(ANA, [Atom("c", "persona", "three")])
    assert [atom.id for atom in store.atoms(ANA)] == ["a", "c"]


def test_states_are_read_changed_and_listed(store: Store) -> None:
    assert store.update_state("run:a", lambda state: {**state, "n": state.get("n", 0) + 1}) == {"n": 1}
    store.update_state("run:a", lambda state: {"n": state["n"] + 1})
    store.set_state("run:b", {"x": [1, "ü"]})
    store.set_state("other", {})
    assert store.states("run:") == {"run:a": {"n": 2}, "run:b": {"x": [1, "ü"]}}
    store.set_state("run:a", None)
    assert list(store.states()) == ["other", "run:b"]
    with pytest.raises(StoreError, match="cannot be written as JSON"):
        store.set_state("bad", {"x": float("nan")})


def test_many_threads_count_without_losing_a_step(store: Store) -> None:
    def work(name: int) -> None:
        for i in range(20):
            store.update_state("n", lambda state: {"n": state.get("n", 0) + 1})
            store.add_turns(ANA, [turn(f"{name}-{i}", f"word{name}")])
            store.search_text(ANA, "turn", f"word{name}", 3)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.state("n") == {"n": 80}
    assert store.count_turns(ANA) == 80
    assert len(store.search_text(ANA, "turn", "word1", 50)) == 20


# --- the file


def test_a_second_store_sees_what_the_first_wrote(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "memory.db")
    store.add_turns(ANA, [turn("a", "apple")])
    assert [hit.id for hit in other.search_text(ANA, "turn", "apple", 1)] == ["a"]
    other.add_turns(ANA, [turn("b", "apple pie")])
    assert len(store.search_text(ANA, "turn", "apple", 5)) == 2
    other.delete_turns(ANA, ["a"])
    assert [hit.id for hit in store.search_text(ANA, "turn", "apple", 5)] == ["b"]
    other.close()


def test_a_newer_schema_and_another_program_are_refused(store: Store, tmp_path: Path) -> None:
    import apsw

    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.scopes()
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(SchemaTooNew, match="schema 99"):
        Store(tmp_path / "memory.db")
    foreign = apsw.Connection(str(tmp_path / "foreign.db"))
    foreign.execute("CREATE TABLE t(x)")
    foreign.close()
    with pytest.raises(StoreError, match="another program"):
        Store(tmp_path / "foreign.db")
    (tmp_path / "text.db").write_text("this is no database, but long enough to look at " * 50)
    with pytest.raises(StoreError, match="not a SQLite file"):
        Store(tmp_path / "text.db")
    with pytest.raises(StoreError, match="a store is a file"):
        Store(":memory:")


def test_trouble_of_sqlite_has_our_name(tmp_path: Path) -> None:
    opened = Store(tmp_path / "memory.db")
    opened.add_turns(ANA, [turn(f"m{i}", "apple " * 200) for i in range(50)])
    opened.close()
    path = tmp_path / "memory.db"
    data = bytearray(path.read_bytes())
    data[8192 * 3 :] = bytes(len(data) - 8192 * 3)
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"memory\.db: .*(malformed|Corrupt)"):
        Store(path).turns_after(ANA, 0, 100)


def test_an_old_index_scheme_is_rebuilt_on_opening(store: Store, tmp_path: Path) -> None:
    import apsw

    store.add_turns(ANA, [turn(f"m{i}", f"apple {i}") for i in range(5)])
    store.put_atoms(ANA, [Atom("a", "persona", "likes apple"), Atom("b", "persona", "apple")])
    store.put_atoms(ANA, [Atom("c", "persona", "pear")], {"c": ["b"]})
    store.close()
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("UPDATE meta SET value = 'older/0' WHERE key LIKE 'scheme:%'")
    connection.close()
    again = Store(tmp_path / "memory.db")
    assert len(again.search_text(ANA, "turn", "apple", 9)) == 5
    assert [hit.id for hit in again.search_text(ANA, "atom", "apple", 9)] == ["a"]
    again.delete_turns(ANA, ["m0"])
    again.rebuild_index()
    assert again.search_text(ANA, "turn", "0", 9) == []
    assert again.traces(ANA).counts["turn words"] == 4
    again.close()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cursor_reading_gives_every_live_turn_once(store: Store, data: st.DataObject) -> None:
    """Whatever is added, edited and deleted between two reads, a reader behind its cursor ends with the live rows."""
    scope = Scope(f"user {len(store.scopes())}")
    store.add_turns(scope, [turn("first")])
    store.delete_turns(scope, ["first"])
    seen: dict[str, str] = {}
    live: dict[str, str] = {}
    cursor = 0
    for _ in range(data.draw(st.integers(1, 6))):
        for id, content in data.draw(
            st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), max_size=6)
        ):
            store.add_turns(scope, [turn(id, content)])
            live[id] = content
        for id in data.draw(st.lists(st.sampled_from("abcdef"), max_size=2)):
            assert store.delete_turns(scope, [id]) == (id in live)
            live.pop(id, None)
            seen.pop(id, None)
        for row in store.turns_after(scope, cursor, 3):
            seen[row.id] = row.content
            cursor = row.seq
    while rows := store.turns_after(scope, cursor, 3):
        for row in rows:
            seen[row.id] = row.content
            cursor = row.seq
    assert seen == live
