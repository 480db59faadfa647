"""Taking a memory elsewhere without duplicates, forgetting with a proof, and expiry."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.worker import embed_pending
from agentmem.errors import StoreError
from agentmem.longterm.archive import Archive
from agentmem.longterm.forget import Forgetter
from agentmem.longterm.keys import state_key
from agentmem.longterm.retention import Cleaner
from agentmem.store.records import Atom, Scope
from tests.agentmem.world import ANA, World, assistant, user

BEN = Scope("ben")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "one")
    yield world
    world.close()


def full(world: World, scope: Scope = ANA) -> None:
    """A memory with every level: tool evidence, atoms, a superseded one, scenes, a persona, vectors."""
    world.capture(
        [
            user("I live in Rome with Carla."),
            {"role": "tool", "tool_call_id": "1", "content": f"big output of {scope.user}"},
        ],
        "one",
        scope,
    )
    world.say("I love opera and Verdi.", "Always answer in Italian.", session="one", scope=scope)
    world.say("Actually, I moved to Bern with Carla.", session="two", scope=scope)
    world.scheduler.drain(scope)
    world.journal.follow(scope)
    embed_pending(world.store, HashingEmbedder(64))


def archive(world: World) -> Archive:
    return Archive(world.store, world.evidence, world.folder)


def forgetter(world: World) -> Forgetter:
    return Forgetter(world.store, world.journal, world.evidence, world.folder)


def atoms(world: World, scope: Scope = ANA) -> list[Atom]:
    found = world.atoms(scope, superseded=True)
    return sorted((replace(atom, seq=0, change=0, updated=0, created=0) for atom in found), key=lambda atom: atom.id)


def test_an_archive_is_the_same_memory_elsewhere(world: World, tmp_path: Path) -> None:
    full(world)
    counts = archive(world).export(ANA, tmp_path / "a.zip")
    assert counts == {"turns": 8, "atoms": 4, "scenes": len(world.profile().scenes()), "evidence": 1}
    other = World(tmp_path / "two", clock=world.clock)
    imported = archive(other).load(tmp_path / "a.zip")
    assert (imported.turns, imported.atoms, imported.known, imported.profile) == (8, 4, 0, True)
    assert [(t.id, t.content, t.refs) for t in other.turns()] == [(t.id, t.content, t.refs) for t in world.turns()]
    assert atoms(other) == atoms(world)
    assert other.profile().scenes() == world.profile().scenes()
    assert other.profile().persona_file() == world.profile().persona_file()
    (tool,) = [turn for turn in other.turns() if turn.role == "tool"]
    assert other.evidence.get(tool.refs[0]) == "big output of ana"
    other.scheduler.recover()
    assert other.scheduler.run_due() == [] and other.pipeline.scenes_waiting(ANA) == 0  # nothing is done twice
    archive(other).export(ANA, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as a, zipfile.ZipFile(tmp_path / "b.zip") as b:
        assert a.read("manifest.json") == b.read("manifest.json") and a.namelist() == b.namelist()
    other.close()


def test_importing_twice_and_over_a_part_adds_nothing_twice(world: World, tmp_path: Path) -> None:
    full(world)
    archive(world).export(ANA, tmp_path / "a.zip")
    again = archive(world).load(tmp_path / "a.zip")
    assert (again.turns, again.atoms, again.known, again.profile) == (0, 0, 12, False)
    other = World(tmp_path / "two", clock=world.clock)
    other.say("I own a dog.", session="own")
    other.scheduler.drain()
    archive(other).load(tmp_path / "a.zip")
    second = archive(other).load(tmp_path / "a.zip")
    assert (second.turns, second.atoms) == (0, 0)
    assert len(other.turns()) == 10 and len(other.atoms(superseded=True)) == 5
    other.close()


def test_the_same_memory_gives_the_same_archive(world: World, tmp_path: Path) -> None:
    full(world)
    for name in ("a.zip", "b.zip"):
        archive(world).export(ANA, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_capture_after_an_import_knows_what_was_said(world: World, tmp_path: Path) -> None:
    talk = [user("I live in Rome."), assistant("Fine.")]
    world.capture(talk)
    archive(world).export(ANA, tmp_path / "a.zip")
    other = World(tmp_path / "two", clock=world.clock)
    archive(other).load(tmp_path / "a.zip", scope=BEN)
    assert other.capture([*talk, user("More.")], scope=BEN).new != () and len(other.turns(BEN)) == 3
    other.scheduler.drain(BEN)
    assert [atom.content for atom in other.atoms(BEN)] == ["User lives in Rome."]  # what waited there is extracted here
    other.close()


@pytest.mark.parametrize("damage", ["no zip", "no manifest", "other schema", "half"])
def test_what_is_no_archive_is_named(world: World, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "bad.zip"
    full(world)
    archive(world).export(ANA, path)
    if damage == "no zip":
        path.write_text("hello")
    elif damage == "half":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        with zipfile.ZipFile(path, "w") as broken:
            if damage == "other schema":
                broken.writestr("manifest.json", '{"schema": "other/1"}')
    other = World(tmp_path / "two", clock=world.clock)
    with pytest.raises(StoreError, match=r"bad\.zip"):
        archive(other).load(path)
    assert other.turns() == []
    other.close()


# --- forgetting


def everywhere(folder: Path, needle: str) -> list[str]:
    """Files of the whole memory, database included, that hold some bytes."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and needle.encode() in path.read_bytes()]


