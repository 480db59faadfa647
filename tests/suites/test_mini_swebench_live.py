"""The embedded repositories live: real commands, graded by their tests; pointers followed with the engine's own tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentmem.messages import Message, ToolCall
from agentmem.offload.drilldown import TOOL, openai_tools
from agentmem.tokens import TokenCounter
from harness.errors import EnvironmentFailed
from harness.protocols import SuiteContext
from harness.sandbox import opener
from harness.types import Ran, SandboxSpec
from suites.swebench.environment import BASH
from suites.swebench.mini.suite import SweBenchMini

REF = "refs/0123456789abcdef0123.txt"


@pytest.fixture
def suite(tmp_path: Path) -> SweBenchMini:
    context = SuiteContext(None, tmp_path, TokenCounter("o200k_base"), opener("none"), options={"tasks": "2"})
    return SweBenchMini(context)


def play(suite: SweBenchMini, tmp_path: Path, hide: str, tools: list[dict[str, Any]]) -> tuple[list[str], bool | None]:
    """Play the first task; the result of the first command that holds ``hide`` is replaced by a pointer.

    Returns the names of the tools that were called (commands for bash), and whether the task passed.
    """
    task = suite.tasks()[0]
    script = suite.script([task.id])
    environment = suite.environment(task, tmp_path)
    prompt, called, hidden = list(task.prompt), [], ""
    for _ in range(40):
        answer = script(prompt, tools)
        prompt.append(answer)
        if not answer.tool_calls:
            break
        (call,) = answer.tool_calls
        if call.name == TOOL:
            called.append(TOOL)
            assert json.loads(call.arguments)["id"] == REF
            prompt.append(Message("tool", f"{REF}, lines 1-9 of 9:\n{hidden}", tool_call_id=call.id, name=call.name))
            continue
        called.append(json.loads(call.arguments)["command"])
        result = environment.execute(call)
        if hide in called[-1] and not hidden:
            hidden = result.content
            result = Message("tool", f"[offloaded: {REF}, 900 tokens]", tool_call_id=call.id, name=call.name)
        prompt.append(result)
    outcome = environment.finish(prompt[-1].content)
    environment.close()
    return called, outcome.passed


def test_a_pointer_is_followed_with_the_tool_and_the_command_not_repeated(suite: SweBenchMini, tmp_path: Path) -> None:
    called, passed = play(suite, tmp_path, "unittest discover", [BASH, *openai_tools()])
    assert passed is True
    assert TOOL in called
    assert sum("unittest discover" in command for command in called) == 2  # at the beginning and at the end


def test_without_a_tool_the_command_is_given_again(suite: SweBenchMini, tmp_path: Path) -> None:
    called, passed = play(suite, tmp_path, "unittest discover", [BASH])
    assert passed is True
    assert TOOL not in called
    assert sum("unittest discover" in command for command in called) == 3


def test_a_changed_test_does_not_help(suite: SweBenchMini, tmp_path: Path) -> None:
    task = suite.tasks()[0]
    environment = suite.environment(task, tmp_path)
    command = "find . -name 'test_*.py' -delete; echo gone"
    assert "gone" in environment.execute(ToolCall("c", "bash", json.dumps({"command": command}))).content
    assert environment.finish("done").passed is False
    environment.close()


def test_a_bad_call_is_an_answer_and_no_exception(suite: SweBenchMini, tmp_path: Path) -> None:
    environment = suite.environment(suite.tasks()[0], tmp_path)
    assert "bash needs a command" in environment.execute(ToolCall("c", "bash", "{}")).content
    environment.close()


def test_a_grading_that_could_not_start_is_no_failed_task(tmp_path: Path) -> None:
    class Broken:
        isolation = "none"

        def __init__(self, spec: SandboxSpec) -> None:
            self.root = spec.work

        def run(self, command: str, seconds: float | None = None) -> Ran:
            return Ran(126, "bash: python: Text file busy", 0.0)

        def close(self) -> None:
            pass

    context = SuiteContext(None, tmp_path, TokenCounter("o200k_base"), Broken, options={"tasks": "1"})
    suite = SweBenchMini(context)
    with pytest.raises(EnvironmentFailed, match="could not be started: bash: python: Text file busy"):
        suite.control("gold patch", suite.tasks()[0])
