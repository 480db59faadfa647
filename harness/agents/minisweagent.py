"""Somebody else's agent under test: ``mini-swe-agent`` from PyPI, every query of which goes through the engine.

An extra (``pip install agentmem-bench[mini]``), imported when it is used. Its own prompts and control flow are kept;
only its model and its shell are ours.
"""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentmem.errors import AgentMemError
from agentmem.messages import Message, ToolCall
from harness.agents.conversation import Conversation
from harness.agents.dialogue import FencedText
from harness.agents.loop import Ended, Limits
from harness.errors import UsageError
from harness.models.budget import Prices
from harness.protocols import Environment
from harness.types import Episode, Task

NAME = "mini-swe-agent"
BLOCK = re.compile(r"```(?:mswea_bash_command|bash)\s*\n(.*?)\n?```", re.DOTALL)
ENGINE_TOOL = re.compile(r"@(\w+)[ \t]*(.*)", re.DOTALL)
COMPLAINT = "Your answer holds {count} command blocks. Exactly one is needed; nothing was run."


class _Text(FencedText):
    name = NAME


class MiniSweAgent:
    """Plays tasks with the DefaultAgent of mini-swe-agent, one after another in one conversation.

    Raises ``UsageError`` when the package is not installed.
    """

    def __init__(self, limits: Limits = Limits(), prices: Prices = Prices()) -> None:
        self.dialogue = _Text()
        self.limits = limits
        self._prices = prices
        self._agent, self._exceptions, self._config = _imported()

    def play(
        self,
        conversation: Conversation,
        task: Task,
        environment: Environment,
        earlier: Callable[[], Sequence[Episode]] = tuple,
    ) -> Ended:
        """Play one task to its end. Raises what model and environment raise."""
        if not any(tool["function"]["name"] == "bash" for tool in environment.tools()):
            raise UsageError(f"{NAME} needs a suite with a shell")
        model = _Bridge(self, conversation, earlier)
        shell = _Shell(self, conversation, environment)
        system = self._config["system_template"] + _engine_tools(conversation)
        agent = self._agent(
            model,
            shell,
            system_template=system,
            instance_template=self._config["instance_template"],
            step_limit=self.limits.steps,
            cost_limit=self.limits.cost or 0,
            wall_time_limit_seconds=int(self.limits.seconds or 0),
        )
        request = "\n\n".join(message.content for message in task.prompt if message.role == "user")
        left = agent.run(request)
        limits = {"LimitsExceeded": "steps", "TimeExceeded": "seconds", "RepeatedFormatError": "complaints"}
        status = str(left.get("exit_status", ""))
        return Ended(str(left.get("submission", "")), agent.n_calls, limits.get(status), model.complaints)

    def cost(self, conversation: Conversation) -> float:
        """What the agent's requests of this task cost so far."""
        return sum(map(self._prices.of, conversation.spent))

    def complaint(self, text: str) -> Exception:
        """The exception by which the package gives a message back to the model."""
        error: Exception = self._exceptions.FormatError({"role": "user", "content": text, "extra": {}})
        return error

    def submitted(self, text: str) -> Exception:
        """The exception by which the package learns that the task is over."""
        extra = {"exit_status": "Submitted", "submission": text}
        error: Exception = self._exceptions.Submitted({"role": "exit", "content": text, "extra": extra})
        return error


