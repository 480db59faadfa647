"""Each reader: exact counts on its sample, what it makes of the details of its format, and one broken variant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import lint
from harness.errors import UnknownName, UnreadableInput
from harness.trajectories import detect, format_names, read
from harness.trajectories.pairing import NO_MESSAGE, NO_RESULT
from harness.types import Trajectory
from tests.data import data_path

FIXTURES = Path(__file__).parent.parent / "fixtures" / "trajectories"
OUTSIDE = ("submission", "judge")


def one(path: Path, format: str | None = None, warnings: list[str] | None = None) -> Trajectory:
    (run,) = read([path], format, (warnings if warnings is not None else []).append)
    return run


def ignore(_: str) -> None:
    """Take a warning nobody asks about."""


def shape(run: Trajectory) -> list[tuple[str, str | None]]:
    return [(message.role, message.kind) for message in run.messages]


def outputs(run: Trajectory) -> list[str]:
    return [message.content for message in run.messages if message.is_result]


def assert_legal(run: Trajectory, prompts: int | None = None) -> None:
    """Every prompt in front of an answer passes the lint, and so does the whole run with the next task behind it."""
    sent = [message for message in run.messages if message.kind not in OUTSIDE]
    ends = [index for index, message in enumerate(sent) if message.role == "assistant"]
    for end in ends[:prompts]:
        assert lint.problems(sent[:end]) == []
    assert [found for found in lint.problems(sent) if "the assistant's own" not in found] == []


SAMPLES = {
    # path: format, messages, answers, calls, outputs (text protocol and tools), beginning of the first output
    "mini-swe-agent/django__django-11099.traj.json": (
        "mini-swe-agent",
        44,
        21,
        0,
        20,
        "<returncode>0</returncode>\n<output>\nvalidators.py\n0007",
    ),
    "mini-swe-agent/github_issue.traj.json": (
        "mini-swe-agent",
        22,
        10,
        0,
        9,
        "<returncode>1</returncode>\n<output>\ncat: /Users/fuchur",
    ),
    "swe-agent/pydicom__pydicom-1458.traj": (
        "swe-agent",
        26,
        12,
        0,
        11,
        "[File: /pydicom__pydicom/reproduce_bug.py (1 lines total)]\n1:\n",
    ),
    "swe-agent/marshmallow-code__marshmallow-1867.function_calling.traj": (
        "swe-agent",
        24,
        11,
        11,
        11,
        "[File: reproduce.py (1 lines total)]\r\n1:\n",
    ),
    # the first output is what a recall put in front of the first answer; the last call is "finish"
    "openhands/multi_swe_bench_output.first_row.jsonl": (
        "openhands",
        49,
        23,
        23,
        24,
        "You have access to an environment variable, `GITHUB_TOKEN`",
    ),
    "vorflux/django__django-11099.json": (
        "vorflux",
        30,
        14,
        0,
        15,
        "\n[stderr]\nCloning into '/code/django/django'...\nUpdating files:",
    ),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_raw_sample_is_recognised_and_read_whole(sample: str) -> None:
    path = data_path(f"raw_samples/{sample}")
    form, messages, answers, calls, results, first = SAMPLES[sample]
    assert detect(path) == form
    run = one(path)
    assert len(run.messages) == messages
    assert sum(message.role == "assistant" for message in run.messages) == answers
    assert sum(len(message.tool_calls) for message in run.messages) == calls
    assert len(outputs(run)) == results
    assert outputs(run)[0].startswith(first)
    assert_legal(run)


def recorded_outputs(sample: str, record: Any) -> list[str]:
    """The tool outputs of a raw sample, taken from it without the reader."""
    match SAMPLES[sample][0]:
        case "mini-swe-agent":
            rows = record if isinstance(record, list) else record["messages"]
            return [row["content"] for row in rows if row["content"].startswith("<returncode>")]
        case "swe-agent":
            return [row["content"] for row in record["history"][3:] if row["role"] != "assistant"]
        case "openhands":
            return [
                event["content"]
                for event in record["history"]
                if event.get("observation") in ("run", "read", "edit", "think")
            ]
        case _:
            results = [entry["result"] for entry in record["trajectory"] if entry["type"] == "tool_call"]
            return [result if isinstance(result, str) else result["stdout"] for result in results]


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_recorded_output_is_there_byte_for_byte(sample: str) -> None:
    path = data_path(f"raw_samples/{sample}")
    expected = recorded_outputs(sample, json.loads(path.read_text(encoding="utf-8")))
    assert len(expected) >= 9
    rest = outputs(one(path))
    for text in expected:
        rest.remove(next(output for output in rest if output == text or output.startswith(f"{text}\n[stderr]\n")))


def drop(record: Any, *path: Any) -> None:
    for key in path[:-1]:
        record = record[key]
    del record[path[-1]]


BROKEN: dict[str, tuple[str, Callable[[Any], None], str]] = {
    # what is broken in a raw sample, and what the error must say
    "mini-swe-agent/django__django-11099.traj.json": (
        "mini-swe-agent",
        lambda r: r["messages"].insert(3, "oops"),
        "'oops' as message 3",
    ),
    "swe-agent/pydicom__pydicom-1458.traj": (
        "swe-agent",
        lambda r: drop(r, "history"),
        "found an object with the keys environment, trajectory, info",
    ),
    "swe-agent/marshmallow-code__marshmallow-1867.function_calling.traj": (
        "swe-agent",
        lambda r: drop(r, "history", 2, "tool_calls", 0, "function", "name"),
        "as a tool call of message 2",
    ),
    "openhands/multi_swe_bench_output.first_row.jsonl": (
        "openhands",
        lambda r: r["history"].insert(9, 17),
        "found the value 17 as event 9",
    ),
    "vorflux/django__django-11099.json": (
        "vorflux",
        lambda r: r["trajectory"][4].update(type="dream"),
        "'dream' as the type of entry 4",
    ),
}


@pytest.mark.parametrize("sample", BROKEN)
def test_broken_sample_gets_one_line(sample: str, tmp_path: Path) -> None:
    form, breaks, says = BROKEN[sample]
    record = json.loads(data_path(f"raw_samples/{sample}").read_text(encoding="utf-8"))
    breaks(record)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(UnreadableInput) as caught:
        read([path], form)
    text = str(caught.value)
    assert text.startswith(f"{path}:1: expected ") and says in text and "\n" not in text


def test_converted_runs_keep_every_message_and_outcome() -> None:
    warnings: list[str] = []
    runs = read([data_path("swebench/verified_mini-swe-agent_gemini-3-pro.jsonl.gz")], warn=warnings.append)
    assert (len(runs), warnings) == (500, [])
    messages = [message for run in runs for message in run.messages]
    assert len(messages) == 41_326
    assert sum(message.role == "assistant" for message in messages) == 20_163
    assert sum(message.is_result for message in messages) == 19_663
    assert sum(message.kind == "submission" for message in messages) == 500
    assert sum(run.outcome.passed is True for run in runs) == 371
    assert {run.outcome.state for run in runs} == {"scored"}
    assert (runs[0].id, runs[0].suite) == ("astropy__astropy-12907", "swe-bench-verified")
    assert (runs[0].agent, runs[0].model) == ("mini-swe-agent 1.15.0", "google/gemini-3-pro-preview")


def test_span_export_without_ids_becomes_legal_and_loses_no_output() -> None:
    warnings: list[str] = []
    runs = read([data_path("swebench/verified_vorflux_first250.jsonl.gz")], warn=warnings.append)
    assert len(runs) == 250
    tools = [message for run in runs for message in run.messages if message.role == "tool"]
    padded = sum(message.content == NO_RESULT for message in tools)
    stray = sum(
        m.role == "user" and m.kind == "observation" and m.content != NO_MESSAGE for run in runs for m in run.messages
    )
    assert len(tools) == 13_601  # one for every declared call
    assert len(tools) - padded + stray == 20_246  # the tool rows of the file, 11 of them labelled as part of the task
    assert len([text for text in warnings if f" {padded} tool calls" in text]) == 1
    assert sum(not run.messages for run in runs) == 1 and any("1 runs hold no messages" in text for text in warnings)
    for run in runs[:40]:
        assert_legal(run, prompts=3)


def test_results_of_parallel_calls_are_found_by_id() -> None:
    run = one(data_path("widesearch/trajectory_kimi-k2.5_ws_zh_001.jsonl.gz"))
    assert [len(message.tool_calls) for message in run.messages if message.tool_calls] and len(outputs(run)) == 32
    assert NO_RESULT not in outputs(run)
    assert_legal(run)


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
