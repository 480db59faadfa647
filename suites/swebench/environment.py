"""A repository, a shell and an issue: what a SWE-bench task gives an agent, and how its patch is taken."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentmem.messages import Message, ToolCall
from harness.errors import EnvironmentFailed
from harness.protocols import Sandbox
from harness.types import Outcome

SHOWN = 10_000  # characters of a command's output that the agent is shown, half of them from each end
SYSTEM = (
    "You are a software engineer at a shell. Each command runs in a fresh process: directories and variables do not "
    "last, files do. There is no network."
)
BASH: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a bash command in the repository and return its exit code and output.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command."}},
            "required": ["command"],
        },
    },
}


def task_prompt(repo: str, problem: str) -> tuple[Message, ...]:
    """The opening of a task. No wording is prescribed; the contract is issue in, changed repository out."""
    request = (
        f"The current folder holds the repository {repo}. Resolve this issue by changing its source files (not its "
        f"tests):\n\n<issue>\n{problem.strip()}\n</issue>\n\nYour work is the state of the repository when you end."
    )
    return (Message("system", SYSTEM), Message("user", request, kind="task"))


class Repository:
    """One task's environment. ``copy`` puts the base into a folder, ``sandbox`` opens a shell on it, ``grade`` judges
    a patch somewhere else."""

    def __init__(
        self,
        copy: Callable[[Path], Path],
        sandbox: Callable[[Path], Sandbox],
        grade: Callable[[str], Outcome],
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="agentmem-task-")
        self._sandbox = sandbox(copy(Path(self._folder.name) / "repo"))
        self._grade = grade
        self._base = self._checked("git rev-parse HEAD").strip()

    def tools(self) -> list[dict[str, Any]]:
        """One tool: bash."""
        return [BASH]

    def execute(self, call: ToolCall) -> Message:
        """Run a command; its exit code and the ends of a long output come back."""
        command = json.loads(call.arguments or "{}").get("command")
        if not isinstance(command, str) or not command.strip():
            return Message("tool", "error: bash needs a command", tool_call_id=call.id, name=call.name, is_error=True)
        ran = self._sandbox.run(command)
        code = "timeout" if ran.code is None else str(ran.code)
        text = f"<returncode>{code}</returncode>\n<output>\n{shown(ran.output)}</output>"
        return Message("tool", text, tool_call_id=call.id, name=call.name, is_error=ran.code != 0)

    def finish(self, answer: str) -> Outcome:
        """Take the changes as one patch and grade it. The answer in words plays no part."""
        # against the base, since the agent may have committed; new files that git ignores are not part of it
        return self._grade(self._checked(f"git add -A . && git diff --cached --binary {self._base}"))

    def _checked(self, command: str) -> str:
        ran = self._sandbox.run(command)
        if ran.code != 0 or ran.cut:
            raise EnvironmentFailed(f"{command!r} failed in the sandbox: {ran.output[-300:]}")
        return ran.output

    def close(self) -> None:
        """Remove the copy."""
        self._sandbox.close()
        self._folder.cleanup()


def shown(output: str, limit: int = SHOWN) -> str:
    """The output, or its two ends with the number of characters left out."""
    if output and not output.endswith("\n"):
        output += "\n"
    if len(output) <= limit:
        return output
    half = limit // 2
    left_out = len(output) - 2 * half
    return f"{output[:half]}\n[... {left_out} characters left out; narrow the command down ...]\n{output[-half:]}"
