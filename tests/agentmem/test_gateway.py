"""The facade over HTTP, against a real server: routes, limits, keys, and what every error says."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentmem import Memory
from agentmem.config import Config
from agentmem.errors import ConfigError
from agentmem.llm.fakeserver import FakeServer, failure, slow

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

KEY = "secret-key"


class Gateway:
    """A server in a thread and a client for it."""

    def __init__(self, memory: Memory) -> None:
        from agentmem.gateway import create_app

        self.memory = memory
        config = uvicorn.Config(create_app(memory), host="127.0.0.1", port=0, log_level="error", lifespan="off")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20.0, trust_env=False)

    def post(self, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return self.client.post(path, json=body, **more) if body is not None else self.client.post(path, **more)

    def close(self) -> None:
        self.client.close()
        self.server.should_exit = True
        self.thread.join()
        self.memory.close()


def opened(folder: Path, config: dict[str, Any] | None = None, user: str | None = "ana") -> Gateway:
    return Gateway(Memory(folder, user=user, config=Config.parse(config or {}), background=False))


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    gateway = opened(tmp_path)
    yield gateway
    gateway.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway for all requests that change nothing."""
    gateway = opened(tmp_path_factory.mktemp("shared"))
    yield gateway
    gateway.close()


def say(gateway: Gateway, text: str = "I live in Lisbon.", session: str = "s", **more: Any) -> dict[str, Any]:
    body = {"user_content": text, "assistant_content": "Noted.", "session_key": session, **more}
    reply: dict[str, Any] = gateway.post("/capture", body).json()
    return reply


def test_recall_gives_both_parts_apart_and_together(gateway: Gateway) -> None:
    say(gateway, "I live in Lisbon near the river.")
    gateway.post("/session/end", {"session_key": "s"})
    reply = gateway.post("/recall", {"query": "Where in Lisbon do I live?", "session_key": "s"}).json()
    assert "User lives in Lisbon" in reply["dynamic"] and "<relevant-memories>" in reply["dynamic"]
    assert "<user-persona>" in reply["stable"]
    assert reply["stable"] in reply["context"] and reply["dynamic"] in reply["context"]
    assert reply["memory_count"] == 1


def test_capture_takes_whole_and_one_sided_turns_and_knows_repeats(gateway: Gateway) -> None:
    assert say(gateway)["l0_recorded"] == 2
    assert say(gateway) | {"l0_recorded": 0} == say(gateway)
    assert gateway.post("/capture", {"user_content": "Only me.", "session_key": "s"}).json()["l0_recorded"] == 1
    messages = [
        {"role": "user", "content": "I love tea.", "id": "7"},
        {"role": "tool", "tool_call_id": "1", "content": "x", "id": "8"},
    ]
    reply = gateway.post("/capture", {"messages": messages, "session_key": "s", "outcome": "failed"}).json()
    assert reply["l0_recorded"] == 2 and reply["scheduler_notified"]
    assert gateway.post("/capture", {"messages": messages, "session_key": "s"}).json()["unchanged"] == 2
    assert gateway.post("/capture", {"messages": messages, "session_key": "temp:1"}).json()["skipped"]


def test_session_end_answers_when_everything_was_extracted(gateway: Gateway) -> None:
    for i in range(15):
        say(gateway, f"I own item number {i}.")
    reply = gateway.post("/session/end", {"session_key": "s"}).json()
    assert reply == {"flushed": True, "pending": [], "errors": []}
    assert gateway.client.get("/health").json()["pending"] == 0
    assert len(gateway.memory.store.atoms(gateway.memory.scope)) == 15  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [slow(3.0, "[]"), failure(503)])
def test_session_end_says_when_it_could_not(tmp_path: Path, answer: Any) -> None:
    with FakeServer(lambda request: answer) as server:
        llm = {"enabled": True, "baseUrl": server.url, "attempts": 1}
        gateway = opened(tmp_path, {"llm": llm, "server": {"sessionEndSeconds": 0.3}})
        say(gateway)
        started = time.monotonic()
        reply = gateway.post("/session/end", {"session_key": "s"}).json()
        assert time.monotonic() - started < 2.5
        assert reply["flushed"] is False and reply["pending"][0]["messages"] == 2
        gateway.close()


