"""Live runs end to end against a local server: every task is scored or named, and the ledger agrees with the server."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from agentmem.llm.fakeserver import (
    Answer,
    FakeServer,
    Request,
    empty,
    failure,
    hang_up,
    no_choices,
    not_json,
    slow,
    without_usage,
)
from agentmem.messages import Message, ToolCall
from harness.errors import ModelRefused, RecipeMismatch, TooManyErrors
from harness.live import LiveOptions, execute, ledger_totals, make_recipe, plan
from harness.models.openai import OpenAIModel, Settings
from harness.models.scripted import Scripted, playlist
from harness.runlog import read_rows, read_tasks
from harness.summary import require_valid
from harness.trajectories import read
from tests.harness.live_parts import COUNTER, Riddles, options, parts, quiet


def run(suite: Riddles, model: object, folder: Path, given: LiveOptions, concurrency: int = 1, **more: object) -> dict:  # type: ignore[type-arg]
    sessions = plan(suite, given)
    recipe = make_recipe(suite, sessions, {}, given)
    return execute(parts(suite, model, folder, **more), sessions, recipe, given, concurrency, quiet, {})  # type: ignore[arg-type]


def answering(request: Request) -> Answer:
    """The number of the task the last message asks for."""
    return Answer(request.last.split("task ")[-1].rstrip("?"))


def model(server: FakeServer, **more: object) -> OpenAIModel:
    settings = Settings("m", server.url, **{"retries": 3, "seconds": 5.0, **more})  # type: ignore[arg-type]
    return OpenAIModel(settings, counter=COUNTER, sleep=lambda seconds: None)


def test_tasks_share_one_conversation_and_one_system_message(tmp_path: Path) -> None:
    with FakeServer(answering) as server:
        summary = run(Riddles(4), model(server), tmp_path, options(per_session=2))
        sizes = [[message["role"] for message in one.body["messages"]] for one in server.served]
    assert summary["arms"][0]["tasks"]["passed"] == 4
    assert sizes[:2] == [["system", "user"], ["system", "user", "assistant", "user"]]
    assert sizes[2] == ["system", "user"]  # the second session begins anew


def test_earlier_chats_are_played_once_a_session_and_not_for_no_context(tmp_path: Path) -> None:
    with FakeServer(answering) as server:
        run(Riddles(2, earlier=3), model(server), tmp_path, options(controls=("no-context", "gold")))
        sizes = sorted(len(one.body["messages"]) for one in server.served)
    assert sizes == [2, 2, 2 + 6, 2 + 6 + 2]
    rows = {(row.arm, row.task): row for row in read_tasks(tmp_path)}
    assert rows["control: gold", "t1"].passed and rows["no-context", "t1"].passed


def misbehaving(request: Request) -> Answer:
    """A storm first, then every fault in turn, and some tasks that never get an answer."""
    if "task 5?" in request.last:
        return failure(503, "never")
    faults = [failure(429, retry_after=0), failure(500), hang_up(), no_choices(), empty(), not_json(), slow(0.05)]
    if request.number < 12:
        return failure(429)
    if request.number % 3:
        return faults[request.number // 3 % len(faults)]
    return without_usage(answering(request).text or "") if request.number % 2 else answering(request)


def test_a_misbehaving_server_costs_what_it_says_and_loses_no_task(tmp_path: Path) -> None:
    with FakeServer(misbehaving) as server:
        summary = run(Riddles(12), model(server, retries=20), tmp_path, options(per_session=3), concurrency=4)
        served = list(server.served)
    tasks = read_tasks(tmp_path)
    assert len(tasks) == 12
    assert {row.task for row in tasks if row.state == "errored"} == {"t5"}
    assert all(row.state == "scored" or row.error for row in tasks)
    assert "HTTP 503" in next(row.error or "" for row in tasks if row.task == "t5")
    totals = summary["ledger"]
    assert totals["requests"] == len(served)
    rows = [row for _, row in read_rows(tmp_path / "calls.jsonl")]
    reported = sum(row["prompt_tokens"] for row in rows if row["from"][0] == "reported")
    assert reported == sum(usage["prompt_tokens"] for usage in map(said, served) if usage)
    completed = sum(row["completion_tokens"] for row in rows if row["from"][2] == "reported")
    assert completed == sum(usage["completion_tokens"] for usage in map(said, served) if usage)
    assert Counter(row["from"][0] for row in rows)["counted"] == sum(1 for one in served if one.answer.usage is None)
    with pytest.raises(TooManyErrors):
        require_valid(summary)


def said(one: object) -> dict[str, int] | None:
    """The usage the server put into its answer: characters / 4, as its documentation says."""
    answer, body = one.answer, one.body  # type: ignore[attr-defined]
    if answer.status != 200 or answer.hang_up or answer.body is not None or answer.usage is None:
        return None
    prompt = -(-sum(len(message["content"] or "") for message in body["messages"]) // 4)
    completion = -(-len(json.dumps({"role": "assistant", "content": answer.text})) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def test_a_broken_environment_is_named_and_the_session_goes_on(tmp_path: Path) -> None:
    with FakeServer(answering) as server:
        run(Riddles(3, broken=["t1"]), model(server), tmp_path, options())
    states = [(row.task, row.state, row.error) for row in read_tasks(tmp_path)]
    assert states == [
        ("t0", "scored", None),
        ("t1", "errored", "EnvironmentFailed: the machine is on fire"),
        ("t2", "scored", None),
    ]


def test_a_wrong_key_stops_the_run_at_once(tmp_path: Path) -> None:
    with FakeServer(lambda request: failure(401)) as server:
        with pytest.raises(ModelRefused):
            run(Riddles(6), model(server), tmp_path, options(per_session=1), concurrency=2)
        assert len(server.served) <= 2
    assert not (tmp_path / "summary.json").exists()


def test_resume_plays_errored_sessions_again_and_nothing_else(tmp_path: Path) -> None:
    given = options(per_session=2)
    down = {"t3"}

    def flaky(request: Request) -> Answer:
        return failure(503) if any(f"task {task[1:]}?" in request.last for task in down) else answering(request)

    with FakeServer(flaky) as server:
        first = run(Riddles(4), model(server, retries=0), tmp_path, given)
        before = len(server.served)
        down.clear()
        second = run(Riddles(4), model(server, retries=0), tmp_path, given)
        assert len(server.served) - before == 2  # the session of t2 and t3
        third = run(Riddles(4), model(server, retries=0), tmp_path, given)
        assert len(server.served) - before == 2
    assert first["arms"][0]["tasks"]["errored"] == 1 and second["arms"][0]["tasks"]["errored"] == 0
    assert second["arms"] == third["arms"]
    assert second["ledger"]["requests"] == 6  # what the first try cost stays in the ledger
    with FakeServer(answering) as server:
        whole = run(Riddles(4), model(server), tmp_path / "whole", given)
    assert whole["arms"] == second["arms"]
    assert len(read_tasks(tmp_path)) == 4
    transcripts = [read([folder / "trajectories" / "full.jsonl"]) for folder in (tmp_path, tmp_path / "whole")]
    assert [[run.id for run in runs] for runs in transcripts] == [["t0", "t1", "t2", "t3"]] * 2


def test_a_run_is_not_resumed_under_another_recipe(tmp_path: Path) -> None:
    with FakeServer(answering) as server:
        run(Riddles(2), model(server), tmp_path, options())
        with pytest.raises(RecipeMismatch, match="boundaries"):
            run(Riddles(2), model(server), tmp_path, options(boundaries="judged"))


def test_repeats_are_attempts_of_their_own(tmp_path: Path) -> None:
    with FakeServer(answering) as server:
        summary = run(Riddles(2), model(server), tmp_path, options(repeats=3), concurrency=3)
    assert summary["arms"][0]["tasks"]["attempted"] == 6
    assert sorted({row.attempt for row in read_tasks(tmp_path)}) == [0, 1, 2]
    names = sorted(path.name for path in (tmp_path / "trajectories").iterdir())
    assert names == ["full-1.jsonl", "full-2.jsonl", "full.jsonl"]


def test_the_transcript_of_a_run_can_be_replayed(tmp_path: Path) -> None:
    look = Message("assistant", "", (ToolCall("c1", "look", '{"name": "x"}'),))
    script = [look, Message("assistant", "0"), Message("assistant", "none")]
    run(Riddles(2, tools=True), Scripted("m", playlist(script), COUNTER), tmp_path, options())
    first, second = read([tmp_path / "trajectories" / "full.jsonl"])
    assert [m.role for m in first.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert first.messages[2].tool_calls[0].arguments == '{"name": "x"}' and first.outcome.passed
    assert [m.role for m in second.messages] == ["user", "assistant"]


def test_the_plan_keeps_histories_apart_and_their_order() -> None:
    class Clustered(Riddles):
        clustered = ordered = True

        def tasks(self):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            return [replace(task, cluster="ab"[number % 2]) for number, task in enumerate(super().tasks())]

    sessions = plan(Clustered(6), options(per_session=2, order="shuffle", seed=1))
    assert sorted(tuple(task.id for task in session.tasks) for session in sessions) == [
        ("t0", "t2"),
        ("t1", "t3"),
        ("t4",),
        ("t5",),
    ]
    limited = plan(Clustered(6), options(limit=3))
    assert [tuple(task.id for task in session.tasks) for session in limited] == [("t0", "t2"), ("t1",)]
    assert ledger_totals(Path("/nowhere"))["requests"] == 0
