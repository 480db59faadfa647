"""Records every HTTP exchange with a model, judge or embedder as one JSON file, and replays it without key or socket.

Layout: ``DIR/<lane>/<number>-<digest>.json``. A lane is one sequence of calls that nothing else interleaves with,
such as one session of one arm, so that a replay is exact at any concurrency.
"""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit

from harness.errors import CassetteMiss, UnreadableInput, UsageError
from harness.models.http import http_library
from harness.models.nearest import describe_miss
from harness.names import slug

SCHEMA = "agentmem-cassette/1"
KEPT_HEADERS = ("content-type", "retry-after")  # of responses; of requests none is kept
KEPT_QUERY = ("api-version",)  # some servers take their key in the query
STYLES = {
    "compact": ((",", ":"), False),
    "compact ascii": ((",", ":"), True),
    "spaced": ((", ", ": "), False),
    "spaced ascii": ((", ", ": "), True),
}
_lane: contextvars.ContextVar[str] = contextvars.ContextVar("lane", default="shared")


@contextlib.contextmanager
def lane(*names: str) -> Iterator[None]:
    """Requests of this thread go to that lane."""
    token = _lane.set("/".join(slug(name) for name in names))
    try:
        yield
    finally:
        _lane.reset(token)


class Exchange(Protocol):
    """A transport of the HTTP library."""

    def handle_request(self, request: Any) -> Any:
        """Answer a request."""


class Recorder:
    """A transport that writes down what passes through it. ``secrets`` must not occur in what is written."""

    def __init__(self, folder: Path, inner: Exchange, secrets: Sequence[str] = ()) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: record into a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._inner = inner
        self._secrets = [secret for secret in secrets if secret]
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: Any) -> Any:
        """Pass on, write down, answer. A failure of the network is written down and raised again."""
        asked = described(request)
        library = http_library()
        try:
            response = self._inner.handle_request(request)
            response.read()
        except library.TransportError as error:
            self._write(asked, {"failed": type(error).__name__, "message": str(error)})
            raise
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        self._write(asked, {"status": response.status_code, "headers": headers, **_exact(response.text)})
        return library.Response(response.status_code, headers=headers, content=response.content, request=request)

    def close(self) -> None:
        """Close the inner transport."""
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def _write(self, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> None:
        text = json.dumps({"schema": SCHEMA, "request": asked, "response": answered}, indent=1)
        if any(secret in text for secret in self._secrets):
            raise UsageError("the API key occurs in the text of a request or response; nothing was recorded of it")
        current = _lane.get()
        with self._lock:
            number = self._numbers[current] = self._numbers.get(current, 0) + 1
        target = self._folder / current / f"{number:05d}-{digest(asked)[:8]}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        whole = target.with_suffix(f".{os.getpid()}.tmp")
        whole.write_text(text + "\n", encoding="utf-8")
        whole.replace(target)


class Player:
    """A transport that answers from a folder of recorded exchanges; the same request again gets the next recording."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"no cassette at {folder}: `--record {folder}` makes one")
        self._lanes: dict[str, list[_Recorded]] = {}
        for path in sorted(folder.rglob("*.json")):
            self._lanes.setdefault(str(path.parent.relative_to(folder).as_posix()), []).append(_Recorded(path))
        if not self._lanes:
            raise UsageError(f"the cassette {folder} is empty")
        self._folder = folder
        self._lock = threading.Lock()

    def handle_request(self, request: Any) -> Any:
        """The recorded answer. Raises ``CassetteMiss`` with the difference to the nearest request."""
        asked = described(request)
        current = _lane.get()
        with self._lock:
            recorded = self._lanes.get(current, [])
            found = next((one for one in recorded if not one.used and one.digest == digest(asked)), None)
            if found is None:
                raise CassetteMiss(describe_miss(asked, current, [(one.name, one.request) for one in recorded]))
            found.used = True
        library = http_library()
        answered = found.response
        if "failed" in answered:
            kind = getattr(library, answered["failed"], library.TransportError)
            raise kind(answered["message"], request=request)
        content = answered["text"] if "text" in answered else _styled(answered["body"], answered["style"])
        return library.Response(
            answered["status"], headers=answered["headers"], content=content.encode(), request=request
        )

    def close(self) -> None:
        """Nothing is open."""

    def unused(self) -> list[str]:
        """Recordings that nobody asked for."""
        return [one.name for lane in self._lanes.values() for one in lane if not one.used]


class _Recorded:
    def __init__(self, path: Path) -> None:
        try:
            whole = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UnreadableInput(f"{path} is not JSON: {error}") from None
        if not isinstance(whole, dict) or whole.get("schema") != SCHEMA:
            raise UnreadableInput(f"{path} is not of schema {SCHEMA}")
        self.name = path.name
        self.request: dict[str, Any] = whole["request"]
        self.response: dict[str, Any] = whole["response"]
        self.digest = digest(self.request)
        self.used = False


def described(request: Any) -> dict[str, Any]:
    """What identifies a request: method, path, harmless query, body. No host and no header."""
    url = urlsplit(str(request.url))
    query = urlencode([(name, value) for name, value in parse_qsl(url.query) if name in KEPT_QUERY])
    asked: dict[str, Any] = {"method": request.method, "path": url.path, "body": _readable(request.read().decode())}
    return asked | ({"query": query} if query else {})


def digest(asked: Mapping[str, Any]) -> str:
    """sha256 over the canonical JSON of a described request."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _exact(text: str) -> dict[str, Any]:
    """JSON as JSON where one of the usual styles gives back the same text, else the text: a replay is bit for bit."""
    value = _readable(text)
    if not isinstance(value, str):
        for style in STYLES:
            if _styled(value, style) == text:
                return {"style": style, "body": value}
    return {"text": text}


def _styled(value: Any, style: str) -> str:
    separators, ascii_only = STYLES[style]
    return json.dumps(value, ensure_ascii=ascii_only, separators=separators)


def _readable(text: str) -> Any:
    """JSON as JSON, so that two files can be compared line by line; everything else as text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
