"""Embedded tasks: where commands run, with real processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from suites.swebench.mini.environment import CommandResult, Shell, make_tools, observation


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "repo").mkdir()
    return Shell(tmp_path / "repo", make_tools(tmp_path / "tools"), timeout=20)


def test_both_streams_and_the_exit_code(shell: Shell) -> None:
    result = shell.run("echo out; echo err >&2; exit 3")
    assert result == CommandResult(3, "out\nerr\n")
    assert observation(result) == "<returncode>3</returncode>\n<output>\nout\nerr\n</output>"


def test_heredocs_and_several_lines(shell: Shell) -> None:
    assert shell.run("cat <<'EOF' > a.txt\n$HOME `x`\nEOF\ncat a.txt && rm a.txt").output == "$HOME `x`\n"


def test_nothing_of_our_environment_is_passed_on(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-9431")
    monkeypatch.setenv("PYTHONPATH", "/canary-9431")
    names = {line.split("=")[0] for line in shell.run("env").output.splitlines()}
    assert "canary" not in shell.run("env; set").output
    assert {"PATH", "HOME", "PYTHONHASHSEED"} <= names
    assert not {"OPENAI_API_KEY", "PYTHONPATH", "USER"} & names


def test_no_input_to_wait_for(shell: Shell) -> None:
    assert shell.run("cat; echo done").output == "done\n"


def test_the_whole_process_group_dies_at_the_time_limit(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    shell = Shell(tmp_path / "repo", make_tools(tmp_path / "tools"), timeout=0.5)
    begun = time.monotonic()
    result = shell.run("sleep 30 & echo $! > child; echo begun; sleep 30")
    assert time.monotonic() - begun < 10
    assert result.returncode == 124
    assert result.output.startswith("begun\n")
    assert "killed: it did not end within 0.5 s" in result.output
    assert _gone(int((tmp_path / "repo" / "child").read_text()))


def test_what_runs_in_the_background_ends_with_its_command(shell: Shell, tmp_path: Path) -> None:
    begun = time.monotonic()
    assert shell.run("sleep 30 & echo $! > child").returncode == 0
    assert time.monotonic() - begun < 10
    assert _gone(int((tmp_path / "repo" / "child").read_text()))


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_flood_of_output_ends(shell: Shell) -> None:
    result = shell.run("yes flood")
    assert result.returncode != 0
    assert len(result.output) <= 17 * 1024 * 1024
    shown = observation(result)
    assert 10_000 < len(shown) < 10_500
    assert "<output_head>" in shown
    assert f"{len(result.output) - 10_000} characters elided" in shown


def test_the_limit_itself(shell: Shell) -> None:
    assert "<warning>" not in observation(CommandResult(0, "x" * 9_999))
    assert "<warning>" in observation(CommandResult(0, "x" * 10_000))


def test_bytes_that_are_no_text_survive(shell: Shell) -> None:
    assert shell.run(r"printf 'a\xff\0b'").output == "a\\xff\0b"


def test_what_varies_is_scrubbed(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "repo" / "test_x.py").write_text(
        "import json, unittest\n"
        "class T(unittest.TestCase):\n"
        "    def test_object(self):\n        self.assertEqual(object(), 1)\n"
        "    def test_library(self):\n        json.loads('{')\n"
    )
    first, second = (shell.run("pwd; python -m unittest").output for _ in range(2))
    assert first == second
    assert first.startswith("/testbed\n")
    assert "Ran 2 tests in 0.001s" in first
    assert "<object object at 0x7f0000000000>" in first
    assert 'File "/usr/lib/python3/json/__init__.py"' in first
    assert str(tmp_path) not in first


def test_no_bytecode_is_left(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "repo" / "mod.py").write_text("x = 1\n")
    assert shell.run("python -c 'import mod; print(mod.x)'").output == "1\n"
    assert [path.name for path in (tmp_path / "repo").iterdir()] == ["mod.py"]
