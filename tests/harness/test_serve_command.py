"""The commands that serve a memory and look into one, as somebody types them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from harness.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from agentmem import Memory

    with Memory(tmp_path / "memory", user="ana", background=False) as memory:
        memory.capture([{"role": "user", "content": "I live in Lisbon. I love opera."}], session="s")
    return tmp_path / "memory"


def test_a_memory_from_flush_to_forgetting(folder: Path, tmp_path: Path) -> None:
    who = ("--user", "ana")
    assert json.loads(run("memory", "status", str(folder), *who).stdout)["pending"][0]["messages"] == 1
    assert run("memory", "flush", str(folder), *who).stdout.splitlines() == [
        "l1 s: done",
        "l2 ana: done",
        "l3 ana: done",
    ]
    trace = run("memory", "trace", str(folder), *who).stdout
    assert "User lives in Lisbon." in trace and "message t_" in trace and "session s" in trace
    archive = str(tmp_path / "a.zip")
    assert "atoms                    2" in run("memory", "export", str(folder), archive, *who).stdout
    forgotten = run("memory", "forget", str(folder), *who, "--yes")
    assert forgotten.returncode == 0 and "left in journal          0" in forgotten.stdout
    assert "atoms                    2" in run("memory", "load", str(folder), archive).stdout


def test_a_mistake_is_one_line(tmp_path: Path) -> None:
    done = run("memory", "trace", str(tmp_path), "--user", "ana")
    assert done.returncode == 3 and "holds no memory" in done.stderr and len(done.stderr.splitlines()) == 1
    (tmp_path / "c.toml").write_text("[recall]\nmaxResult = 3\n")
    done = run("serve", str(tmp_path / "m"), "--config", str(tmp_path / "c.toml"))
    assert done.returncode == 1 and "did you mean recall.maxResults?" in done.stderr


def test_serve_answers_until_it_is_interrupted(folder: Path) -> None:
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "from harness.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", str(folder), "--user", "ana", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, env=os.environ, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 30
        while True:
            try:
                reply = urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
                break
            except (urllib.error.URLError, ConnectionError):
                assert time.monotonic() < end and server.poll() is None
                time.sleep(0.05)
        with reply:
            assert json.loads(reply.read())["status"] == "ok"
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in (0, 130)
    finally:
        server.kill()
        server.wait()
        assert server.stderr is not None
        server.stderr.close()
