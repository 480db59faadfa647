"""A model's extraction answer: golden parity, what failed is no empty result, and the checks against the window."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentmem.errors import BadAnswer
from agentmem.longterm.atom_types import CHAT_TYPES, WORK_TYPES, atom_type, settle_priority
from agentmem.longterm.extraction import Window
from agentmem.longterm.extraction_answer import PLAIN_PRIORITY, SceneAnswer, drafts_of, parse_scenes
from agentmem.store.records import Turn
from tests.agentmem.parity import upstream_cases

MEMORY = {
    "content": "User lives in Lisbon.",
    "type": "persona",
    "priority": 80,
    "source_message_ids": ["m1"],
    "metadata": {},
}


def turn(id: str, content: str = "x") -> Turn:
    return Turn(id=id, session="s", role="user", content=content, timestamp=0)


def answer(*memories: dict[str, Any], name: str = "relocation") -> str:
    return json.dumps([{"scene_name": name, "message_ids": ["m1", "m2"], "memories": list(memories)}])


def as_golden(scenes: list[SceneAnswer]) -> list[dict[str, Any]]:
    return [
        {
            "scene_name": scene.name,
            "message_ids": list(scene.message_ids),
            "memories": [
                {
                    "content": memory.content,
                    "type": memory.type,
                    "priority": PLAIN_PRIORITY if memory.priority is None else memory.priority,
                    "source_message_ids": list(memory.sources),
                    "metadata": memory.metadata,
                }
                for memory in scene.memories
            ],
        }
        for scene in scenes
    ]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("l1_extraction_parse"))
def test_answers_are_read_as_upstream(case: dict[str, Any]) -> None:
    try:
        scenes = parse_scenes(case["input"]["raw"])
    except BadAnswer:
        assert case["expected"]["scenes"] == []  # upstream cannot tell a failure from nothing to remember
        return
    assert as_golden(scenes) == case["expected"]["scenes"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("l1_type"))
def test_names_of_types_as_upstream(case: dict[str, Any]) -> None:
    assert atom_type(case["input"]["type"]) == case["expected"]["type"]


@pytest.mark.parametrize(
    "raw",
    [
        "There is nothing to extract.",
        "",
        answer(MEMORY)[:-30],
        '{"scenes": [1, 2]}',
        '{"error": "rate limited"}',
        "[1, 2, 3]",
    ],
)
def test_what_cannot_be_read_is_a_failure_not_an_empty_result(raw: str) -> None:
    with pytest.raises(BadAnswer):
        parse_scenes(raw)


def test_an_empty_list_is_a_result() -> None:
    assert parse_scenes("[]") == []


@pytest.mark.parametrize(
    "raw",
    [
        "Result [1 scene]:\n" + answer(MEMORY),
        "<think>candidates: [a, b]</think>\n" + answer(MEMORY),
        answer(MEMORY)[1:-1],
        json.dumps({"scenes": json.loads(answer(MEMORY))}),
        "[[], " + answer(MEMORY)[1:],
        answer(MEMORY | {"source_message_ids": ["m1", None]}),
        json.dumps([MEMORY]),
    ],
)
def test_answers_that_upstream_loses(raw: str) -> None:
    memories = [memory for scene in parse_scenes(raw) for memory in scene.memories]
    assert [(memory.content, memory.sources) for memory in memories] == [("User lives in Lisbon.", ("m1",))]


def test_ids_that_do_not_exist_are_removed_and_the_scene_stands_in() -> None:
    scenes = parse_scenes(
        answer(MEMORY | {"source_message_ids": ["m1", "zz"]}, MEMORY | {"source_message_ids": ["zz"]})
    )
    drafts = drafts_of(scenes, Window((turn("m1"), turn("m2"), turn("m3")))).drafts
    assert [draft.sources for draft in drafts] == [("m1",), ("m1", "m2")]


def test_a_memory_without_any_source_is_left_out_and_counted() -> None:
    extracted = drafts_of(parse_scenes(answer(MEMORY)), Window((turn("other"),)))
    assert extracted.drafts == ()
    assert extracted.dropped == {"no source": 1}


def test_background_is_no_source() -> None:
    extracted = drafts_of(parse_scenes(answer(MEMORY)), Window((turn("m9"),), background=(turn("m1"),)))
    assert extracted.dropped == {"no source": 1}


def test_bands_of_priority_and_the_limit() -> None:
    memories = [
        MEMORY | {"type": "instruction", "priority": -1},
        MEMORY | {"type": "persona", "priority": -1},
        MEMORY | {"type": "episodic", "priority": 59},
        MEMORY | {"type": "instruction", "priority": 69},
        MEMORY | {"type": "persona", "priority": 50},
        MEMORY | {"type": "persona", "priority": 900},
        MEMORY | {"type": "work_fact", "priority": 90},
        MEMORY | {"type": "mood", "priority": 90},
        MEMORY | {"type": "preference", "priority": 60},
    ]
    window = Window((turn("m1"),), limit=3)
    extracted = drafts_of(parse_scenes(answer(*memories)), window)
    assert [(draft.type, draft.priority) for draft in extracted.drafts] == [
        ("instruction", -1),
        ("persona", 50),
        ("persona", 100),
    ]
    assert extracted.dropped == {"over the limit": 1, "priority": 3, "type": 2}


def test_each_mode_knows_its_own_types() -> None:
    memories = [MEMORY | {"type": kind, "priority": 95} for kind in (*CHAT_TYPES, *WORK_TYPES)]
    scenes = parse_scenes(answer(*memories))
    assert [d.type for d in drafts_of(scenes, Window((turn("m1"),))).drafts] == list(CHAT_TYPES)
    assert [d.type for d in drafts_of(scenes, Window((turn("m1"),), mode="code")).drafts] == list(WORK_TYPES)


def test_a_priority_that_was_not_given_is_the_types_own() -> None:
    assert [settle_priority(kind, None) for kind in CHAT_TYPES] == [60, 60, 75]


def test_the_scene_goes_on_also_through_a_scene_without_memories() -> None:
    raw = json.dumps([{"scene_name": "moving", "message_ids": ["m1"], "memories": []}])
    assert drafts_of(parse_scenes(raw), Window((turn("m1"),), scene="before")).scene == "moving"
    assert drafts_of([], Window((turn("m1"),), scene="before")).scene == "before"
    unnamed = drafts_of(parse_scenes(json.dumps([{"memories": [MEMORY]}])), Window((turn("m1"),), scene="before"))
    assert (unnamed.scene, unnamed.drafts[0].scene) == ("before", "")
