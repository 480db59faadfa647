"""The facade over HTTP: the routes of memory_core.md C3, without their defects. Needs the extra ``gateway``.

``create_app(memory)`` is an ASGI application; ``serve(memory)`` runs it. Every reply is JSON. Errors are
``{"error": {"code", "message"}}``: 400 what is wrong with the request, 401, 404, 405, 413, 415, 503 the store cannot
now, 500 with a trace id and nothing else.
"""

from __future__ import annotations

import hmac
import json
import logging
import time
import uuid
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import agentmem
from agentmem.core import Memory
from agentmem.errors import (
    AgentMemError,
    ConfigError,
    EvidenceError,
    MessageError,
    RecordNotFound,
    ScopeRequired,
    StoreError,
)
from agentmem.gateway_seed import seed
from agentmem.store.records import Scope

log = logging.getLogger("agentmem.gateway")
LIMIT, MOST = 5, 20  # results of a search: usual and most
Handler = Callable[[Memory, dict[str, Any]], dict[str, Any]]


class BadRequest(AgentMemError, ValueError):
    """The body of a request lacks something, or holds something of the wrong kind."""


def create_app(memory: Memory) -> Starlette:
    """The application for one open memory. Its settings are ``memory.config.server``."""
    started = time.monotonic()

    def health() -> dict[str, Any]:
        status = memory.status()
        return {
            "status": "ok" if status.ok else "degraded",
            "version": agentmem.__version__,
            "uptime": round(time.monotonic() - started, 3),
            "stores": {
                "vectorStore": status.store.vector_path != "off",
                "embeddingService": status.embedder is not None,
            },
            "degraded": list(status.degraded),
            "pending": len(status.pending),
        }

    async def get_health(request: Request) -> Response:
        return await _guarded(request, health)

    posts: dict[str, Handler] = {
        "/recall": recall,
        "/capture": capture,
        "/search/memories": search_memories,
        "/search/conversations": search_conversations,
        "/session/end": session_end,
        "/seed": seed_sessions,
        "/status": show_status,
    }
    routes = [Route("/health", get_health, methods=["GET"])]
    routes += [Route(path, _post(memory, handler), methods=["POST"]) for path, handler in posts.items()]
    return Starlette(routes=routes, exception_handlers={HTTPException: _http_error})


def serve(memory: Memory, host: str | None = None, port: int | None = None) -> None:
    """Serve until interrupted; then close the memory. Raises ``ConfigError`` when the address is open to all and no
    key is set."""
    import uvicorn

    settings = memory.config.server
    address = host or settings.host
    if address not in ("127.0.0.1", "localhost", "::1") and not settings.api_key:
        raise ConfigError(f"server.host {address} is reachable from elsewhere: set server.apiKey")
    try:
        uvicorn.run(create_app(memory), host=address, port=settings.port if port is None else port, log_level="warning")
    finally:
        memory.close()


# --- routes: each takes the memory and a checked body, and returns the reply


