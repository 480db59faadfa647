"""What each reader makes of the details of its format, and one broken variant each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import UnknownName, UnreadableInput
from harness.trajectories import detect, format_names, read
from harness.trajectories.pairing import NO_MESSAGE, NO_RESULT
from tests.data import data_path
from tests.harness.recorded import FIXTURES, assert_legal, ignore, one, outputs, shape


def test_swe_agent_details() -> None:
    text = one(data_path("raw_samples/swe-agent/pydicom__pydicom-1458.traj"))
    assert shape(text)[:4] == [("system", None), ("user", "demo"), ("user", "task"), ("assistant", None)]
    assert text.id == "pydicom__pydicom-1458" and text.outcome.state == "missing"
    calls = one(data_path("raw_samples/swe-agent/marshmallow-code__marshmallow-1867.function_calling.traj"))
    ids = [call.id for message in calls.messages for call in message.tool_calls]
    assert (calls.id, calls.model) == ("marshmallow-code__marshmallow-1867", "gpt-4o")
    assert len(set(ids)) == len(ids) == 11  # the sample uses five ids more than once
    assert calls.messages[3].name == "create"


def test_openhands_details(tmp_path: Path) -> None:
    run = one(data_path("raw_samples/openhands/multi_swe_bench_output.first_row.jsonl"))
    assert (run.id, run.agent) == ("ponylang__ponyc-4595", "OpenHands 0.35.0 CodeActAgent")
    assert run.messages[-2].tool_calls[0].name == "finish" and run.messages[-1].content == NO_RESULT
    old = one(FIXTURES / "openhands_old.jsonl")
    assert shape(old) == [
        ("user", "task"),
        ("assistant", None),
        ("tool", "observation"),
        ("assistant", None),
        ("tool", "observation"),
    ]
    assert (old.messages[1].content, old.messages[1].tool_calls[0].arguments) == ("I look.", '{"command": "ls"}')
    assert (old.messages[2].content, old.suite) == ("hinge.c", "doors")
    assert old.outcome.state == "scored" and old.outcome.passed is True
    assert_legal(old)


def test_openhands_actions_of_one_answer_are_one_message() -> None:
    run = one(FIXTURES / "openhands_new.jsonl")
    assert [message.role for message in run.messages] == [
        "system",
        "user",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert run.messages[2].content == "Oil first.\n\nUse little oil."
    assert [call.id for call in run.messages[3].tool_calls] == ["h1", "h2"]
    assert [(m.content, m.tool_call_id, m.is_error) for m in run.messages[4:6]] == [
        ("hinge.c", "h1", False),
        ("no such gate", "h2", True),
    ]
    assert_legal(run)


def test_swe_agent_demonstrations_and_newer_configuration() -> None:
    run = one(FIXTURES / "swe_agent.traj")
    assert [kind for _, kind in shape(run)] == [
        None,
        "demo",
        "demo",
        "task",
        None,
        "observation",
        None,
        "observation",
        None,
    ]
    assert (run.id, run.model) == ("tap__tap-5", "tiny-8")
    assert_legal(run)


def test_vorflux_matches_by_arguments() -> None:
    warnings: list[str] = []
    run = one(FIXTURES / "vorflux.json", warnings=warnings)
    assert [(m.role, m.content) for m in run.messages] == [
        ("user", "The roof leaks."),
        ("assistant", "I climb."),
        ("tool", "soot"),
        ("tool", "a tile is loose\n[stderr]\nwind"),
        ("assistant", ""),  # the judge
        ("user", "dark"),
        ("assistant", ""),
        ("user", NO_MESSAGE),
        ("assistant", "Fixed."),
    ]
    assert [m.tool_call_id for m in run.messages[2:4]] == ["v2", "v1"]
    assert len(warnings) == 2
    assert_legal(run)


def test_replay_keeps_kinds_and_leaves_out_reasoning() -> None:
    run = one(FIXTURES / "replay.jsonl")
    assert [kind for _, kind in shape(run)] == [None, "task", None, "observation", "judge", None, "submission"]
    assert run.outcome.state == "scored" and run.outcome.passed is False
    assert run.messages[3].is_error and run.messages[3].tool_call_id == run.messages[2].tool_calls[0].id
    assert all("deep" not in message.content for message in run.messages)
    assert_legal(run)


def test_mini_swe_agent_with_tool_calls() -> None:
    path = FIXTURES / "mini_1_1.traj.json"
    assert detect(path) == "mini-swe-agent"
    warnings: list[str] = []
    run = one(path, warnings=warnings)
    assert shape(run) == [
        ("system", None),
        ("user", "task"),
        ("user", "task"),
        ("assistant", None),
        ("tool", "observation"),
        ("user", None),  # a person spoke up
        ("assistant", None),
        ("tool", "observation"),  # the run ended with this call
        ("user", "submission"),
    ]
    assert (run.id, run.agent, run.model) == ("mini_1_1", "mini-swe-agent 2.4.6", "tiny-3")
    assert run.messages[4].name == "bash" and run.messages[7].content == NO_RESULT and warnings == []
    assert_legal(run)


def test_mini_swe_agent_with_the_responses_api() -> None:
    run = one(FIXTURES / "mini_responses.traj.json")
    assert shape(run) == [
        ("system", None),
        ("user", "task"),
        ("assistant", None),
        ("tool", "observation"),
        ("user", "submission"),
    ]
    assert run.messages[2].content == "Looking." and run.messages[2].tool_calls[0].id == "r1"
    assert (run.messages[3].content, run.id) == ("sum.py", "sum__sum-2")
    assert_legal(run)


def test_openai_chat() -> None:
    path = FIXTURES / "openai.jsonl"
    assert detect(path) == "openai"
    first, second = read([path], warn=ignore)
    assert shape(first)[:2] == [("system", None), ("user", "task")]
    assert [call.name for call in first.messages[2].tool_calls] == ["look", "look"]
    assert outputs(first) == ["fuse box open", "bulb is black"]
    assert [message.tool_call_id for message in first.messages if message.role == "tool"] == ["a2", "a1"]
    assert (first.outcome.passed, second.outcome.passed) == (True, False)
    assert second.messages[0].content == "And the porch?\n(image)"
    call = second.messages[1].tool_calls[0]
    assert call.id.startswith("call_") and second.messages[2].tool_call_id == call.id
    for run in (first, second):
        assert_legal(run)


def test_anthropic_blocks() -> None:
    path = FIXTURES / "anthropic.jsonl"
    assert detect(path) == "anthropic"
    run = one(path)
    assert shape(run) == [
        ("system", None),
        ("user", "task"),
        ("assistant", None),
        ("tool", "observation"),
        ("tool", "observation"),
        ("user", None),
        ("assistant", None),
    ]
    assert run.messages[2].content == "I measure."
    assert run.messages[2].tool_calls[0].arguments == '{"what": "pH"}'
    assert outputs(run) == ["8.4", "sensor wet"]
    assert [message.is_error for message in run.messages[3:5]] == [False, True]
    assert_legal(run)


def test_atif() -> None:
    path = FIXTURES / "boil-egg__x7" / "agent" / "trajectory.json"
    assert detect(path) == "atif"
    warnings: list[str] = []
    run = one(path, warnings=warnings)
    assert (run.id, run.agent, run.model) == ("boil-egg__x7", "cook 0.3", "tiny-5")
    assert outputs(run) == ["boiling", "61 g", "a timer rings"]
    roles = ["system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant"]
    assert [message.role for message in run.messages] == roles
    assert any("1 system messages after the first" in text for text in warnings)
    assert_legal(run)


def test_atif_copied_context_is_no_answer_of_this_run(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    steps = [
        {"source": "user", "message": "old", "is_copied_context": True},
        {"source": "agent", "message": "old answer", "is_copied_context": True},
        {"source": "user", "message": "go on"},
        {"source": "agent", "message": "new answer"},
    ]
    path.write_text(
        json.dumps({"schema_version": "ATIF-v1.6", "agent": {"name": "a"}, "steps": steps}), encoding="utf-8"
    )
    assert shape(one(path)) == [("user", "demo"), ("assistant", "demo"), ("user", "task"), ("assistant", None)]


BROKEN_OWN = {
    "openai.jsonl": ('"role": "function"', '"role": "wizard"', ":2: ", "'wizard' as the role of message 2"),
    "anthropic.jsonl": (
        '"name": "probe", "input": {"what": "pH"}',
        '"input": {}',
        ":1: ",
        "as a tool call of message 1",
    ),
    "mini_1_1.traj.json": ('"name": "bash", ', "", ": ", "as a tool call of message 3"),
    "mini_responses.traj.json": ('"name": "bash", ', "", ": ", "as a tool call of message 2"),
    "boil-egg__x7/agent/trajectory.json": (
        '"source": "user"',
        '"source": "crowd"',
        ": ",
        "'crowd' as the source of step 1",
    ),
    "openhands_old.jsonl": ('[{"id": 2,', '[3, {"id": 2,', ":1: ", "the value 3 as event 2"),
}


@pytest.mark.parametrize("fixture", BROKEN_OWN)
def test_broken_fixture_names_the_place(fixture: str, tmp_path: Path) -> None:
    old, new, place, says = BROKEN_OWN[fixture]
    text = (FIXTURES / fixture).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / Path(fixture).name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    form = detect(FIXTURES / fixture)
    with pytest.raises(UnreadableInput) as caught:
        read([path], form)
    assert str(caught.value).startswith(f"{path}{place}expected ") and says in str(caught.value)


def test_format_can_be_forced_and_is_checked() -> None:
    path = FIXTURES / "openai.jsonl"
    assert len(read([path], "openai")) == 2
    with pytest.raises(
        UnreadableInput, match=r"openai.jsonl:1: expected ATIF trajectory.json, found an object with the keys"
    ):
        read([path], "atif")
    with pytest.raises(UnknownName, match="unknown format 'openhand': expected openhands"):
        read([path], "openhand")
    assert format_names() == [
        "replay",
        "atif",
        "mini-swe-agent",
        "vorflux",
        "swe-agent",
        "openhands",
        "anthropic",
        "openai",
    ]


def test_reading_twice_gives_the_same() -> None:
    assert read([FIXTURES], warn=ignore) == read([FIXTURES], warn=ignore)
