"""Scenes: grouping without a model, a model in its sandbox, caps, and nothing that rests on nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentmem.errors import ModelError
from agentmem.llm.client import OpenAIModel
from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure
from agentmem.longterm.citations import cited_ids, lines_of
from agentmem.longterm.scenes_llm import persona_request
from agentmem.settings.models import Llm
from tests.agentmem.world import ANA, World

FACTS = [
    "I live in Lisbon with my wife Marta.",
    "Marta loves the Lisbon trams.",
    "We bought a flat in Lisbon near the river.",
    "I work at a hospital as a nurse.",
    "The hospital begins its night shifts on 3 March.",
    "I love hiking in the mountains.",
    "I went hiking in the mountains of Gerês last weekend.",
]


NOUNS = ["stamps", "coins", "shells", "books", "clocks", "masks", "knives", "lamps", "maps", "vases"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def extract(world: World, *texts: str, session: str = "s") -> None:
    world.say(*texts, session=session)
    while world.pipeline.waiting(ANA, session):
        world.pipeline.extract(ANA, session)


def each_apart(world: World, texts: list[str]) -> None:
    """Every text in a session of its own, so that only its words decide where it goes."""
    for text in texts:
        extract(world, text, session=text)


def test_atoms_are_grouped_by_what_they_share(world: World) -> None:
    each_apart(world, FACTS)
    world.pipeline.write_scenes(ANA)
    bodies = [scene.body for scene in world.profile().scenes()]
    for topic in ("Lisbon", "hospital", "mountains"):
        assert sum(topic in body for body in bodies) == 1, topic
    assert len(bodies) == 3


def test_every_line_rests_on_live_atoms_and_the_text_is_theirs(world: World) -> None:
    each_apart(world, FACTS)
    world.pipeline.write_scenes(ANA)
    live = {atom.id: atom for atom in world.atoms()}
    seen: set[str] = set()
    for scene in world.profile().scenes():
        for line in lines_of(scene.body):
            if not line.is_frame:
                assert [live[id].content for id in line.ids] == [line.text.removeprefix("- ")]
                seen.update(line.ids)
    assert seen == set(live)


def test_the_same_memory_gives_the_same_files(tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        world = World(tmp_path / name)
        each_apart(world, FACTS)
        world.pipeline.write_scenes(ANA)
        folder = world.profile().scenes_folder
        texts.append({path.name: path.read_text() for path in folder.iterdir()})
        world.close()
    assert texts[0] == texts[1]


def test_a_run_without_changes_writes_nothing(world: World) -> None:
    each_apart(world, FACTS)
    assert world.pipeline.write_scenes(ANA).atoms == 7 - 1  # what Marta loves is no statement of Ana's
    before = {path: path.stat().st_mtime_ns for path in world.profile().scenes_folder.iterdir()}
    assert world.pipeline.write_scenes(ANA).skipped
    assert {path: path.stat().st_mtime_ns for path in world.profile().scenes_folder.iterdir()} == before


def test_what_was_replaced_leaves_its_scene(world: World) -> None:
    extract(world, "I live in Lisbon.", session="one")
    world.pipeline.write_scenes(ANA)
    extract(world, "Actually, I moved to Porto.", session="two")
    result = world.pipeline.write_scenes(ANA)
    bodies = "\n".join(scene.body for scene in world.profile().scenes())
    assert "Porto" in bodies and "lives in Lisbon" not in bodies
    assert result.removed == ("lisbon-lives.md",)


def test_heat_grows_with_every_change_and_dates_are_kept(world: World) -> None:
    extract(world, "I love hiking in the Alps.", session="one")
    world.pipeline.write_scenes(ANA)
    (first,) = world.profile().scenes()
    world.clock.advance(3_600)
    extract(world, "I went hiking in the Alps yesterday.", session="two")
    world.pipeline.write_scenes(ANA)
    (second,) = world.profile().scenes()
    assert (first.heat, second.heat) == (1, 2)
    assert second.created == first.created and second.updated > first.updated


def test_the_cap_holds_and_nothing_is_lost(tmp_path: Path) -> None:
    world = World(tmp_path, {"persona": {"maxScenes": 5}})
    topics = [f"I collect {noun} of every kind." for noun in NOUNS]
    for half in (topics[:5], topics[5:]):
        each_apart(world, half)
        world.pipeline.write_scenes(ANA)
    scenes = world.profile().scenes()
    assert len(scenes) == 5
    assert {id for scene in scenes for id in cited_ids(scene.body)} == {atom.id for atom in world.atoms()}
    assert max(scene.heat for scene in scenes) >= 3  # two of heat 1 became one
    world.close()


def test_the_default_cap_is_15_and_a_body_has_1500_characters_at_most(world: World) -> None:
    extract(
        world, *[f"I love the mountain hut number {i} of the Alps with its red roof and blue door." for i in range(60)]
    )
    each_apart(world, [f"I own a {noun}{noun} from {noun}land." for noun in [*NOUNS, *(noun[::-1] for noun in NOUNS)]])
    world.pipeline.write_scenes(ANA)
    scenes = world.profile().scenes()
    assert len(scenes) <= 15
    assert max(len(scene.body) for scene in scenes) <= 1_500
    crowded = max(scenes, key=lambda scene: len(scene.body))
    assert re.search(r"## .* \(\d+/\d+\)", crowded.body)  # it says how many it holds back


def test_the_language_follows_the_memories(world: World) -> None:
    extract(world, "我住在上海，在一家银行工作。", "我喜欢喝绿茶。")
    world.pipeline.write_scenes(ANA)
    (scene,) = world.profile().scenes()
    assert "## 事实与偏好" in scene.body and "Facts" not in scene.body


def test_index_and_navigation_follow_the_files(world: World) -> None:
    each_apart(world, FACTS)
    world.pipeline.write_scenes(ANA)
    profile = world.profile()
    index = json.loads((profile.folder / ".metadata" / "scene_index.json").read_text())
    assert [row["filename"] for row in index] == [scene.filename for scene in profile.index()]
    heats = [
        int(line.split(":")[1].split("|")[0].strip(" *")) for line in profile.navigation().split("\n") if "热度" in line
    ]
    assert heats == sorted(heats, reverse=True) and len(heats) == len(index)
    (profile.folder / ".metadata" / "scene_index.json").write_text("{broken")
    assert [scene.filename for scene in profile.index()] == [row["filename"] for row in index]


def test_soft_deleted_files_are_no_scenes(world: World) -> None:
    each_apart(world, FACTS)
    world.pipeline.write_scenes(ANA)
    path = next(world.profile().scenes_folder.iterdir())
    path.write_text("old [DELETED]")
    assert path.name not in {scene.filename for scene in world.profile().scenes()}


def test_a_failure_while_writing_puts_the_files_back_and_keeps_the_cursor(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract(world, "I love hiking.", session="one")
    world.pipeline.write_scenes(ANA)
    before = world.profile().scenes()
    extract(world, "I own a dog.", session="two")
    monkeypatch.setattr(world.store, "update_state", _fail)
    with pytest.raises(OSError):
        world.pipeline.write_scenes(ANA)
    monkeypatch.undo()
    assert world.pipeline.scenes_waiting(ANA) == 1
    world.pipeline.write_scenes(ANA)
    assert len(world.profile().scenes()) == len(before) + 1


def _fail(*arguments: object) -> None:
    raise OSError("disk full")


def test_earlier_versions_are_kept_up_to_the_number_asked_for(tmp_path: Path) -> None:
    world = World(tmp_path, {"persona": {"sceneBackupCount": 2}})
    for i in range(5):
        extract(world, f"I own dog number {i}.", session=f"s{i}")
        world.pipeline.write_scenes(ANA)
    copies = sorted((world.profile().folder / ".backup").iterdir())
    assert [copy.name for copy in copies] == ["scenes-000003", "scenes-000004"]
    world.close()


# --- with a model


def new_ids(request: Request) -> list[str]:
    return re.findall(r"^- \[(m_\w+)\]", request.body["messages"][1]["content"], re.MULTILINE)


def served(folder: Path, script: Callable[[Request], Answer | str], **persona: int) -> World:
    server = FakeServer(script).__enter__()
    config = {"extraction": {"extractor": "rules"}, "persona": persona}
    world = World(folder, config, OpenAIModel(Llm(base_url=server.url, attempts=1)))
    world.server = server  # type: ignore[attr-defined]
    return world


def writes(request: Request, files: dict[str, str], answer: str = "done") -> Answer | str:
    """Write files in the first step, answer in the second."""
    if any(message["role"] == "tool" for message in request.body["messages"]):
        return answer
    return Answer(
        None, tool_calls=tuple(("write_file", {"path": name, "content": text}) for name, text in files.items())
    )


def test_a_model_writes_scenes_whose_lines_are_checked(tmp_path: Path) -> None:
    def script(request: Request) -> Answer | str:
        (id,) = new_ids(request)
        text = (
            "-----META-START-----\nsummary: her home\nheat: 999\n-----META-END-----\n"
            f"# Home\n- Lives in Rome. [{id}]\n- Loves opera.\n- Owns a boat. [m_madeup]\n## Empty\n- x"
        )
        return writes(request, {"home.md": text, "../escape.md": "x"}, "ok\nPERSONA_UPDATE_REQUEST: she moved")

    world = served(tmp_path, script)
    extract(world, "I live in Rome.")
    result = world.pipeline.write_scenes(ANA)
    (scene,) = world.profile().scenes()
    assert scene.body == f"# Home\n- Lives in Rome. [{world.atoms()[0].id}]"
    assert (scene.summary, scene.heat, result.unsupported) == ("her home", 1, 3)
    assert not list(tmp_path.rglob("escape.md"))
    counters = world.store.state("profile/default|default|ana") or {}
    assert (counters["request_persona_update"], counters["persona_update_reason"]) == (True, "she moved")
    world.close()


def test_a_model_is_told_how_much_room_is_left_and_the_cap_is_kept_all_the_same(tmp_path: Path) -> None:
    seen: list[str] = []

    def script(request: Request) -> Answer | str:
        seen.append(request.body["messages"][1]["content"])
        id = new_ids(request)[0]
        return writes(request, {f"{id}.md": f"# T\n- Something. [{id}]"})

    world = served(tmp_path, script, maxScenes=4)
    for i in range(6):
        extract(world, f"I own dog number {i}.", session=f"s{i}")
        world.pipeline.write_scenes(ANA)
    assert len(world.profile().scenes()) == 4
    notices = list(dict.fromkeys(re.findall(r"^There are .*$", "\n".join(seen), re.MULTILINE)))
    assert [n.split(":")[-1].strip() for n in notices] == [
        "There are 0 of at most 4 files.",
        "better update than create.",
        "better update than create.",
        "only update or join files, create none.",
        "join or delete one before anything else.",
    ]
    world.close()


def test_file_names_of_a_model_become_plain_ones(tmp_path: Path) -> None:
    def script(request: Request) -> Answer | str:
        (id,) = new_ids(request)
        return writes(request, dict.fromkeys(("My trip 2026.md", "my-trip, 2026.md"), f"# T\n- Something. [{id}]"))

    world = served(tmp_path, script)
    extract(world, "I live in Rome.")
    world.pipeline.write_scenes(ANA)
    assert [scene.filename for scene in world.profile().scenes()] == ["my-trip-2026-2.md", "my-trip-2026.md"]
    world.close()


@pytest.mark.parametrize("answer", [failure(500), Answer("I did nothing.")])
def test_a_model_that_fails_changes_nothing(tmp_path: Path, answer: Answer) -> None:
    world = served(tmp_path, lambda request: answer)
    extract(world, "I live in Rome.")
    with pytest.raises(ModelError):
        world.pipeline.write_scenes(ANA)
    assert world.profile().scenes() == [] and world.pipeline.scenes_waiting(ANA) == 1
    world.close()


def test_a_file_the_model_marks_as_deleted_goes_and_its_heat_moves(tmp_path: Path) -> None:
    step = [0]

    def script(request: Request) -> Answer | str:
        if any(message["role"] == "tool" for message in request.body["messages"]):
            step[0] += 1
            return "done"
        ids = new_ids(request)
        if step[0] == 0:
            return writes(request, {"a.md": f"# A\n- One. [{ids[0]}]", "b.md": f"# B\n- Two. [{ids[1]}]"})
        old = cited_ids(place.profile().scenes()[0].body)[0]
        return writes(request, {"a.md": "[DELETED]", "b.md": f"# B\n- One and two. [{old}, {ids[0]}]"})

    place = served(tmp_path, script)
    extract(place, "I own a dog.", "I live in Rome.")
    place.pipeline.write_scenes(ANA)
    extract(place, "I love tea.", session="t")
    place.pipeline.write_scenes(ANA)
    (scene,) = place.profile().scenes()
    assert (scene.filename, scene.heat) == ("b.md", 3)
    place.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("done", None),
        ("x\nPERSONA_UPDATE_REQUEST: new job\ny", "new job"),
        ("[PERSONA_UPDATE_REQUEST]\nreason: she moved\n[/PERSONA_UPDATE_REQUEST]", "she moved"),
        ("[PERSONA_UPDATE_REQUEST][/PERSONA_UPDATE_REQUEST]", "asked for"),
    ],
)
def test_requests_for_a_new_persona(answer: str, reason: str | None) -> None:
    assert persona_request(answer) == reason


def test_scenes_of_a_model_are_taken_over_by_the_rules_and_deleted_ones_stay_deleted(tmp_path: Path) -> None:
    def script(request: Request) -> Answer | str:
        (id,) = new_ids(request)
        return writes(request, {"home.md": f"# Home\n- Lives in Rome. [{id}]"})

    world = served(tmp_path, script)
    extract(world, "I live in Rome.")
    world.pipeline.write_scenes(ANA)
    rules = World(tmp_path, clock=world.clock)
    extract(rules, "I love the old streets of Rome.", session="t")
    rules.pipeline.write_scenes(ANA)
    (scene,) = rules.profile().scenes()
    assert scene.filename == "home.md" and len(cited_ids(scene.body)) == 2 and scene.heat == 2
    (rules.profile().scenes_folder / "home.md").unlink()
    extract(rules, "I own a dog.", session="u")
    rules.pipeline.write_scenes(ANA)
    assert [scene.filename for scene in rules.profile().scenes()] == ["owns-dog.md"]
    rules.close()
    world.close()
