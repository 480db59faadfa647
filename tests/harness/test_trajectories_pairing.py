"""Whatever was recorded, what comes out is a history providers accept, and no tool output is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.messages import Message, ToolCall
from harness import lint
from harness.trajectories.draft import Draft, Malformed
from harness.trajectories.pairing import NO_MESSAGE, NO_RESULT, OUTSIDE, legal
from harness.trajectories.registry import by_name, recognise

FIXTURES = Path(__file__).parent.parent / "fixtures" / "trajectories"

IDS = st.sampled_from(["", "a", "b", "c"])
NAMES = st.sampled_from(["look", "run"])
ARGUMENTS = st.sampled_from(['{"x": 1}', '{"x": 2}', "not json"])
TEXT = st.text(max_size=5)

calls = st.lists(st.builds(ToolCall, IDS, NAMES, ARGUMENTS), max_size=3).map(tuple)
messages = st.one_of(
    st.builds(Message, st.just("system"), TEXT),
    st.builds(
        Message, st.just("user"), TEXT, kind=st.sampled_from([None, "task", "observation", "demo", "submission"])
    ),
    st.builds(Message, st.just("assistant"), TEXT, calls, kind=st.sampled_from([None, None, "judge", "demo"])),
    st.builds(
        Message,
        st.just("tool"),
        TEXT,
        tool_call_id=st.one_of(st.none(), IDS),
        name=st.one_of(st.none(), NAMES),
        kind=st.just("observation"),
    ),
)
drafts = st.builds(
    Draft,
    st.lists(messages, max_size=14),
    arguments=st.dictionaries(st.integers(0, 13), st.sampled_from([None, {"x": 1}, {"x": 3}]), max_size=4),
)


@given(drafts)
@settings(max_examples=400, deadline=None)
def test_every_prompt_of_every_draft_is_legal_and_nothing_is_lost(draft: Draft) -> None:
    history, repairs = legal(draft, "run")
    assert legal(draft, "run") == (history, repairs)
    sent = [message for message in history if message.kind not in OUTSIDE]
    for end, message in enumerate(sent):
        if message.role == "assistant":
            assert lint.problems(sent[:end]) == []
    closed = [*sent, Message("user", "next task", kind="task")]
    assert lint.problems(closed) == []

    ids = [call.id for message in sent for call in message.tool_calls]
    assert len(ids) == len(set(ids)) and "" not in ids
    answers = [message for message in draft.messages if message.role == "assistant"]
    assert [m.content for m in history if m.role == "assistant" and m.kind != "judge"] == [
        m.content for m in answers if m.kind != "judge"
    ]
    left = [message.content for message in history if message.is_result and message.role in ("tool", "user")]
    for message in draft.messages:
        if message.is_result:
            left.remove(message.content)
    assert set(left) <= {NO_RESULT, NO_MESSAGE}


def run(*history: Message, arguments: dict[int, object] | None = None) -> tuple[Message, ...]:
    return legal(Draft(list(history), arguments=dict(arguments or {})), "run")[0]


USER = Message("user", "go", kind="task")


def asks(*named: tuple[str, str]) -> Message:
    return Message("assistant", "", tuple(ToolCall(id, "run", arguments) for id, arguments in named))


def result(text: str, id: str | None = None) -> Message:
    return Message("tool", text, tool_call_id=id, name="run", kind="observation")


def test_results_without_ids_are_matched_by_arguments_then_in_order() -> None:
    history = run(
        USER,
        asks(("a", '{"x":1}'), ("b", '{"x":2}')),
        result("two"),
        result("one"),
        arguments={2: {"x": 2}, 3: {"x": 1}},
    )
    assert [(m.content, m.tool_call_id) for m in history[2:]] == [("two", "b"), ("one", "a")]
    history = run(USER, asks(("a", "{}"), ("b", "{}")), result("first"), result("second"))
    assert [(m.content, m.tool_call_id) for m in history[2:]] == [("first", "a"), ("second", "b")]


def test_a_result_of_other_arguments_is_not_taken_for_the_call() -> None:
    history = run(USER, asks(("a", '{"x":1}')), result("stray"), Message("assistant", "on"), arguments={2: {"x": 9}})
    assert [(m.role, m.content) for m in history[2:]] == [("tool", NO_RESULT), ("user", "stray"), ("assistant", "on")]


def test_what_comes_between_a_call_and_its_result_moves_behind_it() -> None:
    history = run(USER, asks(("a", "{}")), Message("user", "wait"), result("here", "a"), Message("assistant", "on"))
    assert [(m.role, m.content) for m in history[2:]] == [("tool", "here"), ("user", "wait"), ("assistant", "on")]


def test_a_result_after_the_next_answer_does_not_go_back_in_time() -> None:
    history, repairs = legal(Draft([USER, asks(("a", "{}")), Message("assistant", "on"), result("late", "a")]), "run")
    assert [(m.role, m.content) for m in history[2:]] == [("tool", NO_RESULT), ("assistant", "on"), ("user", "late")]
    assert (repairs["unanswered"], repairs["unmatched"]) == (1, 1)


def test_a_second_result_for_one_call_is_kept_apart() -> None:
    history = run(USER, asks(("a", "{}")), result("one", "a"), result("two", "a"))
    assert [(m.role, m.content) for m in history[2:]] == [("tool", "one"), ("user", "two")]


def test_the_last_call_of_a_run_is_answered_without_being_counted_as_a_fault() -> None:
    history, repairs = legal(Draft([USER, asks(("a", "{}")), Message("user", "patch", kind="submission")]), "run")
    assert [m.content for m in history] == ["go", "", NO_RESULT, "patch"]
    assert not any(repairs.values())


def test_judges_stand_outside_the_conversation() -> None:
    judge = Message("assistant", "looks good", kind="judge")
    history = run(USER, asks(("a", "{}")), judge, result("here", "a"), Message("assistant", "on"))
    assert [m.content for m in history] == ["go", "", "here", "looks good", "on"]


def test_one_system_message_in_front() -> None:
    history, repairs = legal(Draft([USER, Message("system", "be kind"), Message("system", "be brief"), asks()]), "run")
    assert [(m.role, m.content) for m in history] == [("system", "be kind"), ("user", "go"), ("assistant", "")]
    assert repairs["systems"] == 1


def test_generated_ids_differ_between_runs() -> None:
    draft = Draft([USER, asks(("", "{}"), ("", "{}"))])
    first, second = (legal(draft, name)[0][1].tool_calls for name in ("one", "two"))
    assert len({call.id for call in (*first, *second)}) == 4


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deep for key, item in inner for deep in places(item, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The document with one value replaced."""
    if not path:
        return new
    items = dict(value) if isinstance(value, dict) else list(value)
    items[path[0]] = changed(value[path[0]], path[1:], new)
    return items


