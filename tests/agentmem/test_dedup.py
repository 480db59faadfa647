"""Duplicates, corrections and merges: over the whole scope, within a batch, in one transaction, with all sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.worker import embed_pending
from agentmem.errors import ModelUnavailable
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure
from agentmem.longterm.candidates import find_candidates
from agentmem.longterm.dedup import RulesDecider
from agentmem.longterm.dedup_answer import Decision
from agentmem.longterm.extraction import Draft
from agentmem.longterm.similarity import statement
from agentmem.longterm.writing import as_atom, fold, write_up
from agentmem.settings.models import Llm
from agentmem.store.records import Scope
from tests.agentmem.test_extract_run import memories, shown
from tests.agentmem.world import ANA, World


def draft(content: str, kind: str = "persona", sources: tuple[str, ...] = ("t1",), **metadata: Any) -> Draft:
    return Draft(content, kind, 70, "", sources, metadata)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("User loves green tea.", "User loves green tea", True),
        ("User visited the museum in Porto.", "User visited the museums in Porto!", True),
        ("User loves green tea.", "User doesn't love green tea.", False),
        ("User went to the gym (2023-05-07).", "User went to the gym (2023-05-14).", False),
        ("Ana loves green tea.", "Ben loves green tea.", False),
        ("用户喜欢喝绿茶。", "用户喜欢喝绿茶", True),
        ("用户喜欢喝绿茶。", "用户不喜欢喝绿茶。", False),
    ],
)
def test_what_says_the_same(one: str, other: str, same: bool) -> None:
    assert statement(one).says_the_same(statement(other)) is same


def test_one_message_said_eight_times_becomes_one_atom(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say(*["I love green tea."] * 8)
    while world.pipeline.waiting(ANA, "s"):
        world.pipeline.extract(ANA, "s")
    (atom,) = world.atoms(superseded=True)
    assert len(atom.sources) >= 5  # those of one batch are united
    world.close()


def test_corrections_reach_other_sessions_and_keep_what_they_replace(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say("I live in Rome.", session="one")
    world.pipeline.extract(ANA, "one")
    world.say("Actually, I moved to Bern.", session="two")
    world.pipeline.extract(ANA, "two")
    (live,) = world.atoms()
    old = next(atom for atom in world.atoms(superseded=True) if atom.id != live.id)
    assert live.content == "User moved to Bern." and live.version == 1
    assert old.superseded_by == live.id and old.content == "User lives in Rome."
    assert {turn.session for turn in world.store.turns(ANA, live.sources)} == {"one", "two"}
    assert live.created == old.created < live.updated
    world.close()


def test_a_contradiction_within_one_batch_is_settled_by_the_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say("I live in Rome.", "I moved to Bern.", "My favourite colour is blue.", "My favourite colour is red.")
    world.pipeline.extract(ANA, "s")
    assert sorted(atom.content for atom in world.atoms()) == ["User moved to Bern.", "User's favourite colour is red."]
    world.close()


def test_another_scope_is_never_a_candidate(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say("I love green tea.", scope=Scope("ben"))
    world.pipeline.extract(Scope("ben"), "s")
    world.say("I love green tea.")
    world.pipeline.extract(ANA, "s")
    assert len(world.atoms()) == 1 and len(world.atoms(Scope("ben"))) == 1
    world.close()


def decide(action: str, content: str = "", targets: bool = True, **more: Any) -> Any:
    """A model that extracts one memory and then decides on it."""

    def script(request: Request) -> str:
        if "Old memories:" not in request.last:
            said = request.last.split("New messages:")[1]
            text = "User loves coffee." if "coffee" in said else "User loves green tea."
            return memories(text, sources=shown(request)[:1])
        old = json.loads(request.last.split("Old memories:\n")[1].split("\n\nNew memories:")[0])
        new = json.loads(request.last.split("New memories:\n")[1])
        row = {"record_id": new[0]["record_id"], "action": action, "merged_content": content, **more}
        return json.dumps([row | {"target_ids": [old[0]["record_id"]] if targets else ["made-up"]}])

    return script


def run(tmp_path: Path, script: Any) -> World:
    with FakeServer(script) as server:
        world = World(tmp_path, model=OpenAIModel(Llm(base_url=server.url, attempts=1)))
        for text in ("I love green tea.", "I love green coffee too."):
            world.say(text)
            world.pipeline.extract(ANA, "s")
    return world


@pytest.mark.parametrize(
    ("action", "content", "live", "superseded"),
    [
        ("store", "", ["User loves coffee.", "User loves green tea."], 0),
        ("skip", "", ["User loves green tea."], 0),
        ("update", "User loves coffee, not tea.", ["User loves coffee, not tea."], 1),
        ("merge", "User loves tea and coffee.", ["User loves tea and coffee."], 1),
        ("replace", "x", ["User loves coffee.", "User loves green tea."], 0),
    ],
)
def test_the_four_actions_and_an_unknown_one(
    tmp_path: Path, action: str, content: str, live: list[str], superseded: int
) -> None:
    world = run(tmp_path, decide(action, content))
    assert sorted(atom.content for atom in world.atoms()) == live
    assert sum(atom.superseded_by is not None for atom in world.atoms(superseded=True)) == superseded
    world.close()


def test_a_merge_takes_type_priority_times_and_all_sources(tmp_path: Path) -> None:
    script = decide("merge", "Both.", merged_type="episodic", merged_priority=95, merged_timestamps=["2026-01-01"])
    world = run(tmp_path, script)
    (atom,) = world.atoms()
    assert (atom.type, atom.priority, atom.timestamps, len(atom.sources)) == ("episodic", 95, ("2026-01-01",), 2)
    world.close()


def test_a_target_that_was_not_shown_is_refused(tmp_path: Path) -> None:
    world = run(tmp_path, decide("update", "x", targets=False))
    assert sorted(atom.content for atom in world.atoms()) == ["User loves coffee.", "User loves green tea."]
    world.close()


@pytest.mark.parametrize("answer", [failure(500), Answer("I cannot decide.")])
def test_a_decision_that_fails_is_made_by_the_rules_and_noted(tmp_path: Path, answer: Answer) -> None:
    def script(request: Request) -> Answer | str:
        if "Old memories:" in request.last:
            return answer
        return memories("User loves green tea.", sources=shown(request)[:1])

    with FakeServer(script) as server:
        world = World(tmp_path, model=OpenAIModel(Llm(base_url=server.url, attempts=1)))
        world.say("I love green tea.")
        world.pipeline.extract(ANA, "s")
        world.say("Green tea is what I love.")
        result = world.pipeline.extract(ANA, "s")
    assert result.skipped == 1 and result.notes
    assert len(world.atoms()) == 1
    world.close()


class Down:
    """An embedder whose server does not answer."""

    def embed(self, texts: Any) -> Any:
        raise ModelUnavailable("embedding server is down")


def test_candidates_come_from_words_and_vectors_and_from_words_alone_when_the_embedder_is_down(tmp_path: Path) -> None:
    embedder = HashingEmbedder(64)
    world = World(tmp_path, embedder=embedder)
    world.say("I love green tea.", "I own a red bicycle.")
    world.pipeline.extract(ANA, "s")
    embed_pending(world.store, embedder)
    new = {"n1": draft("User bicycles daily.")}
    found, note = find_candidates(world.store, ANA, new, 5, embedder)
    assert found["n1"][0].content == "User owns a red bicycle." and not note
    found, note = find_candidates(world.store, ANA, new, 5, Down())
    assert found["n1"][0].content == "User owns a red bicycle." and "down" in note
    found, _ = find_candidates(world.store, ANA, new, 1, embedder)
    assert len(found["n1"]) == 1
    world.close()


def test_vectors_of_another_model_leave_words(tmp_path: Path) -> None:
    class Longer:
        def embed(self, texts: Any) -> Any:
            return np.ones((len(texts), 7), np.float32)

    world = World(tmp_path)
    world.say("I love green tea.")
    world.pipeline.extract(ANA, "s")
    embed_pending(world.store, HashingEmbedder(64))
    found, note = find_candidates(world.store, ANA, {"n1": draft("User drinks green tea.")}, 5, Longer())
    assert len(found["n1"]) == 1 and note
    world.close()


def test_a_batch_is_folded_before_anything_is_asked() -> None:
    folded = fold(
        [
            draft("User loves tea.", sources=("a",)),
            draft("User loves tea", sources=("b",)),
            draft("User loves tea.", "episodic"),
        ]
    )
    assert [(d.type, d.sources) for d in folded] == [("persona", ("a", "b")), ("episodic", ("t1",))]


def test_what_a_replaced_new_atom_would_have_replaced_goes_to_its_successor() -> None:
    old, first, second = (
        as_atom(ANA, "s", draft(text, sources=(text,)), now) for now, text in enumerate(("old", "first", "second"))
    )
    decisions = {
        first.id: Decision(first.id, "update", (old.id,), "first"),
        second.id: Decision(second.id, "update", (first.id,), "second"),
    }
    writing = write_up(ANA, [first, second], decisions, {old.id: old})
    (atom,) = writing.atoms
    assert atom.content == "second" and set(atom.sources) == {"old", "first", "second"}
    assert writing.supersedes == {atom.id: (old.id,)}


def test_the_rules_skip_what_is_known_and_take_what_says_more() -> None:
    old = as_atom(ANA, "s", draft("User loves green tea from Japan."), 0)
    decide_on = {
        "n1": draft("User loves green tea."),
        "n2": draft("User loves green tea from Japan in summer evenings."),
    }
    decided = RulesDecider().decide(decide_on, {"n1": [old], "n2": [old]}).decisions
    assert (decided["n1"].action, decided["n2"].action, decided["n2"].targets) == ("skip", "update", (old.id,))
