"""docs/ci.md works as written: its commands run, its limits are those of the code, its workflow says the same."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import build
from harness.gate.limits import Limits

DOC = (Path(__file__).parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOC, re.DOTALL)


def recording(number: int) -> dict[str, object]:
    def call(command: str) -> dict[str, object]:
        return {"role": "assistant", "content": f"THOUGHT: look\n\n```bash\n{command}\n```"}

    def result(text: str) -> dict[str, object]:
        return {"role": "user", "kind": "observation", "content": text}

    messages = [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "kind": "task", "content": f"Fix bug {number}."},
        call("ls"),
        result(f"module_{number}.py helper_{number}.py"),
        call(f"cat module_{number}.py"),
        result("def broken(): pass\n" * 30),
        call("git diff"),
    ]
    row = {"schema": "replay-trajectory/1", "suite": "made", "task_id": f"t{number}", "agent": "a", "model": "m"}
    return {**row, "outcome": {"resolved": True}, "messages": messages}


@pytest.mark.slow
def test_the_commands_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recordings").mkdir()
    lines = [json.dumps(recording(number)) for number in range(12)]
    (tmp_path / "recordings" / "runs.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "pyproject.toml").write_text(blocks("toml")[0])
    workflow = re.findall(r"run: (agentmem-bench .*)", blocks("yaml")[0])
    commands = [line for line in blocks("sh")[0].split("\n") if line.startswith("agentmem-bench")]
    assert workflow[0] == commands[0]
    for command in [*commands, *workflow]:
        done = CliRunner().invoke(build(), shlex.split(command)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "gate.xml").exists() and (tmp_path / "gate.json").exists()
    for kept in re.findall(r"^ {12}(\S+)$", blocks("yaml")[0], re.MULTILINE):
        assert (tmp_path / kept).exists(), kept


def test_the_limits_shown_are_the_defaults() -> None:
    assert tomllib.loads(blocks("toml")[0])["tool"]["agentmem-bench"]["gate"] == asdict(Limits())


def test_the_verdict_that_scripts_look_for_is_the_one_written() -> None:
    assert '"verdict": "unconfirmed"' in DOC
