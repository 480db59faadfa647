"""A memory behind a gateway, for hosts in another process: never in the way of a turn, and no turn is lost.

Captures are kept on disk first and sent by at most four threads; recall and search answer with nothing, and say why,
while the gateway is down. memory_core.md C4, without its defects.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmem.breaker import Breaker
from agentmem.errors import GatewayDown, GatewayError, GatewayRefused
from agentmem.longterm.clock import Clock, SystemClock
from agentmem.remote_outbox import Outbox

log = logging.getLogger("agentmem.remote")
SENDERS = 4  # requests in flight, never more
RECOVER_SECONDS = 15.0  # between two attempts to bring the gateway back
WATCH_SECONDS = 10.0
DOWN = "the memory gateway is not reachable"


class RemoteMemory:
    """``recover`` is called when the gateway is down, at most every 15 s; it may start one, and returns True when it
    did. Without ``background`` nothing runs by itself: ``watch`` and ``send`` do the work of their threads."""

    def __init__(
        self,
        url: str,
        outbox: Path,
        user: str,
        key: str | None = None,
        agent: str = "default",
        team: str = "default",
        recover: Callable[[], bool] | None = None,
        timeout: float = 5.0,
        clock: Clock | None = None,
        background: bool = True,
    ) -> None:
        self.url = url.rstrip("/")
        self.outbox = Outbox(outbox)
        self.breaker = Breaker()
        self.timeout = timeout
        self.clock = clock or SystemClock()
        self._scope = {"user_id": user, "agent_id": agent, "team_id": team}
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        self._recover = recover
        self._recovered = -RECOVER_SECONDS
        self._recovering = threading.Lock()
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._wake = threading.Condition()
        self._closing = False
        self._threads = [threading.Thread(target=self._sender, daemon=True) for _ in range(SENDERS)]
        self._threads.append(threading.Thread(target=self._watcher, daemon=True))
        for thread in self._threads if background else ():
            thread.start()

    # --- what a host calls

    def capture(self, messages: Sequence[Mapping[str, Any]], session: str, **more: Any) -> str:
        """Keep a turn for sending; returns its name. It is safe when this returns. Raises ``OSError``."""
        body = {"messages": [dict(message) for message in messages], "session_key": session, **self._scope, **more}
        name = self.outbox.put(session, body)
        self._notify()
        return name

    def recall(self, query: str, session: str) -> dict[str, Any]:
        """The gateway's reply; ``stable`` and ``dynamic`` are empty, and ``degraded`` says why, while it is down."""
        return self._ask("/recall", {"query": query, "session_key": session}, {"stable": "", "dynamic": ""})

    def search(self, query: str, limit: int = 5, **more: Any) -> dict[str, Any]:
        """Atoms; none while the gateway is down."""
        empty = {"results": f"{DOWN}; do not search again in this turn", "total": 0, "rows": []}
        return self._ask("/search/memories", {"query": query, "limit": limit, **more}, empty)

    def search_conversations(self, query: str, limit: int = 5, **more: Any) -> dict[str, Any]:
        """Messages; none while the gateway is down."""
        empty = {"results": f"{DOWN}; do not search again in this turn", "total": 0, "rows": []}
        return self._ask("/search/conversations", {"query": query, "limit": limit, **more}, empty)

    def end_session(self, session: str) -> bool:
        """Send what waits of a session and have it extracted; False when either is not done."""
        while self.outbox.waiting(session) and self.send():
            continue
        if self.outbox.waiting(session):
            return False
        return bool(self._ask("/session/end", {"session_key": session}, {"flushed": False}).get("flushed"))

    def status(self) -> dict[str, Any]:
        """Whether the gateway answers, and what waits here."""
        return {
            "healthy": self.healthy(),
            "breaker_open": self.breaker.is_open,
            "waiting": self.outbox.waiting(),
            "refused": self.outbox.refused(),
        }

    def healthy(self) -> bool:
        """Ask the gateway, past the breaker."""
        try:
            return self._request("/health", None).get("status") in ("ok", "degraded")
        except GatewayError:
            return False

    def close(self, seconds: float = 5.0) -> None:
        """Stop the threads; what was not sent is sent by the next one that opens this outbox."""
        self._closing = True
        self._notify()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(seconds)

    # --- what the threads do

    def send(self) -> bool:
        """Send one waiting turn; False when there is none, or when it could not be sent."""
        entry = self.outbox.take()
        if entry is None:
            return False
        try:
            self._through_breaker("/capture", dict(entry.body))
        except GatewayRefused as error:
            log.warning("turn %s is put aside: %s", entry.name, error)
            self.outbox.refuse(entry, str(error))
            return True
        except GatewayDown:
            self.outbox.give_back(entry)
            return False
        self.outbox.done(entry)
        return True

    def watch(self) -> None:
        """One look at the gateway: when it is back, requests and waiting turns go on at once; when it is not, try to
        bring it back."""
        if not self.breaker.is_open and not self.outbox.waiting():
            return
        if self.healthy() or (self._bring_back() and self.healthy()):
            self.breaker.succeeded()
            self._notify()

    def _bring_back(self) -> bool:
        if self._recover is None or not self._recovering.acquire(blocking=False):
            return False
        try:
            if self.clock.now() - self._recovered < RECOVER_SECONDS:
                return False
            self._recovered = self.clock.now()
            return self._recover()
        finally:
            self._recovering.release()

    def _sender(self) -> None:
        while not self._closing:
            if not self.send():
                with self._wake:
                    self._wake.wait(WATCH_SECONDS)

    def _watcher(self) -> None:
        while not self._closing:
            with self._wake:
                self._wake.wait(WATCH_SECONDS)
            if not self._closing:
                self.watch()

    def _notify(self) -> None:
        with self._wake:
            self._wake.notify_all()

    # --- requests

    def _ask(self, path: str, body: Mapping[str, Any], empty: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._through_breaker(path, {**body, **self._scope})
        except GatewayError as error:
            return {**empty, "degraded": [str(error)]}

    def _through_breaker(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if not self.breaker.allows(self.clock.now()):
            raise GatewayDown(DOWN)
        try:
            reply = self._request(path, body)
        except GatewayDown:
            self.breaker.failed(self.clock.now())
            raise
        except GatewayRefused:
            self.breaker.succeeded()  # it answered
            raise
        self.breaker.succeeded()
        return reply

    def _request(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self._headers)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                reply = json.loads(response.read())
        except urllib.error.HTTPError as error:
            text = f"{path}: HTTP {error.code}: {error.read(500).decode('utf-8', 'replace')}"
            error.close()
            refused = 400 <= error.code < 500 and error.code not in (401, 403, 408, 429)
            raise (GatewayRefused if refused else GatewayDown)(text) from error
        except (OSError, ValueError) as error:
            raise GatewayDown(f"{DOWN}: {error}") from error
        if not isinstance(reply, dict):
            raise GatewayDown(f"{path}: expected an object, got {type(reply).__name__}")
        return reply
