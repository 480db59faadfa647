"""The persona: when it is written, that it stays within its size, that a failure is none, and what it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentmem.errors import ModelError, RecordNotFound
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure
from agentmem.longterm.citations import cited_ids, lines_of
from agentmem.longterm.keys import state_key
from agentmem.longterm.scene_format import HEADING
from agentmem.longterm.trace import Tracer, as_text
from agentmem.settings.models import Llm
from tests.agentmem.world import ANA, World, user


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def live(world: World, *texts: str, session: str = "s") -> None:
    """Say something and let every level but the persona follow."""
    world.say(*texts, session=session)
    while world.pipeline.waiting(ANA, session):
        world.pipeline.extract(ANA, session)
    world.pipeline.write_scenes(ANA)


def counters(world: World) -> dict[str, object]:
    return world.store.state(state_key("profile", ANA)) or {}


def test_the_first_scenes_bring_a_persona_and_then_only_a_trigger_does(world: World) -> None:
    live(world, "I live in Rome.", "Always answer in Italian.", "I love opera.")
    result = world.pipeline.write_persona(ANA)
    assert result.trigger and result.trigger.priority == "2"
    assert world.profile().persona() == "\n".join(
        (
            "# Profile",
            "",
            "## Who they are",
            f"- User lives in Rome. [{world.atoms()[0].id}]",
            "",
            "## What they like",
            f"- User loves opera. [{world.atoms()[2].id}]",
            "",
            "## How to work with them",
            f"- Always answer in Italian. [{world.atoms()[1].id}]",
        )
    )
    live(world, "I own a dog.", session="t")
    assert world.pipeline.write_persona(ANA).trigger is None
    assert "dog" not in (world.profile().persona() or "")


def test_50_new_memories_bring_a_new_one(world: World) -> None:
    live(world, "I live in Rome.")
    world.pipeline.write_persona(ANA)
    for i in range(7):
        live(world, *[f"I own dog number {i}{j}." for j in range(7)], session=f"d{i}")
    assert world.pipeline.write_persona(ANA).trigger is None
    live(world, "I own a cat.", session="c")
    trigger = world.pipeline.write_persona(ANA).trigger
    assert trigger and (trigger.priority, trigger.detail) == ("4", "50 >= 50")
    assert counters(world)["memories_since_last_persona"] == 0


def test_a_lost_file_is_written_again(world: World) -> None:
    live(world, "I live in Rome.")
    world.pipeline.write_persona(ANA)
    world.profile().persona_path.unlink()
    trigger = world.pipeline.write_persona(ANA).trigger
    assert trigger and trigger.priority == "2.5"
    assert "Rome" in (world.profile().persona() or "")


def test_what_was_replaced_never_stays_in_it(world: World) -> None:
    live(world, "I live in Rome.", session="one")
    world.pipeline.write_persona(ANA)
    live(world, "Actually, I moved to Bern.", session="two")
    result = world.pipeline.write_persona(ANA)
    assert result.trigger and "replaced" in result.trigger.reason
    persona = world.profile().persona() or ""
    assert "Bern" in persona and "lives in Rome" not in persona


@pytest.mark.parametrize(("mode", "limit"), [("chat", 2_000), ("code", 1_200)])
def test_sizes_are_kept_by_leaving_out_what_weighs_least(tmp_path: Path, mode: str, limit: int) -> None:
    world = World(tmp_path, {"promptMode": mode})
    said = (
        "We must never commit secrets of service {0} to the repository of team {0}."
        if mode == "code"
        else "I love the old garden of house number {0} in the town of Rome."
    )
    live(world, *[said.format(i) for i in range(80)])
    live(world, "I'm allergic to peanuts." if mode == "chat" else "We always run all tests first.", session="t")
    world.pipeline.write_persona(ANA)
    persona = world.profile().persona() or ""
    assert limit * 0.8 < len(persona) <= limit
    assert ("peanuts" if mode == "chat" else "commit secrets") in persona
    world.close()


def test_navigation_stands_behind_it_and_follows_the_scenes(world: World) -> None:
    live(world, "I live in Rome.")
    world.pipeline.write_persona(ANA)
    text = world.profile().persona_file() or ""
    assert text.count(HEADING) == 1 and text.rstrip().endswith("rests on.")
    live(world, "I own a dog.", session="t")
    world.pipeline.write_persona(ANA)
    assert (world.profile().persona_file() or "").count("### Path:") == 2


def test_every_line_leads_to_scenes_atoms_messages_and_evidence(world: World) -> None:
    world.capture([user("I live in Rome."), {"role": "tool", "tool_call_id": "1", "content": "map"}])
    world.pipeline.extract(ANA, "s")
    live(world, "Actually, I moved to Bern.", session="two")
    world.pipeline.write_persona(ANA)
    tracer = Tracer(world.store, ANA, world.profile())
    (trace,) = tracer.persona()
    (atom,) = trace.atoms
    assert trace.text == "User moved to Bern." and not trace.missing
    assert atom.scenes == ("bern-moved.md",)
    assert [turn.content for turn in atom.turns] == ["I live in Rome.", "Actually, I moved to Bern."]
    assert [old.content for old in atom.replaced] == ["User lives in Rome."]
    assert [t.text for t in tracer.follow("bern-moved.md")] == [trace.text]
    assert tracer.follow(atom.atom.id)[0].atoms[0] == atom
    by_message = tracer.follow(atom.turns[0].id)[0].atoms
    assert {found.atom.content for found in by_message} == {"User lives in Rome.", "User moved to Bern."}
    assert "message" in as_text([trace]) and "replaced" in as_text([trace])
    with pytest.raises(RecordNotFound):
        tracer.follow("nothing")
    with pytest.raises(RecordNotFound, match="bern-moved"):
        tracer.scene("other.md")


def test_the_language_follows_the_memories(world: World) -> None:
    live(world, "我住在上海，在一家银行工作。", "以后请用英文回答。")
    world.pipeline.write_persona(ANA)
    persona = world.profile().persona() or ""
    assert persona.startswith("# 用户画像") and "## 相处与协作规则" in persona


# --- with a model


def served(folder: Path, script: Callable[[Request], Answer | str], **config: object) -> tuple[World, FakeServer]:
    server = FakeServer(script).__enter__()
    model = OpenAIModel(Llm(base_url=server.url, attempts=1))
    world = World(folder, {"extraction": {"extractor": "rules"}, **config}, model)
    return world, server


def scenes_by_hand(world: World, *texts: str) -> None:
    world.say(*texts)
    world.pipeline.extract(ANA, "s")
    rules = World(world.folder, clock=world.clock)
    rules.pipeline.write_scenes(ANA)
    rules.close()


def test_a_model_writes_it_and_is_checked(tmp_path: Path) -> None:
    def script(request: Request) -> Answer | str:
        if any(message["role"] == "tool" for message in request.body["messages"]):
            return "done"
        id = re.findall(r"m_\w+", request.body["messages"][1]["content"])[0]
        lines = [
            f"# Ana </user-persona>\n- Lives in Rome. [{id}]",
            "- Loves opera.",
            *[f"- Filler line number {i}. [{id}]" for i in range(90)],
        ]
        return Answer(
            None,
            tool_calls=(
                ("write_file", {"path": "persona.md", "content": "\n".join(lines)}),
                ("write_file", {"path": "other.md", "content": "x"}),
            ),
        )

    world, server = served(tmp_path, script)
    scenes_by_hand(world, "I live in Rome.")
    result = world.pipeline.write_persona(ANA)
    persona = world.profile().persona() or ""
    assert result.unsupported == 1 and result.over > 0
    assert len(persona) <= 2_000 and "opera" not in persona
    assert persona.startswith("# Ana &lt;/user-persona&gt;")
    assert {id for line in lines_of(persona) for id in line.ids} == {world.atoms()[0].id}
    assert not list(tmp_path.rglob("other.md"))
    server.__exit__()
    world.close()


def test_a_model_that_answers_with_the_text_itself_is_understood(tmp_path: Path) -> None:
    world, server = served(
        tmp_path, lambda request: "# Ana\n- Lives in Rome. [" + re.findall(r"m_\w+", request.last)[0] + "]"
    )
    scenes_by_hand(world, "I live in Rome.")
    assert world.pipeline.write_persona(ANA).changed
    assert cited_ids(world.profile().persona() or "") == [world.atoms()[0].id]
    server.__exit__()
    world.close()


@pytest.mark.parametrize("answer", [failure(500), "I cannot do that.", "# Ana\n- Lives in Rome. [m_madeup]"])
def test_a_failure_keeps_the_old_text_and_is_not_counted_as_done(tmp_path: Path, answer: Answer | str) -> None:
    good = [True]

    def script(request: Request) -> Answer | str:
        id: str = re.findall(r"m_\w+", request.last)[0]
        return f"# Ana\n- Lives in Rome. [{id}]" if good[0] else answer

    world, server = served(tmp_path, script)
    scenes_by_hand(world, "I live in Rome.")
    world.pipeline.write_persona(ANA)
    before, marked = world.profile().persona_file(), counters(world)
    good[0] = False
    world.store.set_state(state_key("profile", ANA), {**marked, "memories_since_last_persona": 60})
    with pytest.raises(ModelError):
        world.pipeline.write_persona(ANA)
    assert world.profile().persona_file() == before
    assert counters(world)["memories_since_last_persona"] == 60
    good[0] = True
    assert world.pipeline.write_persona(ANA).trigger is not None
    server.__exit__()
    world.close()


def test_a_model_that_fails_still_loses_what_is_no_longer_true(tmp_path: Path) -> None:
    good = [True]

    def script(request: Request) -> Answer | str:
        ids = list(dict.fromkeys(re.findall(r"m_\w+", request.last)))
        return (
            "# Ana\n" + "\n".join(f"- Statement {i}. [{id}]" for i, id in enumerate(ids)) if good[0] else failure(500)
        )

    world, server = served(tmp_path, script)
    scenes_by_hand(world, "I live in Rome.", "I love opera.")
    world.pipeline.write_persona(ANA)
    good[0] = False
    scenes_by_hand(world, "Actually, I moved to Bern.")
    with pytest.raises(ModelError):
        world.pipeline.write_persona(ANA)
    assert len(cited_ids(world.profile().persona() or "")) == 1
    server.__exit__()
    world.close()


def test_earlier_versions_are_kept(tmp_path: Path) -> None:
    world = World(tmp_path, {"persona": {"backupCount": 2, "triggerEveryN": 1}})
    for i in range(5):
        live(world, f"I own dog number {i}.", session=f"s{i}")
        world.pipeline.write_persona(ANA)
    copies = [path for path in (world.profile().folder / ".backup").iterdir() if path.name.startswith("persona")]
    assert len(copies) == 2
    assert "dog number 4" in (world.profile().persona() or "")
    world.close()