RECORDS = [
    (form, record)
    for form, file in [
        ("openai", "openai.jsonl"),
        ("anthropic", "anthropic.jsonl"),
        ("openhands", "openhands_old.jsonl"),
        ("openhands", "openhands_new.jsonl"),
        ("swe-agent", "swe_agent.traj"),
        ("vorflux", "vorflux.json"),
        ("mini-swe-agent", "mini_1_1.traj.json"),
        ("mini-swe-agent", "mini_responses.traj.json"),
        ("atif", "boil-egg__x7/agent/trajectory.json"),
        ("replay", "replay.jsonl"),
    ]
    for record in [json.loads((FIXTURES / file).read_text(encoding="utf-8").split("\n{")[0])]
]


@given(st.data())
@settings(max_examples=600, deadline=None)
def test_one_wrong_value_is_read_legally_or_refused_by_name(data: st.DataObject) -> None:
    form, record = data.draw(st.sampled_from(RECORDS))
    where = data.draw(st.sampled_from(places(record)))
    wrong: Any = data.draw(st.sampled_from([None, True, 7, 1.5, "", "odd", [], [None], [[]], ["x"], {}, {"a": []}]))
    record = changed(record, where, wrong)
    recognise(record)
    try:
        draft = by_name(form).parse(record)
    except Malformed as found:
        assert str(found) and "\n" not in str(found)
        return
    sent = [message for message in legal(draft, "run")[0] if message.kind not in OUTSIDE]
    assert all(isinstance(message.content, str) for message in sent)
    assert lint.problems([*sent, Message("user", "next task", kind="task")]) == []