class _Bridge:
    """The package's Model: puts what is new into the history and asks through the engine."""

    def __init__(
        self, agent: MiniSweAgent, conversation: Conversation, earlier: Callable[[], Sequence[Episode]]
    ) -> None:
        self.config = SimpleNamespace(model_name=conversation.model.name)
        self.complaints = 0
        self._agent, self._conversation, self._earlier = agent, conversation, earlier
        self._seen = 0

    def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        """Answer the messages; only those that were added since the last query are new."""
        conversation = self._conversation
        for message in messages[self._seen :]:
            self._add(message)
        self._seen = len(messages) + 1  # and the answer, which the package adds itself
        before = self._agent.cost(conversation)
        answer = conversation.ask()
        blocks = BLOCK.findall(answer.content)
        cost = self._agent.cost(conversation) - before
        if len(blocks) != 1:
            self.complaints += 1
            self._seen = len(messages)  # an answer without a command is not among the package's messages
            raise self._agent.complaint(COMPLAINT.format(count=len(blocks)))
        extra = {"actions": [{"command": blocks[0]}], "cost": cost}
        return {"role": "assistant", "content": answer.content, "extra": extra}

    def format_message(self, **fields: Any) -> dict[str, Any]:
        """Unchanged."""
        return fields

    def format_observation_messages(
        self, message: dict[str, Any], outputs: list[dict[str, Any]], template_vars: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """A user message an output; the environment has written it as the model is to read it."""
        return [{"role": "user", "content": output["output"], "extra": {}} for output in outputs]

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        """For its prompt templates."""
        return {"model_name": self.config.model_name}

    def serialize(self) -> dict[str, Any]:
        """For its trajectory."""
        return {"info": {"config": {"model": {"model_name": self.config.model_name}}}}

    def _add(self, message: dict[str, Any]) -> None:
        conversation = self._conversation
        first = self._seen == 0
        if message["role"] == "system":
            if not conversation.history:
                conversation.add(Message("system", message["content"]))
        elif message["role"] == "user" and first:
            conversation.open_task(self._earlier())
            conversation.add(Message("user", message["content"], kind="task"))
        else:
            conversation.add(Message("user", message["content"], kind="observation"))


class _Shell:
    """The package's Environment: commands go to the suite's sandbox, ``@NAME {json}`` to the engine's tools."""

    def __init__(self, agent: MiniSweAgent, conversation: Conversation, environment: Environment) -> None:
        self.config = SimpleNamespace()
        self._agent, self._conversation, self._environment = agent, conversation, environment
        self._own = {tool["function"]["name"] for tool in conversation.engine.tools()}

    def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
        """Run one action; a line that hands in ends the task."""
        command = action.get("command", "")
        asked = ENGINE_TOOL.match(command.strip())
        if asked and asked[1] in self._own:
            return {"output": self._drill(asked[1], asked[2].strip() or "{}"), "returncode": 0, "exception_info": ""}
        call = ToolCall("text", "bash", json.dumps({"command": command}, ensure_ascii=False))
        message = self._environment.execute(call)
        handed_in = self._agent.dialogue.submitted(message)
        if handed_in is not None:
            raise self._agent.submitted(handed_in)
        return {"output": message.content, "returncode": int(message.is_error), "exception_info": ""}

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        """The names of the machine; no variable of ours."""
        return dict(platform.uname()._asdict())

    def serialize(self) -> dict[str, Any]:
        """For its trajectory."""
        return {"info": {"config": {"environment": {}}}}

    def _drill(self, name: str, arguments: str) -> str:
        try:
            return self._conversation.engine.call(ToolCall("text", name, arguments))
        except AgentMemError as error:  # a wrong ref is for the model to correct
            return f"error: {error}"


def _engine_tools(conversation: Conversation) -> str:
    tools = conversation.engine.tools()
    if not tools:
        return ""
    lines = [f"- @{tool['function']['name']}: {tool['function'].get('description', '')}" for tool in tools]
    return "\n\nA command block may instead be one line `@NAME {json arguments}` with one of:\n" + "\n".join(lines)


def _imported() -> tuple[Any, Any, dict[str, Any]]:
    """The agent class, the exceptions and the prompts of the package, without its banner, its user configuration
    and the look-up of prices that its usual model makes."""
    quiet = {"MSWEA_SILENT_STARTUP": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    os.environ.update({name: value for name, value in quiet.items() if name not in os.environ})
    os.environ.setdefault("MSWEA_GLOBAL_CONFIG_DIR", tempfile.mkdtemp(prefix="agentmem-mini-"))
    try:
        yaml = import_module("yaml")  # comes with the package
        from minisweagent import exceptions, package_dir
        from minisweagent.agents.default import DefaultAgent
    except ImportError as error:
        raise UsageError(f"{NAME} is not installed ({error}): pip install 'agentmem-bench[mini]'") from None
    config = yaml.safe_load((Path(package_dir) / "config" / "default.yaml").read_text(encoding="utf-8"))
    return DefaultAgent, exceptions, config["agent"]
