"""A local OpenAI-compatible server for tests: answers as it is told, misbehaves on demand, records what it served.

    with FakeServer(["first answer", failure(429), thinking('{"a": 1}')]) as server:
        OpenAIModel(Llm(base_url=server.url, ...)).ask(...)
        assert server.served[0].body["messages"][-1]["content"] == "..."

The script is a list of answers, used up in order, or a function of the request. A text is a plain answer. When a list
is over the server says HTTP 500 "the script is over". A real HTTP server in a thread; POST /v1/chat/completions (also
streamed), POST /v1/embeddings, GET /v1/models. Same script and same requests, same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

USAGE_CHARACTERS = 4  # characters a "token" of counted usage


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply. The makers below (``failure``, ``slow``, ``fenced`` ...) build the usual ones.

    ``usage`` is "counted" (characters / 4), None (the field is left out) or the object to send. ``body`` replaces the
    whole reply body; ``choices`` False sends an empty list of them; ``hang_up`` closes the connection without a word.
    ``delay`` is in seconds. ``tool_calls`` are (name, arguments) pairs.
    """

    text: str | None = ""
    tool_calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    finish: str | None = None
    usage: Mapping[str, Any] | Literal["counted"] | None = "counted"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None
    choices: bool = True
    hang_up: bool = False


@dataclass(frozen=True, slots=True)
class Served:
    """One request as it came and the answer it got. Header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    answer: Answer


@dataclass(frozen=True, slots=True)
class Request:
    """What a script function is given: path, body, and the number of requests on that path before this one."""

    path: str
    body: Mapping[str, Any]
    number: int

    @property
    def last(self) -> str:
        """Text of the last message."""
        return str(self.body["messages"][-1]["content"])


Script = Iterable["Answer | str"] | Callable[[Request], "Answer | str"]


def failure(status: int, message: str = "told to fail", retry_after: float | None = None, code: str = "") -> Answer:
    """An HTTP error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "type": "fake", "code": code or None}}).encode()
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return Answer(status=status, body=body, headers=headers)


def slow(seconds: float, text: str = "late") -> Answer:
    """An answer that takes its time."""
    return Answer(text, delay=seconds)


def without_usage(text: str) -> Answer:
    """An answer without a usage field."""
    return Answer(text, usage=None)


def thinking(text: str, thought: str = 'Perhaps {"draft": [1]}? No.') -> Answer:
    """An answer behind a <think> block that holds JSON of its own."""
    return Answer(f"<think>{thought}</think>\n{text}")


def fenced(text: str) -> Answer:
    """An answer in a fence, with prose around it."""
    return Answer(f"Here is the result [1 item]:\n```json\n{text}\n```\nLet me know!")


def half(text: str, share: float = 0.5) -> Answer:
    """An answer cut off at that share of its length, with finish reason "length"."""
    return Answer(text[: int(len(text) * share)], finish="length")


def bad_json() -> Answer:
    """An answer that looks like JSON and is none."""
    return Answer('[{"content": "x", "type": ???')


def no_choices() -> Answer:
    """A reply whose list of choices is empty."""
    return Answer(choices=False)


def empty(finish: str = "content_filter") -> Answer:
    """A reply without text, as a content filter leaves it."""
    return Answer(None, finish=finish)


def not_json() -> Answer:
    """A page of a proxy in place of a reply, with status 200."""
    return Answer(body=b"<html>gateway</html>", headers={"content-type": "text/html"})


def hang_up() -> Answer:
    """A connection that closes without a reply."""
    return Answer(hang_up=True)


class FakeServer:
    """See the module. ``embeddings`` scripts that endpoint (only faults make sense); ``dimensions`` is the length of
    its vectors unless a request names another."""

    def __init__(self, script: Script = (), embeddings: Script | None = None, dimensions: int = 64) -> None:
        self.dimensions = dimensions
        self.served: list[Served] = []
        self._scripts = {"/v1/chat/completions": _player(script)}
        self._scripts["/v1/embeddings"] = _player(embeddings if embeddings is not None else lambda request: Answer())
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base address, with ``/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Answer:
        """Play the next answer for a request and record both."""
        with self._lock:
            player = self._scripts.get(path)
            number = self._numbers.get(path, 0)
            self._numbers[path] = number + 1
            answer = player(Request(path, body, number)) if player else failure(404, f"no such path: {path}")
            self.served.append(Served(path, headers, body, answer))
        if answer.delay:
            self._closing.wait(answer.delay)
        return answer


