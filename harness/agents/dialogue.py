"""How a model asks for tools: function calling, or fenced blocks in plain text as in mini-swe-agent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agentmem.messages import Message, ToolCall
from harness.errors import UnknownName

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
BLOCK = re.compile(r"```(?:bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
TOOL_LINE = re.compile(r"@(\w+)[ \t]*")


@dataclass(frozen=True, slots=True)
class Turn:
    """What an answer amounts to: calls to run, or a final answer, or a complaint that goes back to the model."""

    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    complaint: str | None = None


class Dialogue(Protocol):
    """One way of asking for tools."""

    name: str

    def system(self, text: str, tools: Sequence[Mapping[str, Any]]) -> str:
        """The system prompt, with what the model has to know about the tools."""

    def offered(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """The tools that travel in the request."""

    def read(self, answer: Message, tools: Sequence[Mapping[str, Any]]) -> Turn:
        """What an answer asks for."""

    def result(self, message: Message) -> Message:
        """A tool's result as it stands in the history."""

    def submitted(self, message: Message) -> str | None:
        """The final answer, when this result hands one in."""


class FunctionCalling:
    """Tools travel in the request; an answer without a tool call is the final one."""

    name = "functions"

    def system(self, text: str, tools: Sequence[Mapping[str, Any]]) -> str:
        """Unchanged: the request describes the tools."""
        return text

    def offered(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """All of them."""
        return tools

    def read(self, answer: Message, tools: Sequence[Mapping[str, Any]]) -> Turn:
        """The calls, else the content as the answer."""
        return Turn(calls=answer.tool_calls) if answer.tool_calls else Turn(answer=answer.content)

    def result(self, message: Message) -> Message:
        """Unchanged."""
        return message

    def submitted(self, message: Message) -> str | None:
        """Never: an answer is what ends a task here."""
        return None


class FencedText:
    """Exactly one ```bash block an answer; results come back as user messages. A block whose first line is
    ``@NAME {json}`` calls another tool, ``@submit`` hands in the lines below it."""

    name = "text"

    def system(self, text: str, tools: Sequence[Mapping[str, Any]]) -> str:
        """The prompt and the rules of the protocol."""
        return f"{text}\n\n{_rules(tools)}".strip() if tools else text

    def offered(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """None: the request holds text only."""
        return ()

    def read(self, answer: Message, tools: Sequence[Mapping[str, Any]]) -> Turn:
        """The one block; no block or several are a complaint, unless there is no tool to ask for at all."""
        if not tools:
            return Turn(answer=answer.content)
        blocks = BLOCK.findall(answer.content)
        if len(blocks) != 1:
            return Turn(
                complaint=f"Your answer holds {len(blocks)} ```bash blocks. Exactly one is needed; nothing was run."
            )
        return _block(blocks[0], {_name(tool) for tool in tools})

    def result(self, message: Message) -> Message:
        """As a user message, marked as an observation."""
        return replace(message, role="user", kind="observation", tool_call_id=None, name=None)

    def submitted(self, message: Message) -> str | None:
        """What follows the line that hands in, when it is the first line a command printed."""
        lines = _printed(message.content).lstrip().split("\n")
        return "\n".join(lines[1:]) if lines[0].strip() == SUBMIT else None


def dialogue(name: str) -> Dialogue:
    """The dialogue of that name. Raises ``UnknownName``."""
    known: dict[str, type[FunctionCalling] | type[FencedText]] = {"functions": FunctionCalling, "text": FencedText}
    if name not in known:
        raise UnknownName("agent protocol", name, [*known, "mini-swe-agent"])
    return known[name]()


def _block(block: str, names: set[str]) -> Turn:
    first, _, rest = block.partition("\n")
    match = TOOL_LINE.match(first)
    if match is None:
        if "bash" not in names:
            return Turn(complaint=f"There is no shell here. Begin the block with one of {_listed(names)} or @submit.")
        return Turn(calls=(ToolCall("text", "bash", json.dumps({"command": block}, ensure_ascii=False)),))
    name = match[1]
    if name == "submit":
        return Turn(answer=rest if rest.strip() else first[match.end() :].strip())
    arguments = (first[match.end() :] + "\n" + rest).strip() or "{}"
    return Turn(calls=(ToolCall("text", name, arguments),))


def _rules(tools: Sequence[Mapping[str, Any]]) -> str:
    shell = any(_name(tool) == "bash" for tool in tools)
    lines = ["Every answer must hold exactly one block fenced as ```bash; it is run and its result comes back to you."]
    others = [tool for tool in tools if _name(tool) != "bash"]
    if others:
        lines.append(
            "To use one of these tools instead of a command, let the block be one line `@NAME {json arguments}`:"
        )
        for tool in others:
            function = tool.get("function", {})
            fields = json.dumps(function.get("parameters", {}).get("properties", {}), ensure_ascii=False)
            lines.append(f"- @{function.get('name')}: {function.get('description', '')} Arguments: {fields}")
    if shell:
        lines.append(f"When you are done, run `echo {SUBMIT}` alone; what it prints after that line is your answer.")
    lines.append("To answer in words, let the block begin with the line `@submit`, and write the answer below it.")
    return "\n".join(lines)


def _printed(content: str) -> str:
    inside = re.search(r"<output>\n?(.*?)\n?</output>", content, re.DOTALL)
    return inside[1] if inside else content


def _name(tool: Mapping[str, Any]) -> str:
    return str(tool.get("function", {}).get("name"))


def _listed(names: set[str]) -> str:
    return ", ".join(f"@{name}" for name in sorted(names))
