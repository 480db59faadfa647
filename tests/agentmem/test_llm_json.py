"""JSON in model answers: golden parity of the reference, and what ours finds where the reference does not."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.errors import BadAnswer
from agentmem.llm.jsonrepair import Found, escape_controls, extract_reference, find_items, find_json
from tests.golden import golden_cases

SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES, min_size=1, max_size=4)


@pytest.mark.golden
@pytest.mark.parametrize("case", golden_cases("memory/json_extract.jsonl"))
def test_reference_gives_the_golden_value(case: dict[str, Any]) -> None:
    got = extract_reference(case["input"]["raw"])
    if case.get("js") == "number":  # the reference's language keeps 53 bits
        assert json.loads(json.dumps(got), parse_int=float) == json.loads(
            json.dumps(case["expected"]["value"]), parse_int=float
        )
    else:
        assert got == case["expected"]["value"]


@pytest.mark.golden
@pytest.mark.parametrize("case", golden_cases("memory/sanitize_json_for_parse.jsonl"))
def test_control_characters_are_escaped_as_in_the_golden_cases(case: dict[str, Any]) -> None:
    assert escape_controls(case["input"]["raw"]) == case["expected"]["text"]


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('<think>{"draft":1}</think>{"facts":[1]}', {"facts": [1]}),
        ('{"draft":1}</think>\n{"facts":[1]}', {"facts": [1]}),
        ('<think>perhaps {"draft":1} or rather {"facts":[1]}', {"facts": [1]}),
        ('Result: {"text":"<think>x</think>"} done', {"text": "<think>x</think>"}),
        ('<think>a [1] b</think>```json\n{"a": [1,],}\n```\nNote: see [1].', {"a": [1]}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('{"a": "he said "yes" twice", "b": 1}', {"a": 'he said "yes" twice', "b": 1}),
        ('{"priority": , "type": persona}', {"priority": None, "type": "persona"}),
        ('{"a": 1, // one\n "b": /* two */ 2}', {"a": 1, "b": 2}),
        ('{"a":"x,]","b":1,}', {"a": "x,]", "b": 1}),
        ('x {"a":"\\ud83d\\ude00", }', {"a": "\U0001f600"}),
    ],
)
def test_ours_finds_what_the_answer_means(answer: str, value: Any) -> None:
    assert find_json(answer) == Found(value)


@pytest.mark.parametrize(
    "answer", ["", "  \n", "I could not do that.", "{curly}", "[see notes]", '{"a"', "<think>[a, b]</think>"]
)
def test_an_answer_without_json_is_an_error_not_an_empty_result(answer: str) -> None:
    with pytest.raises(BadAnswer):
        find_json(answer)


def test_half_an_array_keeps_its_whole_elements_and_says_so() -> None:
    assert find_json('[{"a":1},{"b":2},{"c":"x') == Found([{"a": 1}, {"b": 2}], complete=False)
    assert find_json('{"scenes":[{"a":1},{"b') == Found({"scenes": [{"a": 1}]}, complete=False)


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ('{"scenes":[{"a":1},{"a":2}]}', [{"a": 1}, {"a": 2}]),
        ('{"scene_name":"x","memories":[{"c":1}]}', [{"scene_name": "x", "memories": [{"c": 1}]}]),
        ("[]", []),
        ('[null, 1, {"a":1}]', [{"a": 1}]),
        ('Result [1 scene]:\n[{"a":1}]', [{"a": 1}]),
    ],
)
def test_items(answer: str, items: list[dict[str, Any]]) -> None:
    assert find_items(answer).value == items


@pytest.mark.parametrize("answer", ['"yes"', "7", "[1, 2]"])
def test_items_must_be_objects(answer: str) -> None:
    with pytest.raises(BadAnswer):
        find_items(answer)


@given(
    OBJECTS,
    st.sampled_from(
        ["{}", "Sure!\n{}\nHope that helps.", "```json\n{}\n```\nNote: ok", "<think>first [a] then b</think>{}"]
    ),
)
@settings(max_examples=60, deadline=None)
def test_wrapping_never_hides_or_changes_a_value(value: dict[str, Any], frame: str) -> None:
    assert find_json(frame.replace("{}", json.dumps(value, ensure_ascii=False))) == Found(value)


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.data())
@settings(max_examples=60, deadline=None)
def test_a_cut_list_gives_a_prefix_of_it(value: list[dict[str, Any]], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    try:
        found = find_json(text[:cut], want="list")
    except BadAnswer:
        return
    if isinstance(found.value, list):
        assert found.value == value[: len(found.value)]
        assert not found.complete


@given(st.text(alphabet='{}[]",:\\ab1 <think>/`\n', max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_value_or_one_named_error(text: str) -> None:
    with contextlib.suppress(BadAnswer):
        json.dumps(find_json(text).value, allow_nan=False)
