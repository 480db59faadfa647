"""File tools for a model, inside one folder that no path leaves. memory_core.md B11.

Names are plain file names that end in ``.md``: no folders, no links, nothing absolute. What a tool refuses comes back
as text, so that the model can do better; it is never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmem.errors import BadAnswer
from agentmem.llm.protocol import Ask, LanguageModel
from agentmem.longterm.profile import write_whole
from agentmem.messages import Message, ToolCall

MAX_STEPS = 20  # memory_core.md C1
MAX_CHARS = 20_000  # of one file


class Refused(Exception):
    """A tool call that is not allowed or makes no sense; the text is told to the model."""


class Sandbox:
    """The files of one folder. ``only`` limits them to certain names; ``calls`` counts what was called."""

    def __init__(self, folder: Path, only: Sequence[str] | None = None) -> None:
        self.folder = folder
        self.only = None if only is None else frozenset(only)
        self.calls = 0
        self._tools: dict[str, Callable[..., str]] = {
            "list_files": self._list,
            "read_file": self._read,
            "write_file": self._write,
            "edit_file": self._edit,
        }

    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """The tools in OpenAI's schema."""
        path = {"path": {"type": "string", "description": "a file name such as moving-house.md"}}
        text = {"content": {"type": "string"}}
        pair = {"old": {"type": "string", "description": "text that occurs once"}, "new": {"type": "string"}}
        return (
            _tool("list_files", "Names of all files.", {}),
            _tool("read_file", "The whole text of a file.", path),
            _tool("write_file", "Create a file, or replace all of it.", path | text),
            _tool("edit_file", "Replace one passage of a file.", path | pair),
        )

    def call(self, call: ToolCall) -> str:
        """Run one call; a refusal begins with "refused:"."""
        self.calls += 1
        try:
            tool = self._tools.get(call.name)
            if tool is None:
                raise Refused(f"there is no tool {call.name}; there are {', '.join(self._tools)}")
            arguments = json.loads(call.arguments or "{}")
            if not isinstance(arguments, dict):
                raise Refused("arguments must be an object")
            return tool(**arguments)
        except Refused as error:
            return f"refused: {error}"
        except (TypeError, ValueError) as error:
            return f"refused: wrong arguments: {error}"

    def path(self, name: str) -> Path:
        """The path of a file. Raises ``Refused`` for anything but a plain name inside the folder."""
        if not isinstance(name, str) or not name or Path(name).name != name or "\\" in name or "\0" in name:
            raise Refused(f"{name!r} is no plain file name")
        if not name.endswith(".md") or name.startswith(".") or len(name.encode()) > 200:
            raise Refused(f"{name!r} must end in .md, must not begin with a dot, and must be short")
        if self.only is not None and name not in self.only:
            raise Refused(f"{name!r} is not one of {', '.join(sorted(self.only))}")
        path = self.folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise Refused(f"{name!r} is no ordinary file")
        if path.resolve().parent != self.folder.resolve():
            raise Refused(f"{name!r} lies outside of the folder")
        return path

    def _list(self) -> str:
        names = sorted(path.name for path in self.folder.glob("*.md") if path.is_file() and not path.is_symlink())
        return "\n".join(names) or "(no files)"

    def _read(self, path: str) -> str:
        file = self.path(path)
        if not file.exists():
            raise Refused(f"there is no file {path!r}; use list_files")
        return file.read_text(encoding="utf-8")

    def _write(self, path: str, content: str) -> str:
        file = self.path(path)
        if not isinstance(content, str) or len(content) > MAX_CHARS:
            raise Refused(f"content must be a text of at most {MAX_CHARS} characters")
        write_whole(file, content)
        return f"wrote {len(content)} characters"

    def _edit(self, path: str, old: str, new: str) -> str:
        text = self._read(path)
        if not isinstance(old, str) or not isinstance(new, str) or not old:
            raise Refused("old and new must be texts, and old must not be empty")
        if text.count(old) != 1:
            raise Refused(f"old occurs {text.count(old)} times; it must occur once")
        return self._write(path, text.replace(old, new))


def work_with_files(model: LanguageModel, sandbox: Sandbox, ask: Ask, max_steps: int = MAX_STEPS) -> str:
    """Let a model use the tools until it answers with text; returns that text, empty when the steps ran out.

    Raises ``ModelError``. A model that ends without text but has called tools is done.
    """
    messages = list(ask.messages)
    used = False
    for _ in range(max_steps):
        try:
            reply = model.ask(
                Ask(tuple(messages), ask.task, ask.timeout, ask.max_tokens, ask.temperature, sandbox.tools())
            )
        except BadAnswer:
            if used:
                return ""
            raise
        if not reply.tool_calls:
            return reply.text
        used = True
        messages.append(Message("assistant", reply.text, tool_calls=reply.tool_calls))
        for call in reply.tool_calls:
            messages.append(Message("tool", sandbox.call(call), tool_call_id=call.id))
    return ""


def _tool(name: str, description: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
