"""Scene files and their navigation: golden parity, and that nothing written is lost when it is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.longterm.scene_format import (
    END,
    HEADING,
    START,
    Scene,
    format_scene,
    navigation,
    parse_scene,
    strip_navigation,
)
from tests.agentmem.parity import upstream_cases

BODY = "# Profile\n\nLikes tea.  \n"


def meta(scene: Scene) -> dict[str, Any]:
    return {"created": scene.created, "updated": scene.updated, "summary": scene.summary, "heat": scene.heat}


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("scene_format"))
def test_files_are_read_and_written_as_upstream(case: dict[str, Any]) -> None:
    scene = parse_scene(case["input"]["raw"], case["input"]["filename"])
    assert {"meta": meta(scene), "content": scene.body, "formatted": format_scene(scene)} == case["expected"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("scene_round_trip"))
def test_round_trip_as_upstream(case: dict[str, Any]) -> None:
    given_meta = case["input"]["meta"]
    scene = Scene(
        "x.md",
        given_meta["summary"],
        case["input"]["content"],
        given_meta["heat"],
        given_meta["created"],
        given_meta["updated"],
    )
    text = format_scene(scene)
    again = parse_scene(text, "x.md")
    assert {"formatted": text, "reparsed": {"meta": meta(again), "content": again.body}} == case["expected"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("scene_navigation"))
def test_navigation_as_upstream(case: dict[str, Any]) -> None:
    entries = [
        Scene(e["filename"], e["summary"], "x", e["heat"], e["created"], e["updated"]) for e in case["input"]["entries"]
    ]
    text = navigation(entries, case["input"]["data_dir"], case["input"]["use_cos"])
    expected = case["expected"]
    if expected["empty"]:
        assert text == ""
        return
    lines = text.split("\n")
    footer = lines[-expected["footer_lines"] :]
    blocks = "\n".join(lines[2 + expected["hint_lines"] : -expected["footer_lines"]]).strip("\n").split("\n\n")
    tool = "tdai_read_cos" if case["input"]["use_cos"] else "read"
    assert (lines[0], lines[1], blocks) == (expected["rule_line"], expected["heading_line"], expected["entry_blocks"])
    assert tool in lines[2] and tool in "".join(footer)
    assert strip_navigation(BODY + "\n" + text) == expected["strip_of_persona_plus_navigation"]
    assert strip_navigation(text) == expected["strip_of_navigation_alone"]
    assert strip_navigation(BODY) == expected["strip_of_plain_text"]


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("strip_scene_navigation"))
def test_navigation_is_cut_as_upstream(case: dict[str, Any]) -> None:
    assert strip_navigation(case["input"]["text"]) == case["expected"]["text"]


LINE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(LINE, LINE, LINE, LINE, st.integers(-5, 5000))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_back(summary: str, body: str, created: str, updated: str, heat: int) -> None:
    scene = Scene("a.md", summary, body, heat, created, updated)
    once = parse_scene(format_scene(scene), "a.md")
    assert once.heat == heat
    assert once.summary.split() == summary.replace(START, " ").replace(END, " ").split()
    assert parse_scene(format_scene(once), "a.md") == once


def test_an_empty_field_stays_empty_and_text_in_front_stays() -> None:
    scene = parse_scene(f"preface\n{START}\ncreated: a\nupdated: b\nsummary:\nheat: 2\n{END}\n\nbody", "a.md")
    assert (scene.summary, scene.heat, scene.body) == ("", 2, "preface\n\nbody")


def test_chapters_behind_a_navigation_stay() -> None:
    text = f"# P\n---\n{HEADING}\nx\n### Path: a\n\n# Later\nmore"
    assert strip_navigation(text) == "# P\n\n# Later\nmore"
    assert strip_navigation(f"# P\n---\r\n{HEADING}\nx") == "# P"
    assert strip_navigation(f"# P\n---\n\n{HEADING}\nx") == "# P"


def test_files_to_be_removed() -> None:
    assert parse_scene("", "a.md").is_deleted
    assert parse_scene(f"{START}\nheat: 1\n{END}\n\n", "a.md").is_deleted
    assert parse_scene("old\n[DELETED]", "a.md").is_deleted
    assert not parse_scene("text", "a.md").is_deleted