def _player(script: Script) -> Callable[[Request], Answer]:
    if callable(script):
        return lambda request: _as_answer(script(request))
    answers = iter(script)
    return lambda request: _as_answer(next(answers, failure(500, "the script is over")))


def _as_answer(answer: Answer | str) -> Answer:
    return Answer(answer) if isinstance(answer, str) else answer


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(200, {}, json.dumps({"object": "list", "data": [{"id": "fake", "object": "model"}]}).encode())

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(size) or b"{}")
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.answer(self.path, headers, body)
            if answer.hang_up:
                self.close_connection = True
                return
            if answer.body is None and answer.status == 200:
                answer = _filled(answer, self.path, body, server.dimensions, len(server.served))
            self._send(answer.status, answer.headers, answer.body or b"")

        def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            try:
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client gave up waiting, which is what some tests are about
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Stay quiet."""

    return Handler


def _filled(answer: Answer, path: str, body: Mapping[str, Any], dimensions: int, number: int) -> Answer:
    if path.endswith("/embeddings"):
        return replace(answer, body=json.dumps(_embeddings(body, dimensions)).encode())
    head = {"id": f"fake-{number}", "created": 0, "model": body.get("model", "fake")}
    if body.get("stream"):
        stream = "".join(f"data: {json.dumps(head | part)}\n\n" for part in _chunks(answer, body)) + "data: [DONE]\n\n"
        return replace(answer, body=stream.encode(), headers={"content-type": "text/event-stream", **answer.headers})
    reply: dict[str, Any] = {**head, "object": "chat.completion", "choices": []}
    if answer.choices:
        reply["choices"] = [{"index": 0, "message": _message(answer), "finish_reason": _finish(answer)}]
    usage = _usage(answer, body)
    if usage is not None:
        reply["usage"] = usage
    return replace(answer, body=json.dumps(reply).encode())


def _message(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(answer.tool_calls)
        ]
    return message


def _finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.tool_calls else "stop")


def _usage(answer: Answer, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if answer.usage != "counted":
        return answer.usage
    prompt = math.ceil(sum(len(str(message.get("content") or "")) for message in body["messages"]) / USAGE_CHARACTERS)
    completion = math.ceil(len(json.dumps(_message(answer))) / USAGE_CHARACTERS)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _chunks(answer: Answer, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The reply in pieces of seven characters; usage in a last chunk, only when the request asks for it."""
    message = _message(answer)
    text, calls = message["content"] or "", message.get("tool_calls", [])
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[i : i + 7]} for i in range(0, len(text), 7)]
    deltas += [{"tool_calls": [{"index": i, **call}]} for i, call in enumerate(calls)]
    for delta in deltas if answer.choices else ():
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if answer.choices:
        end = {"index": 0, "delta": {}, "finish_reason": _finish(answer)}
        yield {"object": "chat.completion.chunk", "choices": [end]}
    usage = _usage(answer, body)
    if usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        yield {"object": "chat.completion.chunk", "choices": [], "usage": usage}


def _embeddings(body: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    size = int(body.get("dimensions") or dimensions)
    data = [{"object": "embedding", "index": i, "embedding": _vector(text, size)} for i, text in enumerate(texts)]
    tokens = sum(math.ceil(len(text) / USAGE_CHARACTERS) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body.get("model", "fake"), "data": data, "usage": usage}


def _vector(text: str, size: int) -> Sequence[float]:
    """A bag of hashed words and letter triples, so that similar texts have similar vectors."""
    vector = [0.0] * size
    words = text.lower().split()
    for part in words + [word[i : i + 3] for word in words for i in range(len(word) - 2)]:
        digest = hashlib.sha256(part.encode("utf-8", "replace")).digest()
        vector[int.from_bytes(digest[:4], "big") % size] += 1.0 if digest[4] % 2 else -1.0
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]
