"""A host in another process: a gateway that is down stands in nobody's way, and no turn is lost or recorded twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmem.breaker import Breaker
from agentmem.errors import GatewayDown
from agentmem.longterm.clock import ManualClock
from agentmem.remote import SENDERS, RemoteMemory
from agentmem.store.records import Scope
from tests.agentmem.test_gateway import Gateway, opened
from tests.agentmem.world import assistant, user

ANA = Scope("ana")
NOWHERE = "http://127.0.0.1:9"


def talk(text: str) -> list[dict[str, Any]]:
    return [user(text), assistant("ok")]


def client(url: str, folder: Path, clock: ManualClock | None = None, **more: Any) -> RemoteMemory:
    return RemoteMemory(
        url, folder / "outbox", user="ana", clock=clock or ManualClock(), background=False, timeout=5.0, **more
    )


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    gateway = opened(tmp_path / "memory")
    yield gateway
    gateway.close()


def address(gateway: Gateway) -> str:
    return str(gateway.client.base_url)


def said(gateway: Gateway) -> list[str]:
    return [turn.content for turn in gateway.memory.store.turns_before(ANA, 2**62, 1_000) if turn.role == "user"]


def test_breaker_opens_after_5_failures_for_60_seconds_and_lets_one_try() -> None:
    breaker = Breaker()
    for second in range(4):
        breaker.failed(second)
    assert breaker.allows(4) and not breaker.is_open
    breaker.failed(4)
    assert breaker.is_open and not breaker.allows(63)
    assert breaker.allows(64) and not breaker.allows(64)  # one finds out
    breaker.failed(64)
    assert not breaker.allows(123) and breaker.allows(124)
    breaker.succeeded()
    assert breaker.allows(124) and breaker.allows(124)


def test_a_turn_is_kept_sent_and_recalled(gateway: Gateway, tmp_path: Path) -> None:
    remote = client(address(gateway), tmp_path)
    remote.capture(talk("I live in Lisbon near the river."), session="s")
    assert remote.outbox.waiting() == 1
    assert remote.end_session("s") and remote.outbox.waiting() == 0
    assert "Lisbon" in remote.recall("Where in Lisbon?", "s")["dynamic"]
    assert remote.search("Lisbon")["total"] == 1 and remote.search_conversations("Lisbon")["total"] >= 1
    assert remote.status() == {"healthy": True, "breaker_open": False, "waiting": 0, "refused": 0}


def test_an_outage_costs_nothing_but_time(tmp_path: Path) -> None:
    clock = ManualClock()
    remote = client(NOWHERE, tmp_path, clock)
    for i in range(8):
        remote.capture(talk(f"said in the dark {i}"), session=f"s{i % 2}")
    assert not remote.send() and not remote.end_session("s0")
    reply = remote.recall("anything", "s0")
    assert (reply["stable"], reply["dynamic"]) == ("", "") and "not reachable" in reply["degraded"][0]
    assert "do not search again" in remote.search("x")["results"]
    assert remote.search_conversations("x")["total"] == 0
    assert remote.breaker.is_open and remote.outbox.waiting() == 8
    gateway = opened(tmp_path / "memory")
    again = client(address(gateway), tmp_path, clock)  # a new process finds the outbox
    again.watch()
    while again.send():
        pass
    assert sorted(said(gateway)) == [f"said in the dark {i}" for i in range(8)]
    assert [t for t in said(gateway) if t[-1] in "02468"] == [f"said in the dark {i}" for i in range(0, 8, 2)]
    gateway.close()


def test_a_reply_that_got_lost_does_not_double_a_turn(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = client(address(gateway), tmp_path)
    remote.capture(talk("I love tea."), session="s")
    ask = remote._request

    def lost(path: str, body: Any) -> dict[str, Any]:
        ask(path, body)
        raise GatewayDown("timed out")

    monkeypatch.setattr(remote, "_request", lost)
    assert not remote.send()
    monkeypatch.undo()
    assert remote.send() and remote.outbox.waiting() == 0
    assert said(gateway) == ["I love tea."]


def test_a_turn_the_gateway_refuses_is_put_aside_and_those_behind_it_go_on(gateway: Gateway, tmp_path: Path) -> None:
    remote = client(address(gateway), tmp_path)
    remote.capture([{"role": "nobody", "content": "x"}], session="s")
    remote.capture(talk("I love tea."), session="s")
    while remote.send():
        pass
    assert said(gateway) == ["I love tea."]
    assert remote.status()["refused"] == 1 and not remote.breaker.is_open
    assert "role" in next((tmp_path / "outbox" / "rejected").iterdir()).read_text()


def test_recovery_is_tried_every_15_seconds_and_opens_the_way(tmp_path: Path) -> None:
    clock, started = ManualClock(), []
    gateway = opened(tmp_path / "memory")
    remote = client(NOWHERE, tmp_path, clock)

    def recover() -> bool:
        started.append(clock.now())
        if len(started) == 2:
            remote.url = address(gateway)
        return len(started) == 2

    remote._recover = recover
    remote.capture(talk("I love tea."), session="s")
    for _ in range(5):
        remote.send()
    first = clock.now()
    for _ in range(5):
        remote.watch()
        clock.advance(5)
    assert started == [first, first + 15]
    assert not remote.breaker.is_open and remote.send()
    gateway.close()


def test_never_more_than_four_requests_in_flight_and_sessions_in_order(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = RemoteMemory(address(gateway), tmp_path / "outbox", user="ana")
    ask, lock = remote._request, threading.Lock()
    flying, most = [0], [0]

    def counted(path: str, body: Any) -> dict[str, Any]:
        if path != "/capture":
            return ask(path, body)
        with lock:
            flying[0] += 1
            most[0] = max(most[0], flying[0])
        time.sleep(0.01)
        try:
            return ask(path, body)
        finally:
            with lock:
                flying[0] -= 1

    monkeypatch.setattr(remote, "_request", counted)
    for i in range(40):
        remote.capture(talk(f"{i:02}"), session=f"s{i % 8}")
    end = time.monotonic() + 15
    while remote.outbox.waiting() and time.monotonic() < end:
        time.sleep(0.01)
    remote.close()
    assert 1 < most[0] <= SENDERS
    for session in range(8):
        rows = gateway.memory.store.turns_before(ANA, 2**62, 100, f"s{session}")
        assert [row.content for row in rows if row.role == "user"] == [f"{i:02}" for i in range(session, 40, 8)]


def test_the_watchdog_finds_a_gateway_that_came_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmem.remote.WATCH_SECONDS", 0.05)
    remote = RemoteMemory(NOWHERE, tmp_path / "outbox", user="ana")
    remote.capture(talk("I love tea."), session="s")
    end = time.monotonic() + 10
    while not remote.breaker.is_open and time.monotonic() < end:
        time.sleep(0.01)
    gateway = opened(tmp_path / "memory")
    remote.url = address(gateway)
    while remote.outbox.waiting() and time.monotonic() < end:
        time.sleep(0.01)
    assert said(gateway) == ["I love tea."]
    remote.close()
    gateway.close()
