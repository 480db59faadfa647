"""Reading back: the tool an agent calls to get at a node, a tool call or a stored result, a slice at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from agentmem.errors import EvidenceError, EvidenceNotFound
from agentmem.messages import ToolCall
from agentmem.offload.canvas import NODE_ID
from agentmem.offload.entries import Entry
from agentmem.offload.evidence import EvidenceStore
from agentmem.tokens import Counter

TOOL = "read_memory"
LIMIT = 400  # tokens of one answer
MOST = 4_000
_LINES = re.compile(r"(\d+)(?:\s*-\s*(\d*))?")
_DESCRIPTION = (
    "Read what was moved out of the conversation. `id` is a ref (refs/....txt), a tool call id or a canvas node id "
    "(012-N3). Give `pattern` to see only matching lines with their numbers, or `lines` for a range such as 40-80."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "A ref, a tool call id or a node id."},
        "lines": {"type": "string", "description": "Lines to show, such as 40-80 or 120-."},
        "pattern": {"type": "string", "description": "Regular expression; only lines that match are shown."},
        "limit": {"type": "integer", "description": f"Tokens of the answer, at most {MOST}.", "default": LIMIT},
    },
    "required": ["id"],
}


def openai_tools() -> list[dict[str, Any]]:
    """The tool in OpenAI's schema."""
    function = {"name": TOOL, "description": _DESCRIPTION, "parameters": _PARAMETERS}
    return [{"type": "function", "function": function}]


def anthropic_tools() -> list[dict[str, Any]]:
    """The tool in Anthropic's schema."""
    return [{"name": TOOL, "description": _DESCRIPTION, "input_schema": _PARAMETERS}]


