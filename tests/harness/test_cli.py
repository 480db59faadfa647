"""The command line: one clear line for a mistake, the documented files for a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import build

ROWS = [
    {
        "schema": "replay-trajectory/1",
        "suite": "made",
        "task_id": f"task-{number}",
        "agent": "by hand",
        "model": "none",
        "outcome": {"resolved": number == 0},
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "fix it", "kind": "task"},
            {"role": "assistant", "content": "I look.\n```bash\nls\n```"},
            {"role": "user", "content": "found_name " * 50, "kind": "observation"},
            {"role": "assistant", "content": "```bash\ncat found_name\n```"},
        ],
        "source": {},
    }
    for number in range(3)
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A small file of recorded runs."""
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def bench(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    command = [sys.executable, "-c", "from harness.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_replay_writes_every_file_and_prints_the_table(recording: Path, tmp_path: Path) -> None:
    done = bench("replay", str(recording), "--arm", "full", "--arm", "agentmem", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "support-adjusted" in done.stdout and "outcomes as recorded" in done.stdout
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {
        "recipe.json", "calls.jsonl", "tasks.jsonl", "summary.json", "report.md",
        "context.png", "cumulated.png", "position.png",
    }  # fmt: skip
    for name in ("context.png", "cumulated.png", "position.png"):
        assert (tmp_path / "run" / name).read_bytes().startswith(b"\x89PNG")
    report = (tmp_path / "run" / "report.md").read_text()
    assert "## Where it loses" in report and "agentmem" in report


def test_the_summary_keeps_its_contract(recording: Path, tmp_path: Path) -> None:
    done = bench("replay", str(recording), "--arm", "full", "--json", "--out", "run", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert summary == json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["schema"] == "agentmem-run/1"
    assert len(summary["recipe"]) == 64
    (arm,) = summary["arms"]
    assert set(arm) >= {
        "arm", "calls", "tokens", "prompt_tokens", "completion_tokens", "cached_tokens", "memory_tokens", "repairs",
        "support_adjusted", "cost", "needs", "needs_not_visible", "needs_lost", "actions", "actions_unsupported",
        "peak_prompt", "tasks",
    }  # fmt: skip
    assert set(arm["tasks"]) >= {"attempted", "errored", "scored", "unparsable", "passed"}
    assert (arm["calls"], arm["needs"], arm["tasks"]["passed"]) == (6, 3, 1)


def test_the_same_command_again_continues_the_unfinished_run(recording: Path, tmp_path: Path) -> None:
    arguments = ("replay", str(recording), "--arm", "full")
    bench(*arguments, cwd=tmp_path)
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    (folder / "summary.json").unlink()
    bench(*arguments, cwd=tmp_path)
    assert [path.name for path in (tmp_path / "results" / "runs").iterdir()] == [folder.name]
    assert (folder / "summary.json").exists()


MISTAKES = {
    "unknown arm 'ful': expected full": ("replay", "FILE", "--arm", "ful"),
    "unknown parameter of arm 'mask' 'lst': expected last": ("replay", "FILE", "--arm", "mask:lst=3"),
    "unknown tokenizer 'o200k': expected o200k_base": ("replay", "FILE", "--tokenizer", "o200k"),
    "unknown order 'shuffled': expected shuffle": ("replay", "FILE", "--order", "shuffled"),
    "--arm full is given more than once": ("replay", "FILE", "--arm", "full", "--arm", "full"),
    "No such option: --windw": ("replay", "FILE", "--windw", "5"),
    "No such command 'repaly'": ("repaly", "FILE"),
    "Invalid value for '--limit'": ("replay", "FILE", "--limit", "0"),
    "nowhere.jsonl: expected a file, a folder or a pattern": ("replay", "nowhere.jsonl"),
}


@pytest.mark.parametrize("said", MISTAKES)
def test_a_mistake_gets_one_line_and_exit_code_3(said: str, recording: Path, tmp_path: Path) -> None:
    arguments = [str(recording) if word == "FILE" else word for word in MISTAKES[said]]
    done = bench(*arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_recipe_in_the_same_folder_is_refused(recording: Path, tmp_path: Path) -> None:
    bench("replay", str(recording), "--arm", "full", "--out", "run", cwd=tmp_path)
    done = bench("replay", str(recording), "--arm", "full", "--out", "run", "--window", "1000", cwd=tmp_path)
    assert done.returncode == 3
    assert "window: 200000 -> 1000" in done.stderr


def commands() -> list[tuple[str, ...]]:
    """Every command of the command line, those in groups with their group."""
    app = build()
    single = [(command.name or command.callback.__name__,) for command in app.registered_commands if command.callback]
    for group in app.registered_groups:
        inner = group.typer_instance.registered_commands if group.typer_instance else []
        single += [
            (str(group.name), command.name or command.callback.__name__) for command in inner if command.callback
        ]
    return single


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_shows_an_example(command: tuple[str, ...], tmp_path: Path) -> None:
    done = bench(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"agentmem-bench {' '.join(command)}" in " ".join(done.stdout.split())
