"""The readers on real recorded runs: exact counts, every output byte for byte, and one broken variant each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UnreadableInput
from harness.trajectories import detect, read
from harness.trajectories.pairing import NO_MESSAGE, NO_RESULT
from tests.data import data_path
from tests.harness.recorded import assert_legal, one, outputs

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
