"""Overhead of the harness a call, at concurrency 16, against a server that answers at once.

    python benchmarks/overhead.py [--calls 3200] [--concurrency 16]

Three figures: the same HTTP client alone, our model client, and whole sessions (engine, lint, ledger, log on disk).
Overhead of a layer = its wall time a call minus that of the HTTP client alone. Exits with 1 beyond 5 ms a call.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import TokenCounter
from harness.agents.dialogue import FunctionCalling
from harness.agents.loop import Agent, Limits
from harness.engines.registry import parse_arm
from harness.live import LiveOptions, execute, make_recipe, plan
from harness.models.http import http_library
from harness.models.openai import OpenAIModel, Settings
from harness.session import Parts
from harness.types import Outcome, Task
from suites.answering import Answering

LIMIT_MS = 5.0
REPLY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21},
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(REPLY), REPLY)


def serve(pipe: Connection) -> None:
    """Answer every request on kept connections, in a process of its own so that it takes nothing from ours."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    pipe.send(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    data = b""
    while True:
        head, found, rest = data.partition(b"\r\n\r\n")
        if found:
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            size = int(lengths[0].partition(b":")[2]) if lengths else 0
            if len(rest) >= size:
                data = rest[size:]
                connection.sendall(RESPONSE)
                continue
        more = connection.recv(65_536)
        if not more:
            return
        data += more


class Empty:
    """Tasks that take any answer."""

    name = "empty"

    def __init__(self, count: int) -> None:
        self._count = count

    def tasks(self) -> list[Task]:
        """``count`` tasks."""
        return [Task(f"t{n}", self.name, (Message("user", f"task {n}", kind="task"),)) for n in range(self._count)]

    def environment(self, task: Task, folder: Path) -> Any:
        """Takes the answer."""
        return Answering(lambda answer: Outcome("scored", True, 1.0))


def each(calls: int, concurrency: int, one: Callable[[], Any]) -> float:
    """Milliseconds of wall time a call."""
    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(lambda _: one(), range(concurrency)))  # connections are open, modules imported
        begun = time.perf_counter()
        list(pool.map(lambda _: one(), range(calls)))
        return (time.perf_counter() - begun) / calls * 1e3


def sessions(model: OpenAIModel, calls: int, concurrency: int) -> float:
    """Milliseconds a call of whole sessions of ten tasks."""
    suite = Empty(calls)
    options = LiveOptions(arms=(parse_arm("full"),), model="m", per_session=10)
    planned = plan(suite, options)
    recipe = make_recipe(suite, planned, {}, options)
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(FunctionCalling(), Limits())
        parts = Parts(suite, agent, model, TokenCounter(), 200_000, Path(folder))
        begun = time.perf_counter()
        execute(parts, planned, recipe, options, concurrency, lambda *_: None, {})
        return (time.perf_counter() - begun) / calls * 1e3


def main() -> int:
    """Measure and print; 1 when a layer costs more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3_200)
    parser.add_argument("--concurrency", type=int, default=16)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    library = http_library()
    client = library.Client(limits=library.Limits(max_connections=256, max_keepalive_connections=256))
    body = {"model": "m", "messages": [{"role": "user", "content": "task 1"}], "temperature": 0.0}
    model = OpenAIModel(Settings("m", url), counter=TokenCounter())
    asked = [Message("user", "task 1")]
    alone = each(given.calls, given.concurrency, lambda: client.post(f"{url}/chat/completions", json=body).json())
    chat = each(given.calls, given.concurrency, lambda: model.complete(asked))
    sessions(model, 10 * given.concurrency, given.concurrency)  # what a process does once is not overhead of a call
    burned = time.process_time()
    whole = sessions(model, given.calls, given.concurrency)
    burned = (time.process_time() - burned) / given.calls * 1e3
    server.terminate()
    print(f"concurrency {given.concurrency}, {given.calls} calls; milliseconds of wall time a call")
    print(f"HTTP client alone {alone:.2f}; model client {chat:.2f} (+{chat - alone:.2f}); sessions {whole:.2f}")
    print(f"processor time of a session's call, HTTP client included: {burned:.2f} ms")
    print(f"overhead of the harness: {whole - alone:.2f} ms a call (limit {LIMIT_MS:.0f})")
    return 1 if whole - alone > LIMIT_MS else 0


if __name__ == "__main__":
    sys.exit(main())
