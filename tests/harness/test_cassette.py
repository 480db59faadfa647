"""Cassettes: a run replays without key and socket, differs visibly, and never holds a secret."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from agentmem.llm.fakeserver import Answer, FakeServer, failure, hang_up
from agentmem.messages import Message
from harness.errors import CassetteMiss, UnreadableInput, UsageError
from harness.models.cassette import SCHEMA, Player, Recorder, lane
from harness.models.http import http_library
from harness.models.openai import OpenAIModel, Settings

CANARY = "sk-canary-9f2b71"
ASKED = [Message("user", "first question")]
OTHER = [Message("user", "second question")]


def recording(server: FakeServer, folder: Path) -> OpenAIModel:
    transport = Recorder(folder, http_library().HTTPTransport(), [CANARY])
    return OpenAIModel(Settings("m", server.url), key=CANARY, transport=transport, sleep=lambda seconds: None)


def replaying(folder: Path) -> OpenAIModel:
    return OpenAIModel(
        Settings("m", "http://elsewhere.invalid/v1"), transport=Player(folder), sleep=lambda seconds: None
    )


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a replay opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    folder = tmp_path / "cassette"
    with FakeServer([failure(429), hang_up(), "one", "two"]) as server:
        asked = recording(server, folder)
        with lane("full", "s000-0"):
            asked.complete(ASKED)
            asked.complete(OTHER)
    return folder


def test_a_recorded_run_replays_with_its_failures(cassette: Path, no_sockets: None) -> None:
    with lane("full", "s000-0"):
        asked = replaying(cassette)
        first, second = asked.complete(ASKED), asked.complete(OTHER)
    assert (first.message.content, second.message.content) == ("one", "two")
    assert first.attempts == 3 and first.failed[0].error.startswith("HTTP 429")
    assert "RemoteProtocolError" in first.failed[1].error
    assert first.usage.prompt_from == "reported"


def test_files_hold_no_header_no_key_and_no_host(cassette: Path) -> None:
    files = sorted(cassette.rglob("*.json"))
    assert [path.parent.relative_to(cassette).as_posix() for path in files] == ["full/s000-0"] * 4
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert CANARY not in text and "authorization" not in text.lower() and "127.0.0.1" not in text
        whole = json.loads(text)
        assert whole["schema"] == SCHEMA
        assert set(whole["request"]) == {"method", "path", "body"}
        assert set(whole["response"].get("headers", {})) <= {"content-type", "retry-after"}


def test_a_key_in_the_text_itself_is_not_written_down(tmp_path: Path) -> None:
    with FakeServer([f"your key is {CANARY}"]) as server, pytest.raises(UsageError, match="API key"):
        recording(server, tmp_path / "c").complete(ASKED)
    assert not any(CANARY in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_a_miss_shows_the_difference_to_the_nearest_request(cassette: Path, no_sockets: None) -> None:
    with lane("full", "s000-0"), pytest.raises(CassetteMiss) as caught:
        replaying(cassette).complete([Message("user", "third question")])
    text = str(caught.value)
    assert '-    "content": "second question"' in text or '-    "content": "first question"' in text
    assert '+    "content": "third question"' in text


def test_a_request_made_more_often_than_recorded_is_a_miss(cassette: Path, no_sockets: None) -> None:
    with lane("full", "s000-0"):
        asked = replaying(cassette)
        asked.complete(OTHER)
        with pytest.raises(CassetteMiss, match="more often than recorded"):
            asked.complete(OTHER)


def test_lanes_keep_their_answers_apart(tmp_path: Path) -> None:
    with FakeServer(["for a", "for b"]) as server:
        asked = recording(server, tmp_path / "c")
        for name in ("a", "b"):
            with lane(name):
                asked.complete(ASKED)
    player = replaying(tmp_path / "c")
    with lane("b"):
        assert player.complete(ASKED).message.content == "for b"
    with lane("a"):
        assert player.complete(ASKED).message.content == "for a"
    with lane("c"), pytest.raises(CassetteMiss, match="nothing was recorded"):
        player.complete(ASKED)


def test_recording_over_a_recording_is_refused(cassette: Path) -> None:
    with pytest.raises(UsageError, match="not empty"):
        Recorder(cassette, http_library().HTTPTransport())


def test_missing_empty_and_foreign_cassettes_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--record"):
        Player(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="empty"):
        Player(tmp_path / "empty")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "1.json").write_text('{"schema": "agentmem-cassette/0"}')
    with pytest.raises(UnreadableInput, match=SCHEMA):
        Player(tmp_path / "old")


def test_the_same_run_makes_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with FakeServer([Answer("same")]) as server, lane("x"):
            recording(server, tmp_path / name).complete(ASKED)
    (first,), (second,) = ((list((tmp_path / name).rglob("*.json"))) for name in ("one", "two"))
    assert first.name == second.name and first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    "text", ['{"a": [1, "\u00e9"]}', '{"a":[1,"\\u00e9"]}', '{"b":1.50}', '{ "a" : 1 }', "<html>", "[1, 2]", ""]
)
def test_any_answer_is_replayed_byte_for_byte(tmp_path: Path, text: str) -> None:
    library = http_library()
    request = library.Request("POST", "http://x.invalid/v1/chat", json={"a": 1})
    folder = tmp_path / "c"
    Recorder(
        folder, library.MockTransport(lambda request: library.Response(400, content=text.encode()))
    ).handle_request(request)
    answer = Player(folder).handle_request(library.Request("POST", "http://y.invalid/v1/chat", json={"a": 1}))
    assert answer.status_code == 400 and answer.content == text.encode()
