"""Embedded tasks: the scripted agent acts on what a prompt shows, and recordings are real and repeatable."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentmem.messages import Message
from harness.types import Trajectory
from suites.swebench.mini import ScriptedAgent, generate, record, run_task
from suites.swebench.mini.agent import CALL_LIMIT, fixes_of
from suites.swebench.mini.patches import hunks
from suites.swebench.mini.prompts import SUBMIT, system_message, task_message
from suites.swebench.mini.view import View, command_of

SOME = generate(0, 6)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return record(0, 10, jobs=2)


def _messages(row: dict[str, Any]) -> list[Message]:
    return [Message(m["role"], m["content"], kind=m.get("kind")) for m in row["messages"]]


def test_recorded_twice_the_same_bytes(
    rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert json.dumps(record(0, 10, jobs=3)) == json.dumps(rows)
    assert not list(tmp_path.iterdir()), "everything temporary is gone"


def test_rows_have_the_common_format(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["schema"] == "replay-trajectory/1"
        assert (row["suite"], row["agent"], row["model"]) == ("swebench-mini", "scripted agent", "none (scripted)")
        assert row["outcome"]["resolved"] is True
        assert row["outcome"]["calls"] == sum(m["role"] == "assistant" for m in row["messages"])
        assert row["submission"].startswith("--- a/")
        roles = [m["role"] for m in row["messages"]]
        assert roles == ["system", "user"] + ["assistant", "user"] * (row["outcome"]["calls"] - 1) + ["assistant"]
        kinds = [m.get("kind") for m in row["messages"] if m["role"] == "user"]
        assert kinds == ["task"] + ["observation"] * (len(kinds) - 1)
        assert command_of(_messages(row)[-1]) == SUBMIT


def test_calls_and_sizes_are_like_those_of_real_runs(rows: list[dict[str, Any]]) -> None:
    sizes = [len(m["content"]) for row in rows for m in row["messages"] if m.get("kind") == "observation"]
    assert 120 < statistics.median(sizes) < 600
    assert max(sizes) > 5_000
    assert max(sizes) < 10_500
    assert all(9 <= row["outcome"]["calls"] <= 20 for row in rows)


def test_the_agent_is_told_how_to_mend_but_not_where() -> None:
    for task in generate(0, 50):
        agent = ScriptedAgent(task)
        known = repr(vars(agent)) + repr(fixes_of(task.gold_patch))
        for hunk in hunks(task.gold_patch):
            assert hunk.path not in known
            assert task.repo not in known
            gone = [text.strip() for mark, text in hunk.lines if mark == "-" and len(text.strip()) > 12]
            new = [text for mark, text in hunk.lines if mark == "+"]
            assert not any(line in known for line in gone if not any(line in text for text in new))


def test_every_place_the_agent_names_was_shown_to_it(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        seen = row["messages"][1]["content"]
        for message in row["messages"][2:]:
            if message["role"] == "assistant":
                command = command_of(Message("assistant", message["content"]))
                for word in command.replace("'", " ").replace('"', " ").replace("(", " ").replace(")", " ").split():
                    if word.endswith(".py") and "*" not in word and word != "__init__.py":
                        assert word in seen, (row["task_id"], word)
            else:
                seen += message["content"]


def test_without_its_evidence_it_repeats_and_then_gives_up() -> None:
    agent = ScriptedAgent(SOME[0])
    prompt = [system_message(), task_message(SOME[0])]
    commands = []
    for _ in range(CALL_LIMIT):
        commands.append(command_of(agent.next(prompt)))
        if commands[-1] == SUBMIT:
            break
        prompt = [
            *prompt[:2],
            Message("assistant", f"```bash\n{commands[-1]}\n```"),
            Message("user", "(removed)", kind="observation"),
        ]
    assert commands[-1] == SUBMIT
    assert agent.repeats > 0
    assert len(set(commands)) < len(commands)


def _older(keep: int, stand_in: Callable[[Message, int], Message]) -> Callable[[Sequence[Message]], Sequence[Message]]:
    def assemble(history: Sequence[Message]) -> Sequence[Message]:
        results = [i for i, message in enumerate(history) if message.is_result]
        gone = set(results[: len(results) - keep])
        return [stand_in(message, i) if i in gone else message for i, message in enumerate(history)]

    return assemble


def _play(folder: Path, **prompts: Any) -> list[Trajectory]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda task: run_task(task, folder, **prompts), SOME))


def _removed(message: Message, _: int) -> Message:
    return replace(message, content="(removed)")


def test_an_agent_that_forgets_fails(tmp_path: Path) -> None:
    played = _play(tmp_path, assemble=_older(1, _removed))
    assert sum(bool(one.outcome.passed) for one in played) <= 0.6 * len(SOME)
    assert all(one.outcome.state == "scored" for one in played)


def test_pointers_are_as_good_as_the_text(tmp_path: Path) -> None:
    kept: dict[str, str] = {}

    def stored(message: Message, index: int) -> Message:
        ref = f"refs/{hashlib.sha256(message.content.encode()).hexdigest()[:16]}-{index}.md"
        kept[ref] = message.content
        return replace(message, content=f"Moved out of the prompt.\nresult_ref: {ref}")

    played = _play(tmp_path, assemble=_older(1, stored), fetch=kept.__getitem__)
    assert all(one.outcome.passed for one in played)
    whole = _play(tmp_path)
    assert [one.outcome.detail["calls"] for one in played] == [one.outcome.detail["calls"] for one in whole]


def test_pointers_to_nothing_are_no_help(tmp_path: Path) -> None:
    def stored(message: Message, index: int) -> Message:
        return replace(message, content="gone", refs=(f"refs/{index}.md",))

    def fetch(ref: str) -> str:
        raise KeyError(ref)

    assert not all(one.outcome.passed for one in _play(tmp_path, assemble=_older(1, stored), fetch=fetch))


def test_earlier_tasks_in_the_prompt_do_not_confuse_it(tmp_path: Path) -> None:
    first = run_task(SOME[0], tmp_path)
    alone = run_task(SOME[1], tmp_path)
    after = run_task(SOME[1], tmp_path, before=first.messages)
    assert after.outcome == alone.outcome
    assert after.messages == alone.messages[1:], "only the system message is not said again"


def test_visible_text_comes_before_pointers() -> None:
    asked: list[str] = []

    def fetch(ref: str) -> str:
        asked.append(ref)
        return "from evidence"

    prompt = [
        Message("assistant", "```bash\nfirst\n```"),
        Message("user", "short", kind="observation", refs=("refs/1.md",)),
        Message("assistant", "```bash\nsecond\n```"),
        Message("user", "in sight", kind="observation"),
    ]
    view = View(prompt, fetch)
    assert view.first(lambda step: step.text if step.text.startswith("in") else None) == "in sight"
    assert asked == []
    assert view.first(lambda step: step.text if step.text.startswith("from") else None) == "from evidence"
    assert asked == ["refs/1.md"]


@pytest.mark.slow
def test_all_fifty_are_solved() -> None:
    assert all(row["outcome"]["resolved"] for row in record(0, 50, jobs=2))