class DrillDown:
    """Answers over one session's evidence. ``entries`` is asked anew at every call; without it only refs are known."""

    def __init__(self, store: EvidenceStore, counter: Counter, entries: Iterable[Entry] = ()) -> None:
        self._store = store
        self._counter = counter
        self._entries = entries

    def call(self, call: ToolCall) -> str:
        """Run a tool call; what is wrong with it is the answer, since an agent can act on that."""
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError:
            return f"error: the arguments of {call.name} are no JSON object"
        if call.name != TOOL or not isinstance(arguments, Mapping):
            return f"error: there is no tool {call.name!r}; the tool is {TOOL!r}"
        wrong = [name for name in arguments if name not in _PARAMETERS["properties"]]
        if wrong or not isinstance(arguments.get("id"), str):
            return (
                f"error: {TOOL} takes id, lines, pattern and limit; got {', '.join(map(str, arguments)) or 'nothing'}"
            )
        try:
            return self.read(
                arguments["id"], arguments.get("lines"), arguments.get("pattern"), _limit(arguments.get("limit"))
            )
        except (EvidenceError, ValueError) as error:
            return f"error: {error}"

    def read(self, name: str, lines: str | None = None, pattern: str | None = None, limit: int = LIMIT) -> str:
        """What stands behind a ref, a tool call id or a node id, at most ``limit`` tokens.

        Raises ``EvidenceNotFound`` for an unknown id, ``ValueError`` for a range or a pattern that cannot be read.
        """
        name = name.strip()
        if NODE_ID.fullmatch(name):
            return self._node(name, lines, pattern, limit)
        if name in self._store or name.startswith("refs/") or "/" in name:
            return self._slice(name, self._store.get(name), lines, pattern, limit)
        return self._call(name, lines, pattern, limit)

    def _node(self, node: str, lines: str | None, pattern: str | None, limit: int) -> str:
        entries = [entry for entry in self._entries if entry.node_id == node]
        if not entries:
            nodes = sorted({entry.node_id for entry in self._entries if entry.node_id})
            near = get_close_matches(node, nodes, n=3, cutoff=0.3)
            raise EvidenceNotFound(f"no node {node!r}; {'nearest: ' + ', '.join(near) if near else 'there are none'}")
        if len(entries) == 1 or pattern or lines:
            each = max(40, limit // len(entries))
            shown = [self._slice(e.key, self._text(e), lines, pattern, each) for e in entries]
            return self._fit("\n".join(shown), limit)
        rows = [f"{entry.key} {entry.result_ref or '(not stored)'} {entry.tool_call}" for entry in entries]
        return self._fit("\n".join([f"{node}: {len(entries)} tool calls", *rows]), limit)

    def _call(self, name: str, lines: str | None, pattern: str | None, limit: int) -> str:
        entries = [entry for entry in self._entries if entry.key == name or entry.tool_call_id == name]
        if not entries:
            known = list(dict.fromkeys(entry.key for entry in self._entries))
            near = get_close_matches(name, known, n=3, cutoff=0.3)
            raise EvidenceNotFound(
                f"{name!r} is no ref, no tool call id and no node id of this session"
                + (f"; nearest: {', '.join(near)}" if near else "")
            )
        entry = next((entry for entry in entries if entry.key == name), entries[-1])
        head = f"{entry.key} = {entry.tool_call}"
        return self._slice(head, self._text(entry), lines, pattern, limit)

    def _text(self, entry: Entry) -> str:
        if entry.result_ref is None:
            raise EvidenceNotFound(f"the result of {entry.key!r} could not be stored; it stayed in the conversation")
        return self._store.get(entry.result_ref)

    def _slice(self, name: str, text: str, lines: str | None, pattern: str | None, limit: int) -> str:
        all_lines = text.split("\n")
        first, last = line_range(lines, len(all_lines))
        chosen = list(enumerate(all_lines[first - 1 : last], first))
        if pattern:
            try:
                wanted = re.compile(pattern)
            except re.error as error:
                raise ValueError(f"pattern {pattern!r} cannot be read: {error}") from error
            chosen = [(number, line) for number, line in chosen if wanted.search(line)]
            if not chosen:
                return f"{name}: none of lines {first}-{last} matches {pattern!r}"
            shown = [f"{number}: {line}" for number, line in chosen]
        else:
            shown = [line for _, line in chosen]
        return self._fit_lines(name, shown, [number for number, _ in chosen], len(all_lines), limit)

    def _fit_lines(self, name: str, shown: list[str], numbers: list[int], total: int, limit: int) -> str:
        """As many lines as fit, and where to go on."""
        count = len(shown)
        while True:
            more = (
                f"\n[lines {numbers[count]}-{numbers[-1]} follow: ask for lines {numbers[count]}-]"
                if count < len(shown)
                else ""
            )
            span = f"{numbers[0]}-{numbers[count - 1]} of {total}" if numbers else f"0 of {total}"
            text = f"{name}, lines {span}:\n" + "\n".join(shown[:count]) + more
            if count <= 1 or self._counter.text(text) <= limit:
                return self._fit(text, limit)
            count = max(1, min(count - 1, count * limit // max(1, self._counter.text(text))))

    def _fit(self, text: str, limit: int) -> str:
        cut = text
        while cut and self._counter.text(cut) > limit:
            cut = cut[: len(cut) * 4 // 5]
        return cut if cut == text else cut[:-1] + "…"


def _limit(given: object) -> int:
    if given is None:
        return LIMIT
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MOST:
        return given
    raise ValueError(f"limit should be a number from 1 to {MOST}, got {given!r}")


def line_range(lines: object, total: int) -> tuple[int, int]:
    """First and last line of a range such as ``40-80``, ``40-`` or ``40``, counted from 1. Raises ``ValueError``."""
    if lines is None or lines == "":
        return 1, total
    found = _LINES.fullmatch(str(lines).strip())
    if not found:
        raise ValueError(f"lines should be a range such as 40-80, got {lines!r}")
    first = int(found[1])
    last = first if found[2] is None else int(found[2]) if found[2] else total
    if not 1 <= first <= total or last < first:
        raise ValueError(f"lines {lines} are not in a text of {total} lines")
    return first, min(last, total)
