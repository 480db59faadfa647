"""Host messages: read into one form, written back as they came, byte for byte where nothing changed."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.errors import MessageError
from agentmem.messages import Message, ToolCall
from agentmem.wire import Form, form_of, read, write

OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"p": "é"}'}},
            {"id": "b", "type": "function", "function": {"name": "cat", "arguments": "{}"}},
        ],
        "reasoning": "hm",
    },
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "tool", "tool_call_id": "b", "content": "two"},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "now"},
            {"type": "tool_use", "id": "a", "name": "ls", "input": {"p": "é"}},
            {"type": "tool_use", "id": "b", "name": "cat", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "content": [{"type": "text", "text": "two"}],
                "is_error": True,
                "cache_control": {"type": "ephemeral"},
            },
            {"type": "text", "text": "and then?"},
        ],
    },
]
FLAT: list[dict[str, Any]] = [
    {"role": "user", "content": "look", "timestamp": 5},
    {"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "ls", "arguments": {"p": "é"}}]},
    {
        "role": "toolResult",
        "toolCallId": "a",
        "toolName": "ls",
        "content": [{"type": "text", "text": "one"}],
        "isError": False,
        "details": {"x": 1},
    },
]
TRANSCRIPT: list[dict[str, Any]] = [{"type": "message", "id": n, "message": message} for n, message in enumerate(FLAT)]
LISTS: dict[Form, list[dict[str, Any]]] = {
    Form.OPENAI: OPENAI,
    Form.ANTHROPIC: ANTHROPIC,
    Form.FLAT: FLAT,
    Form.TRANSCRIPT: TRANSCRIPT,
}


@pytest.mark.parametrize("form", LISTS)
def test_unchanged_messages_go_out_as_the_objects_they_came_in(form: Form) -> None:
    raws = LISTS[form]
    before = copy.deepcopy(raws)
    written = write(read(raws))
    assert all(out is came for out, came in zip(written, raws, strict=True)) and raws == before
    assert form_of(raws) is form


def test_every_form_is_read_into_the_same_calls_and_results() -> None:
    for raws in LISTS.values():
        messages = [message for message in read(raws) if message.role != "system"]
        assert messages[0].content == "look"
        assert messages[1].tool_calls[0] == ToolCall("a", "ls", '{"p": "é"}')
        assert (messages[2].role, messages[2].tool_call_id, messages[2].content) == ("tool", "a", "one")


def test_several_results_in_one_message_are_read_one_by_one() -> None:
    _, _, one, two, text = read(ANTHROPIC)
    assert [(m.role, m.content, m.is_error) for m in (one, two, text)] == [
        ("tool", "one", False),
        ("tool", "two", True),
        ("user", "and then?", False),
    ]
    assert text.is_request and not two.is_request


@pytest.mark.parametrize("form", LISTS)
def test_a_changed_result_keeps_everything_else(form: Form) -> None:
    raws = LISTS[form]
    before = copy.deepcopy(raws)
    messages = read(raws)
    last = max(i for i, m in enumerate(messages) if m.role == "tool")
    messages[last] = replace(messages[last], content="summary", kind="summary", refs=("refs/x",))
    written = write(messages)
    assert raws == before
    again = read(written)
    assert [m.content for m in again] == [m.content for m in messages]
    assert [m.tool_call_id for m in again] == [m.tool_call_id for m in messages]
    changed = [i for i, (out, came) in enumerate(zip(written, raws, strict=True)) if out is not came]
    assert len(changed) == 1
    old, new = json.loads(json.dumps(raws[changed[0]])), json.loads(json.dumps(written[changed[0]]))
    assert json.dumps(new).replace("summary", messages_text(form)) == json.dumps(old)


def messages_text(form: Form) -> str:
    return "two" if form in (Form.OPENAI, Form.ANTHROPIC) else "one"


def test_changed_calls_keep_thinking_and_text() -> None:
    messages = read(ANTHROPIC)
    call = messages[1].tool_calls[0]
    messages[1] = replace(messages[1], tool_calls=(replace(call, arguments='{"short": 1}'),))
    blocks = write(messages)[1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use"]
    assert blocks[2] == {"type": "tool_use", "id": "a", "name": "ls", "input": {"short": 1}}
    messages = read(OPENAI)
    messages[2] = replace(messages[2], tool_calls=())
    assert "tool_calls" not in write(messages)[2] and write(messages)[2]["reasoning"] == "hm"


def test_a_result_taken_out_leaves_its_neighbours() -> None:
    messages = [message for message in read(ANTHROPIC) if message.tool_call_id != "a"]
    content = write(messages)[2]["content"]
    assert content == ANTHROPIC[2]["content"][1:]
    assert content[0] is ANTHROPIC[2]["content"][1]


def test_new_text_keeps_images_where_they_stood() -> None:
    messages = read(OPENAI)
    messages[1] = replace(messages[1], content="see")
    assert write(messages)[1]["content"] == [{"type": "text", "text": "see"}, OPENAI[1]["content"][1]]


def test_new_results_are_grouped_for_anthropic() -> None:
    messages = [m for m in read(OPENAI) if m.role != "system"]
    fresh = [replace(m, raw=None) for m in messages]
    written = write(fresh, Form.ANTHROPIC)
    assert [m["role"] for m in written] == ["user", "assistant", "user"]
    assert [b["tool_use_id"] for b in written[2]["content"]] == ["a", "b"]
    assert [replace(m, raw=None) for m in read(written)] == fresh


@pytest.mark.parametrize("form", Form)
def test_new_messages_in_every_form_come_back_the_same(form: Form) -> None:
    fresh = [
        Message("user", "go"),
        Message("assistant", "ok", (ToolCall("x", "ls", '{"a": [1, "ü"]}'),)),
        Message("tool", "out", tool_call_id="x", is_error=form is not Form.OPENAI),
        Message("user", "canvas", kind="canvas"),
    ]
    assert [replace(m, raw=None) for m in read(write(fresh, form))] == [replace(m, kind=None) for m in fresh]


def test_injected_canvases_are_no_requests() -> None:
    (message,) = read([{"role": "user", "content": "map", "_mmdContextMessage": "active"}])
    assert message.kind == "canvas" and not message.is_request


def test_one_object_twice_is_two_messages() -> None:
    raw = {"role": "user", "content": "again"}
    messages = read([raw, raw])
    assert write(messages) == [raw, raw]
    assert write([messages[0], replace(messages[1], content="other")]) == [raw, {"role": "user", "content": "other"}]


def test_broken_arguments_reach_the_provider_as_an_object() -> None:
    (written,) = write([Message("assistant", "", (ToolCall("x", "ls", '{"half'),))], Form.ANTHROPIC)
    assert written["content"][0]["input"] == {"arguments": '{"half'}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"role": "robot", "content": ""}, "expected a role out of"),
        ({"content": "x"}, "got None"),
        ({"role": "user", "content": 5}, "got int"),
        ("text", "got str"),
        ({"role": "assistant", "content": [{"type": "tool_use", "name": "ls"}]}, "without an id"),
        ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "without a function"),
    ],
)
def test_what_fits_no_form_is_named_with_its_index(raw: Any, says: str) -> None:
    with pytest.raises(MessageError, match="message 1: .*" + says):
        read([{"role": "user", "content": "fine"}, raw])


def test_anthropic_has_no_system_message_in_the_list() -> None:
    with pytest.raises(MessageError, match="the field `system`"):
        write([Message("system", "x")], Form.ANTHROPIC)


texts = st.text(st.characters(exclude_categories=()), max_size=12)
values = st.dictionaries(texts, texts | st.integers() | st.lists(texts, max_size=2), max_size=2)


@st.composite
def anthropic_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    raws: list[dict[str, Any]] = []
    for step in range(draw(st.integers(0, 5))):
        ids = [f"c{step}_{n}" for n in range(draw(st.integers(0, 3)))]
        blocks: list[Any] = [{"type": "text", "text": draw(texts)}] if draw(st.booleans()) or not ids else []
        blocks += [{"type": "tool_use", "id": call, "name": draw(texts), "input": draw(values)} for call in ids]
        raws.append({"role": "assistant", "content": blocks})
        results: list[Any] = [{"type": "tool_result", "tool_use_id": call, "content": draw(texts)} for call in ids]
        if draw(st.booleans()) or not ids:
            results.append({"type": "text", "text": draw(texts)})
        raws.append({"role": "user", "content": results})
    return raws


@settings(max_examples=120, deadline=None)
@given(anthropic_lists(), st.data())
def test_any_list_is_written_back_and_any_change_is_read_back(raws: list[dict[str, Any]], data: st.DataObject) -> None:
    messages = read(raws)
    assert all(out is came for out, came in zip(write(messages), raws, strict=True))
    if messages:
        index = data.draw(st.integers(0, len(messages) - 1))
        messages[index] = replace(
            messages[index], content=data.draw(texts.filter(bool))
        )  # providers refuse an empty text block
        again = read(write(messages))
        assert [(m.role, m.content, m.tool_calls, m.tool_call_id) for m in again] == [
            (m.role, m.content, m.tool_calls, m.tool_call_id) for m in messages
        ]
