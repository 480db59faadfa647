"""mini-swe-agent behind the engine, where that extra is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentmem.messages import Message, ToolCall
from harness.agents.conversation import Conversation
from harness.agents.loop import Limits
from harness.engines.registry import build, parse_arm
from harness.errors import UsageError
from harness.models.scripted import Scripted, playlist
from harness.protocols import EngineContext
from harness.types import Outcome, Task
from tests.harness.live_parts import COUNTER, Riddle, Riddles


class Shell:
    """Echoes what it is told to run."""

    def tools(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": {"name": "bash", "parameters": {}}}]

    def execute(self, call: ToolCall) -> Message:
        import json

        command = json.loads(call.arguments)["command"]
        text = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\nthe patch" if "submit" in command else f"ran {command}"
        return Message(
            "tool", f"<returncode>0</returncode>\n<output>\n{text}\n</output>", tool_call_id=call.id, name="bash"
        )

    def finish(self, answer: str) -> Outcome:
        return Outcome("scored", True, 1.0)

    def close(self) -> None:
        pass


def conversation(answers: list[str], tmp_path: Path) -> Conversation:
    engine = build(parse_arm("full"), EngineContext("s", 20_000, COUNTER, tmp_path, lambda: 0.0))
    model = Scripted("m", playlist([Message("assistant", text) for text in answers]), COUNTER)
    return Conversation("full", "s", engine, model, COUNTER)


def block(command: str) -> str:
    return f"THOUGHT: so.\n\n```mswea_bash_command\n{command}\n```"


def test_two_tasks_share_one_conversation(tmp_path: Path) -> None:
    pytest.importorskip("minisweagent")
    from harness.agents.minisweagent import MiniSweAgent

    answers = [block("ls"), "no command", block("submit"), block("submit")]
    talk = conversation(answers, tmp_path)
    agent = MiniSweAgent(Limits(steps=9))
    tasks = [Task(f"t{n}", "x", (Message("user", f"Fix issue {n}."),)) for n in range(2)]
    ends = []
    for position, task in enumerate(tasks):
        talk.begin_task(task.id, position)
        ends.append(agent.play(talk, task, Shell()))
        assert all(call.purpose == "agent" for call in talk.end_task())
    assert [(end.answer, end.steps, end.complaints) for end in ends] == [("the patch", 3, 1), ("the patch", 1, 0)]
    assert [m.role for m in talk.history] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert "Fix issue 0." in talk.history[1].content and "Fix issue 1." in talk.history[7].content
    assert talk.history[3].kind == "observation" and "ran ls" in talk.history[3].content
    assert "holds 0 command blocks" in talk.history[5].content


def test_limits_end_a_task_and_a_suite_without_shell_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("minisweagent")
    from harness.agents.minisweagent import MiniSweAgent

    talk = conversation([block("ls")] * 5, tmp_path)
    talk.begin_task("t", 0)
    ended = MiniSweAgent(Limits(steps=2)).play(talk, Task("t", "x", (Message("user", "Fix it."),)), Shell())
    assert ended.limit == "steps" and ended.steps == 2
    with pytest.raises(UsageError, match="shell"):
        MiniSweAgent().play(talk, Riddles(1).tasks()[0], Riddle("0", tools=True))
