"""What was decided about messages of the history, on disk before it is shown, and applied again after a restart.

A decision names a message by its index in the host's history and by a mark of its content, so that a history
that was edited is noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agentmem.errors import EvidenceCorrupt
from agentmem.messages import Message, ToolCall, sent_text
from agentmem.offload.index import Journal

FILE = "decisions.jsonl"
Action = Literal["show", "drop"]


@dataclass(frozen=True, slots=True)
class Decision:
    """``drop`` leaves message ``at`` out; ``show`` puts other content or other call arguments in its place.

    ``content`` and ``arguments`` (one JSON text a call) are None where they stay as they are. ``key`` names the entry
    that stands behind a shown summary.
    """

    at: int
    mark: str
    action: Action
    content: str | None = None
    refs: tuple[str, ...] = ()
    arguments: tuple[str, ...] | None = None
    key: str | None = None


def mark(message: Message) -> str:
    """Twelve hex digits of what is sent of a message."""
    text = f"{message.role}\0{message.tool_call_id}\0{sent_text(message)}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def shown(message: Message, decision: Decision) -> Message:
    """The message as a ``show`` decision says."""
    calls = message.tool_calls
    if decision.arguments is not None:
        calls = tuple(ToolCall(call.id, call.name, text) for call, text in zip(calls, decision.arguments, strict=True))
    content = message.content if decision.content is None else decision.content
    return replace(message, content=content, tool_calls=calls, refs=message.refs + decision.refs)


def apply(history: Sequence[Message], decisions: Mapping[int, Decision]) -> list[Message]:
    """The history as decided; nothing in it is changed. Later decisions about a message replace earlier ones."""
    prompt: list[Message] = []
    for index, message in enumerate(history):
        decision = decisions.get(index)
        if decision is None:
            prompt.append(message)
        elif decision.action == "show":
            prompt.append(shown(message, decision))
    return prompt


class Decisions:
    """The decisions of one session by index. Every one is on disk before it is seen here."""

    def __init__(self, folder: Path, durable: bool = True) -> None:
        self._journal = Journal(folder / FILE, durable)
        self.by_index: dict[int, Decision] = {}
        for number, row in enumerate(self._journal.rows, 1):
            self._read(row, number)
        self._journal.rows.clear()

    def add(self, decisions: Iterable[Decision]) -> None:
        """Store decisions, all or none. Raises ``EvidenceWriteFailed``."""
        fresh = list(decisions)
        self._journal.extend(_row(decision) for decision in fresh)
        self.by_index.update((decision.at, decision) for decision in fresh)

    def forget_from(self, index: int) -> None:
        """Drop the decisions about this and later messages: the history is no longer the one they were made for."""
        self._journal.append({"forget": index})
        self._forget(index)

    def first_mismatch(self, history: Sequence[Message]) -> int | None:
        """Index of the first decided message that is missing from the history or is another one now."""
        for index in sorted(self.by_index):
            if index >= len(history) or mark(history[index]) != self.by_index[index].mark:
                return index
        return None

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _read(self, row: Mapping[str, Any], number: int) -> None:
        try:
            if "forget" in row:
                self._forget(int(row["forget"]))
                return
            fields = dict(row)
            for name in ("refs", "arguments"):
                if fields.get(name) is not None:
                    fields[name] = tuple(fields[name])
            decision = Decision(**fields)
        except (TypeError, ValueError) as error:
            raise EvidenceCorrupt(f"{self._journal.path}: line {number} is no decision ({error})") from error
        self.by_index[decision.at] = decision

    def _forget(self, index: int) -> None:
        self.by_index = {at: decision for at, decision in self.by_index.items() if at < index}


def _row(decision: Decision) -> dict[str, Any]:
    row: dict[str, Any] = {"at": decision.at, "mark": decision.mark, "action": decision.action}
    for name in ("content", "arguments", "key"):
        if getattr(decision, name) is not None:
            row[name] = getattr(decision, name)
    if decision.refs:
        row["refs"] = decision.refs
    return row