def test_searches_return_records_with_ids(gateway: Gateway) -> None:
    say(gateway, "I live in Lisbon near the river.")
    gateway.post("/session/end", {"session_key": "s"})
    found = gateway.post("/search/memories", {"query": "Lisbon", "limit": 3}).json()
    assert found["total"] == 1 and "Lisbon" in found["results"] and found["rows"][0]["id"].startswith("m_")
    talks = gateway.post("/search/conversations", {"query": "Lisbon", "session_key": "s"}).json()
    assert talks["total"] >= 1 and talks["rows"][0]["id"].startswith("t_")
    assert gateway.post("/search/memories", {"query": "Lisbon", "type": "instruction"}).json()["total"] == 0


def test_users_never_meet(gateway: Gateway) -> None:
    say(gateway, "I live in Lisbon.", user_id="ben")
    gateway.post("/session/end", {"session_key": "s", "user_id": "ben"})
    mine = {"query": "Lisbon", "session_key": "s"}
    assert gateway.post("/recall", mine).json()["memory_count"] == 0
    assert gateway.post("/recall", mine | {"user_id": "ben"}).json()["memory_count"] == 1


def test_seed_imports_and_extracts_to_the_last_message(gateway: Gateway) -> None:
    rounds = [
        [{"role": "user", "content": f"I own item number {i}."}, {"role": "assistant", "content": "ok"}]
        for i in range(12)
    ]
    body = {
        "data": [{"session_key": "a", "rounds": rounds}, {"session_key": "b", "messages": rounds[0]}],
        "strict_round_role": True,
    }
    reply = gateway.post("/seed", body).json()
    assert reply == {"sessions": 2, "l0_recorded": 26, "flushed": True, "errors": []}
    assert gateway.post("/seed", body).json()["l0_recorded"] <= 26
    status = gateway.post("/status", {}).json()
    assert status["pending"] == [] and status["store"]["atoms"] == 12


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/recall", {"session_key": "s"}, "query"),
        ("/recall", {"query": "", "session_key": "s"}, "query"),
        ("/recall", {"query": "x"}, "session_key"),
        ("/capture", {"session_key": "s"}, "user_content"),
        ("/capture", {"session_key": "s", "messages": "x"}, "messages"),
        ("/capture", {"session_key": "s", "messages": [{"content": "x"}]}, "role"),
        ("/capture", {"session_key": "s", "user_content": "x", "outcome": "fine"}, "aborted"),
        ("/search/memories", {"query": "x", "limit": 0}, "limit"),
        ("/search/memories", {"query": "x", "limit": True}, "limit"),
        ("/search/memories", {"query": 7}, "query"),
        ("/session/end", {}, "session_key"),
        ("/seed", {"data": []}, "data"),
        ("/seed", {"data": [{"rounds": [[]]}]}, "round 0"),
        (
            "/seed",
            {"data": [{"rounds": [[{"role": "assistant", "content": "x"}]]}], "strict_round_role": True},
            "roles",
        ),
    ],
)
def test_what_is_wrong_with_a_request_is_said(shared: Gateway, path: str, body: Any, words: str) -> None:
    reply = shared.post(path, body)
    assert reply.status_code == 400 and words in reply.json()["error"]["message"]


@pytest.mark.parametrize("data", [b"{not json", b"[1]", b"", b"\xff\xfe", b"[" * 100_000], ids=range(5))
def test_bodies_that_are_no_json_objects(shared: Gateway, data: bytes) -> None:
    reply = shared.post("/recall", content=data, headers={"content-type": "application/json"})
    assert reply.status_code == 400 and reply.json()["error"]["code"] == 400