def test_forgetting_a_user_leaves_nothing_of_them_and_all_of_others(world: World) -> None:
    full(world)
    full(world, BEN)
    world.capture(
        [user("I live in Rome with Carla."), {"role": "tool", "tool_call_id": "1", "content": "shared output"}],
        "x",
        ANA,
    )
    world.capture([{"role": "tool", "tool_call_id": "1", "content": "shared output"}], "x", BEN)
    before = len(world.turns(BEN)), atoms(world, BEN), world.profile(BEN).persona()
    forgotten = forgetter(world).scope(ANA)
    assert forgotten.complete, forgotten.left
    assert (forgotten.turns, forgotten.atoms) == (10, 4) and forgotten.evidence == 1
    assert world.turns() == [] and world.atoms(superseded=True) == []
    assert not world.profile().folder.exists()
    assert everywhere(world.folder, "output of ana") == [] and everywhere(world.folder, '"ana"') == []
    assert (len(world.turns(BEN)), atoms(world, BEN), world.profile(BEN).persona()) == before
    assert any(world.evidence.get(ref) == "shared output" for turn in world.turns(BEN) for ref in turn.refs)
    world.say("I own a dog.")
    world.scheduler.drain(ANA)
    assert len(world.atoms()) == 1  # it can begin anew


def test_forgetting_a_message_takes_what_was_derived_from_it(world: World) -> None:
    full(world)
    home = next(turn for turn in world.turns() if "Rome" in turn.content)
    forgotten = forgetter(world).records(ANA, [home.id, "unknown"])
    assert forgotten.complete, forgotten.left
    assert forgotten.turns == 1 and forgotten.atoms == 2  # the atom, and the one that replaced it
    assert everywhere(world.folder, "lives in Rome") == [] and everywhere(world.folder, "User moved to Bern") == []
    assert sorted(atom.content for atom in world.atoms()) == [
        "Always answer in Italian.",
        "User loves opera and Verdi.",
    ]
    assert "Verdi" in (world.profile().persona() or "")


def test_forgetting_an_atom_takes_its_line_everywhere_and_leaves_the_message_unless_asked(world: World) -> None:
    full(world)
    opera = next(atom for atom in world.atoms() if "opera" in atom.content)
    forgotten = forgetter(world).records(ANA, [opera.id])
    assert forgotten.complete and forgotten.turns == 0
    assert not any(
        "opera" in text for text in [world.profile().persona() or "", *(s.body for s in world.profile().scenes())]
    )
    assert any("opera" in turn.content for turn in world.turns())
    italian = next(atom for atom in world.atoms() if "Italian" in atom.content)
    assert forgetter(world).records(ANA, [italian.id], sources=True).turns == 1
    assert everywhere(world.folder, "answer in Italian") == []
    world.say("I own a dog.", session="later")
    world.scheduler.drain(ANA)
    assert {atom.content for atom in world.atoms()} == {"User moved to Bern with Carla.", "User owns a dog."}


def test_the_proof_would_see_what_is_left(world: World) -> None:
    full(world)
    opera = next(atom for atom in world.atoms() if "opera" in atom.content)
    left = forgetter(world)._left_in_files(ANA, [opera.id], [], [opera.content])
    assert left["profile files"] > 0 and left["texts in profile files"] > 0 and left["journal"] > 0


# --- expiry


def old_and_new(world: World, turns: int = 60) -> None:
    world.capture([user(f"I own dog number {i}.") for i in range(turns)], "old")
    world.capture([user("Always answer in Italian. I live in Rome.")], "old")
    world.scheduler.drain(ANA)
    world.journal.follow(ANA)
    world.clock.advance(5 * 86_400)
    world.capture([user("I own a cat.")], "new")
    world.scheduler.drain(ANA)
    world.journal.follow(ANA)


def clean(world: World, days: int) -> object:
    return Cleaner(world.store, world.journal, world.clock, days, None).clean()


def test_old_messages_and_events_go_and_facts_about_a_person_stay(world: World) -> None:
    old_and_new(world)
    events = [
        replace(atom, id=f"m_e{i}", type="episodic", content=f"event {i}") for i, atom in enumerate(world.atoms()[:30])
    ]
    world.store.put_atoms(ANA, events)
    before = world.store.state(state_key("l1", ANA, "old"))
    cleaned = Cleaner(world.store, world.journal, world.clock, 3, None).clean()
    assert cleaned.turns == 61 and cleaned.atoms == 30 and cleaned.files >= 1
    assert [turn.content for turn in world.turns()] == ["I own a cat."]
    assert {atom.type for atom in world.atoms()} == {"persona", "instruction"}
    assert world.store.search_text(ANA, "turn", "dog number 7", 5) == []
    assert world.store.state(state_key("l1", ANA, "old")) == before
    assert [path.stem for path in world.journal.files() if "conversations" in str(path)] == ["2026-01-06"]


@pytest.mark.parametrize(
    ("days", "allow", "acts"), [(0, False, 0), (1, False, 0), (2, False, 0), (3, False, 3), (1, True, 1), (2, True, 2)]
)
def test_days_that_act(tmp_path: Path, days: int, allow: bool, acts: int) -> None:
    world = World(tmp_path, {"capture": {"l0l1RetentionDays": days, "allowAggressiveCleanup": allow}})
    assert world.config.retention_days == acts
    world.close()


@pytest.mark.parametrize("turns", [40, 60])
def test_a_small_memory_is_never_emptied(world: World, turns: int) -> None:
    old_and_new(world, turns)
    clean(world, 3)
    assert (len(world.turns()) == 1) == (turns > 50)


def test_the_cut_is_a_local_midnight(world: World) -> None:
    world.capture([user(f"early {i}") for i in range(60)], "s")  # 2026-01-01 00:00 UTC
    world.clock.advance(86_400 - 1)
    world.capture([user("late on the first day")], "s")
    world.clock.advance(2 * 86_400)
    clean(world, 3)  # today is the third day: the first one stays
    assert len(world.turns()) == 61
    world.clock.advance(2)
    clean(world, 3)
    assert world.turns() == []