def recall(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """Both parts, apart and together; a recall that had to do without something says so and is no error."""
    recalled = memory.recall(_text(body, "query"), session=_text(body, "session_key"), scope=_scope(memory, body))
    return recalled.as_json()


def capture(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """One turn: ``messages``, or ``user_content`` and ``assistant_content``, one of which may be missing."""
    messages = body.get("messages")
    if messages is None:
        parts = [("user", body.get("user_content")), ("assistant", body.get("assistant_content"))]
        messages = [{"role": role, "content": text} for role, text in parts if text]
    if not isinstance(messages, list) or not messages:
        raise BadRequest("expected messages (a list), or user_content or assistant_content (texts)")
    outcome = body.get("outcome", "ok")
    if outcome not in ("ok", "failed", "aborted"):
        raise BadRequest(f"outcome: got {outcome!r}, expected ok, failed or aborted")
    captured = memory.capture(
        messages,
        session=_text(body, "session_key"),
        scope=_scope(memory, body),
        outcome=outcome,
        trigger=str(body.get("trigger") or ""),
    )
    recorded = len(captured.new) + len(captured.replaced)
    return {
        "l0_recorded": recorded,
        "replaced": len(captured.replaced),
        "unchanged": captured.unchanged,
        "noise": captured.noise,
        "skipped": captured.skipped,
        "scheduler_notified": recorded > 0,
    }


def search_memories(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """Atoms for a question, with their ids."""
    return memory.search(
        _text(body, "query"),
        limit=_limit(body),
        type=_optional(body, "type"),
        scene=_optional(body, "scene"),
        scope=_scope(memory, body),
    ).as_json()


def search_conversations(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """Messages for a question, with their ids."""
    return memory.search_conversations(
        _text(body, "query"),
        limit=_limit(body),
        session=_optional(body, "session_key"),
        scope=_scope(memory, body),
    ).as_json()


def session_end(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """Answers when everything of the session was extracted, or after a time limit with ``flushed`` false."""
    limit = memory.config.server.session_end_seconds
    flushed = memory.flush(_text(body, "session_key"), _scope(memory, body), timeout=limit)
    errors = [ran.error for ran in flushed.ran if ran.error]
    waiting = [{"level": p.level, "messages": p.messages, "why": p.why} for p in flushed.pending]
    return {"flushed": flushed.done, "pending": waiting, "errors": errors}


def seed_sessions(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """Import whole conversations and extract them; answers when that is done. See ``gateway_seed``."""
    try:
        return seed(memory, body, _scope(memory, body))
    except (TypeError, ValueError) as error:
        raise BadRequest(f"data: {error}") from error


def show_status(memory: Memory, body: dict[str, Any]) -> dict[str, Any]:
    """What is there, what works, what waits and why."""
    return memory.status(_scope(memory, body)).as_json()


# --- around the routes


def _post(memory: Memory, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        _authorise(request, memory.config.server.api_key)
        body = await _body(request, memory.config.server.max_body_bytes)
        return await _guarded(request, lambda: handler(memory, body))

    return endpoint


async def _guarded(request: Request, work: Callable[[], dict[str, Any]]) -> Response:
    """Run the work in a thread; every failure becomes a reply with its code."""
    try:
        return JSONResponse(await run_in_threadpool(work))
    except (BadRequest, ScopeRequired, MessageError, ConfigError) as error:
        raise HTTPException(400, str(error)) from error
    except RecordNotFound as error:
        raise HTTPException(404, str(error)) from error
    except (StoreError, EvidenceError) as error:
        log.warning("%s: %s", request.url.path, error)
        raise HTTPException(503, str(error)) from error
    except Exception as error:  # the edge of the process: told to the log by name, to the client by number
        trace = uuid.uuid4().hex[:12]
        log.error("trace %s: %s", trace, request.url.path, exc_info=error)
        raise HTTPException(500, f"internal error, trace {trace}") from error


def _authorise(request: Request, key: str | None) -> None:
    if not key:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), key.encode()):
        raise HTTPException(401, "a valid bearer key is needed", headers={"www-authenticate": "Bearer"})


async def _body(request: Request, limit: int) -> dict[str, Any]:
    """The JSON object of a request, at most ``limit`` bytes, also after unpacking."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"expected application/json, got {kind}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "deflate"):
        raise HTTPException(415, f"content-encoding {encoding} is not read; send gzip, deflate or none")
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > limit:
            raise HTTPException(413, f"the body is over {limit} bytes")
    if encoding != "identity":
        data = _unpacked(data, limit)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise HTTPException(400, f"expected a JSON object, got {type(value).__name__}")
    return value


def _unpacked(data: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip and zlib, told apart by their head
    try:
        unpacked = unpacker.decompress(data, limit + 1)
    except zlib.error as error:
        raise HTTPException(400, f"the body cannot be unpacked: {error}") from error
    if len(unpacked) > limit:
        raise HTTPException(413, f"the unpacked body is over {limit} bytes")
    return unpacked


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    content = {"error": {"code": error.status_code, "message": error.detail}}
    return JSONResponse(content, error.status_code, headers=error.headers)


def _scope(memory: Memory, body: Mapping[str, Any]) -> Scope | None:
    """The scope a request names; the memory's own for parts it leaves out."""
    user, agent, team = (_optional(body, name) for name in ("user_id", "agent_id", "team_id"))
    if not (user or agent or team):
        return None
    own = memory.scope
    if not user and own is None:
        raise BadRequest("user_id: the memory has no user of its own, so a request must name one")
    return Scope(
        user or (own.user if own else ""),
        agent or (own.agent if own else "default"),
        team or (own.team if own else "default"),
    )


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadRequest(f"{name}: expected a text that is not empty, got {json.dumps(value)[:60]}")
    return value


def _optional(body: Mapping[str, Any], name: str) -> str | None:
    return None if body.get(name) in (None, "") else _text(body, name)


def _limit(body: Mapping[str, Any]) -> int:
    value = body.get("limit", LIMIT)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        raise BadRequest(f"limit: expected a whole number from 1 to {MOST}, got {json.dumps(value)[:60]}")
    return value
