"""Scripted agents act on the text of the prompt alone: they read it, ask again, follow pointers, or give up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentmem.messages import Message, ToolCall
from suites.aalcr.mini.agent import is_request, policy
from suites.aalcr.mini.phrases import EXCEEDS
from suites.mini_agents.moves import Ask, Done, drill_of, follow
from suites.mini_agents.player import GIVE_UP, REPEATS, Player
from suites.mini_agents.view import pointers, view_of

QUESTION = EXCEEDS.format(
    unit="people", metric="staff", mill="Keldrick Mill", year="2020", other="Rastvik Mill", then="2019"
)
LISTING = "Keldrick Mill, report.txt (1 pages)\nRastvik Mill, report.txt (1 pages)"
KELDRICK = "In 2020 staff at Keldrick Mill came to 40,000 people."
RASTVIK = "Rastvik Mill reports staff of 15,500 people for 2019."
REF = "refs/0123456789abcdef0123.txt"


def tool(name: str, *fields: str) -> dict[str, Any]:
    properties = {field: {"type": "string"} for field in fields}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


def prompt(*steps: tuple[str, dict[str, Any], str]) -> list[Message]:
    messages = [Message("system", "You answer."), Message("user", QUESTION)]
    for number, (name, arguments, text) in enumerate(steps):
        messages.append(Message("assistant", "", (ToolCall(f"c{number}", name, json.dumps(arguments)),)))
        messages.append(Message("tool", text, tool_call_id=f"c{number}", name=name))
    return messages


def read(mill: str, text: str) -> tuple[str, dict[str, Any], str]:
    return "read_document", {"document": f"{mill} Mill, report.txt", "page": 1}, text


def asked(message: Message) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


def test_it_answers_when_the_prompt_shows_every_figure() -> None:
    shown = prompt(("list_documents", {}, LISTING), read("Keldrick", KELDRICK), read("Rastvik", RASTVIK))
    assert Player(policy, is_request)(shown, []).content == "The answer is 24,500."


def test_it_answers_from_the_text_and_not_from_what_it_has_seen_before() -> None:
    player = Player(policy, is_request)
    player(prompt(("list_documents", {}, LISTING), read("Keldrick", KELDRICK)), [])
    changed = KELDRICK.replace("40,000", "50,000")
    shown = prompt(("list_documents", {}, LISTING), read("Keldrick", changed), read("Rastvik", RASTVIK))
    assert player(shown, []).content == "The answer is 34,500."


def test_book_keeping_that_is_never_sent_tells_it_nothing() -> None:
    messages = prompt(("list_documents", {}, LISTING), read("Keldrick", KELDRICK), read("Rastvik", "[gone]"))
    messages[-1] = Message("tool", "[gone]", tool_call_id="c2", name="read_document", refs=(REF,))
    player = Player(policy, is_request)
    assert asked(player(messages, [tool("trace", "ref", "pattern")])) == [read("Rastvik", "")[:2]]


def test_what_is_gone_it_asks_for_again_until_the_limit() -> None:
    player = Player(policy, is_request)
    shown = prompt(("list_documents", {}, LISTING), read("Keldrick", "[gone]"), read("Rastvik", RASTVIK))
    answers = [player(shown, []) for _ in range(REPEATS + 2)]
    assert [asked(answer) for answer in answers[:-1]] == [[read("Keldrick", "")[:2]]] * (REPEATS + 1)
    assert answers[-1].content == GIVE_UP


def test_a_new_request_starts_the_count_anew() -> None:
    player = Player(policy, is_request)
    shown = prompt(("list_documents", {}, LISTING), read("Keldrick", "[gone]"))
    while player(shown, []).content != GIVE_UP:
        pass
    other = [*shown, Message("user", QUESTION.replace("2020", "2018"))]
    assert asked(player(other, [])) == [("list_documents", {})]


def test_a_pointer_is_followed_with_the_tool_of_the_engine() -> None:
    shortened = f"[offloaded: {REF}, 700 tokens]\n24 lines"
    shown = prompt(("list_documents", {}, LISTING), read("Keldrick", shortened), read("Rastvik", RASTVIK))
    player = Player(policy, is_request)
    ((name, arguments),) = asked(player(shown, [tool("list_documents"), tool("trace", "ref", "pattern")]))
    assert name == "trace"
    assert arguments["ref"] == REF
    assert "Keldrick" in arguments["pattern"]
    shown += prompt(("trace", arguments, KELDRICK))[2:]
    assert player(shown, [tool("trace", "ref", "pattern")]).content == "The answer is 24,500."


def test_a_pointer_that_led_nowhere_is_not_followed_twice() -> None:
    shortened = f"[offloaded: {REF}, 700 tokens]"
    steps = [("list_documents", {}, LISTING), read("Keldrick", shortened), read("Rastvik", RASTVIK)]
    offered = [tool("trace", "ref", "pattern")]
    player = Player(policy, is_request)
    ((name, arguments),) = asked(player(prompt(*steps), offered))
    answer = player(prompt(*steps, (name, arguments, "no line matches")), offered)
    assert asked(answer) == [read("Keldrick", "")[:2]]


def test_what_was_read_behind_a_pointer_and_has_left_is_followed_in_turn() -> None:
    further = "refs/fedcba9876543210fedc.txt"
    steps = [("list_documents", {}, LISTING), read("Keldrick", f"[{REF}]"), read("Rastvik", RASTVIK)]
    offered = [tool("trace", "ref", "pattern")]
    player = Player(policy, is_request)
    ((name, arguments),) = asked(player(prompt(*steps), offered))
    answer = player(prompt(*steps, (name, arguments, f"[offloaded: {further}, 90 tokens]")), offered)
    assert asked(answer) == [(name, arguments | {"ref": further})]


def test_numbers_in_front_of_the_lines_of_a_slice_are_not_part_of_them() -> None:
    steps = [("list_documents", {}, "1: " + LISTING.replace("\n", "\n2: ")), read("Keldrick", f"17: {KELDRICK}")]
    answer = Player(policy, is_request)(prompt(*steps), [])
    assert asked(answer) == [read("Rastvik", "")[:2]]


def test_a_call_that_a_memory_folded_into_a_note_is_not_made_again() -> None:
    note = f"001-N2 read_document Keldrick Mill, report.txt 1 => 40 lines {REF}"
    messages = prompt(("list_documents", {}, LISTING), read("Rastvik", RASTVIK))
    messages.insert(2, Message("user", note, kind="canvas"))
    ((name, arguments),) = asked(Player(policy, is_request)(messages, [tool("trace", "ref", "pattern")]))
    assert (name, arguments["ref"]) == ("trace", REF)


def test_the_tool_of_the_memory_is_known_by_its_schema() -> None:
    from agentmem.offload.drilldown import LIMIT, TOOL, openai_tools

    view = view_of(prompt(), [tool("list_documents"), *openai_tools()], is_request)
    drill = drill_of(view.tools)
    assert drill is not None
    assert drill.name == TOOL
    assert drill.call(REF, "staff")[1] == {drill.ref: REF, "pattern": "staff"}
    assert drill.call(REF, None)[1]["limit"] > LIMIT


def test_without_a_tool_a_pointer_is_worth_nothing() -> None:
    view = view_of(prompt(read("Keldrick", f"[{REF}]")), [], is_request)
    assert drill_of(view.tools) is None
    assert follow(view, [REF], "staff") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"see {REF} and {REF}", (REF,)),
        ('{"result_ref": "call-7.md"}', ("call-7.md",)),
        ("result_ref: refs/abc.txt)", ("refs/abc.txt",)),
        ("nothing", ()),
    ],
)
def test_pointers_are_read_off_the_text(text: str, found: tuple[str, ...]) -> None:
    assert pointers(text) == found


def test_call_ids_are_unique_in_a_conversation() -> None:
    ids: list[str] = []

    def twice(view: object) -> Ask | Done:
        return Ask("look", (("a", {"n": len(ids)}), ("b", {"n": len(ids)})))

    player = Player(twice, is_request)
    for _ in range(3):
        ids += [call.id for call in player(prompt(), []).tool_calls]
    assert len(ids) == len(set(ids)) == 6
