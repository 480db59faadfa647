"""`show` and `trace` on the command line: canvas, entry, evidence and back; one line for what is not there."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from agentmem.messages import Message, ToolCall
from agentmem.offload.evidence import encode
from agentmem.offload.session import OffloadSession
from agentmem.tokens import TokenCounter

RESULT = "first line\r\nsecond \x00 line\nthird ` ``` line \ud83d\n" + "more\n" * 40


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evidence")
    ticks = count()
    with OffloadSession(
        root / "agent" / "s1", TokenCounter(), 50_000, lambda: float(next(ticks)), durable=False
    ) as memory:
        memory.begin_task("fix the parser")
        memory.observe(Message("user", "fix the parser", kind="task"))
        for number in range(4):
            memory.observe(Message("assistant", "", (ToolCall(f"c{number}", "bash", '{"command": "cat parser.py"}'),)))
            memory.observe(Message("tool", f"{number} {RESULT}", tool_call_id=f"c{number}"))
    return root


def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    code = "from harness.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, check=False)


def test_from_canvas_to_entry_to_evidence_and_back(place: Path) -> None:
    listed = run("trace", "--in", place).stdout.decode()
    assert "4 tool calls (4 on a canvas)" in listed and "001-fix-the-parser.mmd" in listed
    canvas = run("trace", "001-fix-the-parser.mmd", "--in", place).stdout.decode()
    assert "001-N1 [doing] read: parser.py" in canvas
    ref = next(word for word in canvas.split() if word.startswith("refs/"))
    shown = run("show", ref, "--in", place)
    assert shown.stdout == encode(f"0 {RESULT}")
    back = run("trace", ref, "--in", place).stdout.decode()
    assert back.startswith("c0: bash command cat parser.py") and "canvas 001-fix-the-parser.mmd, node 001-N1" in back
    assert "c3: bash" in run("trace", "001-N1", "--in", place).stdout.decode()
    assert run("show", ref, "--in", place, "--lines", "1-1").stdout == b"0 first line\r\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "refs/00000000000000000000.txt"], "no evidence"),
        (["show", "../../etc/passwd"], "is not a ref"),
        (["trace", "001-N9"], "is no canvas, node, tool call or ref of 1 session folders; nearest: 001-N1"),
        (["trace", "c9"], "nearest: c3, c2, c1"),
    ],
)
def test_what_is_not_there_is_one_line_and_exit_3(place: Path, arguments: list[str], says: str) -> None:
    done = run(*arguments, "--in", place)
    error = done.stderr.decode()
    assert done.returncode == 3 and says in error and error.count("\n") == 1


def test_a_folder_without_sessions(tmp_path: Path) -> None:
    done = run("trace", "--in", tmp_path)
    assert done.returncode == 3 and b"no session folder in or below" in done.stderr
