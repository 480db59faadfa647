"""`run` from the command line: recorded once, replayed bit for bit without key and socket; mistakes are one line."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure
from harness.cli import build
from harness.errors import JudgeFailed, ModelRefused, TooManyErrors, UnknownName, UsageError

CANARY = "sk-canary-77d0"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A conversation with two questions, in the form of LoCoMo, and a key in the environment."""
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "My cat is called Mo."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice."},
    ]
    qa = [
        {"question": q, "answer": a, "evidence": ["D1:1"], "category": 4} for q, a in (("Cat?", "Mo"), ("Dog?", "Rex"))
    ]
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 1 May, 2023",
        "session_1": turns,
    }
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "locomo10.json").write_text(json.dumps([{"sample_id": "c1", "conversation": conversation, "qa": qa}]))
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.delenv("AGENTMEM_DATA", raising=False)
    return folder


def run(data: Path, url: str, *more: str, suite: str = "locomo") -> None:
    build()(
        ["run", "--suite", suite, "--model", "m", "--base-url", url, "--data", str(data), *more], standalone_mode=False
    )


def answering(request: Request) -> Answer:
    if request.number == 1:
        return failure(429, retry_after=0)
    return Answer("Mo" if "Cat?" in request.last else "no idea")


def test_a_run_is_recorded_and_replayed_bit_for_bit(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arms = ("--arm", "full", "--arm", "isolated", "--concurrency", "3")
    with FakeServer(answering) as server:
        run(data, server.url, *arms, "--record", str(tmp_path / "cassette"), "--out", str(tmp_path / "one"))
    for path in tmp_path.rglob("*.json*"):
        assert CANARY not in path.read_text(encoding="utf-8")

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a replay opened a socket")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    monkeypatch.delenv("OPENAI_API_KEY")
    run(data, "http://gone.invalid/v1", *arms, "--replay", str(tmp_path / "cassette"), "--out", str(tmp_path / "two"))
    one, two = tmp_path / "one", tmp_path / "two"
    for name in ("tasks.jsonl", "calls.jsonl"):
        # sessions end in any order at concurrency 3; their rows do not differ
        assert sorted((one / name).read_text().splitlines()) == sorted((two / name).read_text().splitlines())
    first, second = (json.loads((folder / "summary.json").read_text()) for folder in (one, two))
    assert first.pop("served_by") != second.pop("served_by")
    assert first == second
    assert {arm["arm"]: arm["tasks"]["passed"] for arm in first["arms"]} == {
        "full": 1,
        "isolated": 1,
        "no-context": 1,
        "control: refusal": 0,
    }
    assert first["ledger"]["failed"] == 1


def test_embedding_calls_are_on_the_cassette_and_in_the_ledger(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = ("--arm", "recall:embed=endpoint", "--ask", "embedder=e", "--ask", "dimensions=64", "--no-controls")
    cassette = str(tmp_path / "cassette")

    def stormy(request: Request) -> Answer:
        return failure(429, retry_after=0) if request.number == 1 else Answer()

    with FakeServer(answering, embeddings=stormy) as server:
        run(data, server.url, *arm, "--record", cassette, "--out", str(tmp_path / "one"))
        served = [one for one in server.served if one.path.endswith("/embeddings")]
    rows = [json.loads(line) for line in (tmp_path / "one" / "calls.jsonl").read_text().splitlines()]
    charged = [row for row in rows if row["purpose"] == "embedding"]
    assert len(charged) == len(served) > 2
    assert sum(row["error"] is not None for row in charged) == 1
    assert CANARY not in "".join(path.read_text() for path in (tmp_path / "cassette").rglob("*.json"))

    monkeypatch.setattr(socket, "socket", None)
    monkeypatch.delenv("OPENAI_API_KEY")
    run(data, "http://gone.invalid/v1", *arm, "--replay", cassette, "--out", str(tmp_path / "two"))
    for name in ("tasks.jsonl", "calls.jsonl"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


def test_an_embedder_that_is_down_makes_named_errors_not_a_weaker_memory(data: Path, tmp_path: Path) -> None:
    arm = ("--arm", "recall:embed=endpoint", "--ask", "embedder=e", "--ask", "retries=0", "--no-controls")
    with FakeServer(answering, embeddings=lambda request: failure(503)) as server:
        with pytest.raises(UsageError, match="dimensions=N"):
            run(data, server.url, *arm)
        with pytest.raises(TooManyErrors):
            run(data, server.url, *arm, "--ask", "dimensions=64", "--out", str(tmp_path / "o"))
        with pytest.raises(UsageError, match="--ask embedder=NAME"):
            run(data, server.url, "--arm", "recall:embed=endpoint")
    rows = [json.loads(line) for line in (tmp_path / "o" / "tasks.jsonl").read_text().splitlines()]
    assert all("recall without vectors" in row["error"] and "503" in row["error"] for row in rows)


def test_an_address_where_nobody_answers_is_said_before_anything_else(data: Path) -> None:
    with pytest.raises(ModelRefused, match="check --base-url"):
        run(data, "http://127.0.0.1:9/v1")
    with pytest.raises(ModelRefused, match="must begin with http"):
        run(data, "localhost:8000/v1")


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--arm", "ful"), "full"),
        (("--ask", "temprature=1"), "temperature"),
        (("--ask", "max_tokens=many"), "expected a number"),
        (("--option", "categories"), "key=value"),
        (("--boundaries", "tld"), "told"),
        (("--protocol", "function"), "functions"),
        (("--price", "1,2"), "three numbers"),
        (("--tokenizer", "gpt2"), "o200k_base"),
        (("--replay", "/no/such/folder"), "no cassette"),
    ],
)
def test_what_was_typed_wrong_is_named(data: Path, more: tuple[str, ...], named: str) -> None:
    with FakeServer() as server, pytest.raises(UsageError, match=named):
        run(data, server.url, *more)


def test_an_unknown_suite_names_the_nearest(data: Path) -> None:
    with FakeServer() as server, pytest.raises(UnknownName, match="locomo"):
        run(data, server.url, suite="locmo")


def test_a_judge_that_cannot_be_trusted_is_refused_before_the_run(data: Path, tmp_path: Path) -> None:
    row = {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "Which pet?",
        "answer": "a cat",
        "question_date": "2023/05/30 (Tue) 12:00",
        "haystack_session_ids": ["s1"],
        "haystack_dates": ["2023/05/01 (Mon) 10:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "I have a cat."}, {"role": "assistant", "content": "Nice."}]
        ],
        "answer_session_ids": ["s1"],
    }
    (data / "longmemeval_s.json").write_text(json.dumps([row]))
    with FakeServer(lambda request: "yes") as server, pytest.raises(JudgeFailed, match="1 of 2"):
        run(data, server.url, "--judge", "j", "--out", str(tmp_path / "o"), suite="longmemeval")

    def honest(request: Request) -> str:
        if "Reply yes or no" in request.last:
            return "no" if "do not know" in request.last else "yes"
        return "a cat"

    with FakeServer(honest) as server:
        run(data, server.url, "--judge", "j", "--judge-repeats", "2", "--out", str(tmp_path / "p"), suite="longmemeval")
    summary = json.loads((tmp_path / "p" / "summary.json").read_text())
    assert summary["probes"] == {"total": 2, "right": 2}
    assert summary["judging"]["flip_rate"] == 0.0
    passed = {arm["arm"]: arm["tasks"]["passed"] for arm in summary["arms"]}
    assert passed == {"full": 1, "no-context": 1, "control: refusal": 0}