def test_kinds_sizes_and_encodings(tmp_path: Path) -> None:
    gateway = opened(tmp_path, {"server": {"maxBodyBytes": 2_048}})
    body = json.dumps({"user_content": "I live in Lisbon.", "session_key": "s"}).encode()
    as_json = {"content-type": "application/json"}
    assert gateway.post("/capture", content=body, headers={"content-type": "text/plain"}).status_code == 415
    assert (
        gateway.post("/capture", content=gzip.compress(body), headers=as_json | {"content-encoding": "gzip"}).json()[
            "l0_recorded"
        ]
        == 1
    )
    assert gateway.post("/capture", content=body, headers=as_json | {"content-encoding": "br"}).status_code == 415
    assert (
        gateway.post("/capture", content=b"broken", headers=as_json | {"content-encoding": "gzip"}).status_code == 400
    )
    assert gateway.post("/capture", content=b"x" * 3_000, headers=as_json).status_code == 413
    bomb = gzip.compress(b'{"query": "' + b"x" * 5_000_000 + b'"}')
    assert gateway.post("/capture", content=bomb, headers=as_json | {"content-encoding": "gzip"}).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(10):
            yield b"x" * 1_000

    assert gateway.post("/capture", content=pieces(), headers=as_json).status_code == 413  # no content-length
    gateway.close()


def test_a_key_is_asked_for_everywhere_but_health(tmp_path: Path) -> None:
    gateway = opened(tmp_path, {"server": {"apiKey": KEY}})
    body = {"query": "x", "session_key": "s"}
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": KEY}, {"authorization": f"Basic {KEY}"}):
        assert gateway.post("/recall", body, headers=headers).status_code == 401
    assert gateway.post("/recall", body, headers={"authorization": f"Bearer {KEY}"}).status_code == 200
    assert gateway.client.get("/health").status_code == 200
    gateway.close()


def test_paths_and_methods_that_do_not_exist(shared: Gateway) -> None:
    assert shared.post("/nothing", {}).status_code == 404
    assert shared.client.get("/recall").status_code == 405
    assert shared.client.get("/nothing").json()["error"]["code"] == 404


def test_errors_of_the_store_are_503_and_surprises_500_without_internals(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"user_content": "x", "session_key": "s"}
    monkeypatch.setattr(gateway.memory, "capture", lambda *a, **k: 1 / 0)
    reply = gateway.post("/capture", body)
    assert reply.status_code == 500 and "trace" in reply.json()["error"]["message"] and "division" not in reply.text
    monkeypatch.undo()
    gateway.memory.store.close()
    assert gateway.post("/capture", body).status_code == 503
    assert gateway.client.get("/health").status_code == 503


def test_a_memory_without_a_user_needs_one_in_the_request(tmp_path: Path) -> None:
    gateway = opened(tmp_path, user=None)
    reply = gateway.post("/capture", {"user_content": "x", "session_key": "s"})
    assert reply.status_code == 400 and "user" in reply.json()["error"]["message"]
    assert gateway.post("/capture", {"user_content": "x", "session_key": "s", "agent_id": "a"}).status_code == 400
    assert say(gateway, user_id="ana", agent_id="a", team_id="t")["l0_recorded"] == 2
    gateway.close()


def test_health_says_what_does_not_work(tmp_path: Path) -> None:
    with FakeServer(lambda request: failure(401, "wrong key")) as server:
        gateway = opened(tmp_path, {"llm": {"enabled": True, "baseUrl": server.url, "attempts": 1}})
        assert gateway.client.get("/health").json()["status"] == "ok"
        say(gateway)
        gateway.memory.run_due()
        health = gateway.client.get("/health").json()
        assert health["status"] == "degraded" and "wrong key" in health["degraded"][0]
        gateway.close()


def test_an_address_open_to_all_needs_a_key(tmp_path: Path) -> None:
    from agentmem.gateway import serve

    with Memory(tmp_path, user="ana", background=False) as memory, pytest.raises(ConfigError, match="apiKey"):
        serve(memory, host="0.0.0.0", port=0)
