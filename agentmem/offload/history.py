"""What stays of finished tasks: a line each, older ones in one line, every line with a pointer to the whole task."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message, sent_text
from agentmem.offload.evidence import EvidenceStore
from agentmem.tokens import Counter

TITLE = "Finished tasks (the pointer leads to each one's record):"
WORD = re.compile(r"[\w./-]+")
FILE = re.compile(r".*\w\.(?:py|js|ts|go|rs|java|c|h|cpp|md|toml|cfg|json|ya?ml|txt|sh|rb)")
LONGEST_PATH = 200  # characters
FILES = 3  # that a line names


class TaskHistory:
    """The lines of finished tasks, within a budget."""

    def __init__(self, store: EvidenceStore, counter: Counter, line: int, budget: int) -> None:
        self._store = store
        self._counter = counter
        self._line = line
        self._budget = budget
        self._names: list[str] = []
        self._lines: list[tuple[str, str]] = []  # text, ref
        self._block: list[Message] = []

    def begin(self, task: str) -> None:
        """A task begins."""
        self._names.append(task)

    def add(self, messages: Sequence[Message], refs: Sequence[str | None]) -> None:
        """The task that began last is finished; ``refs`` holds the pointer of each of its messages, or None."""
        number = len(self._names)
        name = self._names[-1] if self._names else f"task {number}"
        try:
            ref = self._store.put(record(messages, refs))
        except EvidenceWriteFailed:
            ref = ""
        files = touched(messages, FILES)
        text = f"{number:03d} {name}: {', '.join(files)}".rstrip(": ")
        while self._counter.text(f"{text} -> {ref}") > self._line and len(text) > 20:
            text = text[: len(text) * 4 // 5]
        self._lines.append((text, ref))
        self._block = self._make()

    def block(self) -> list[Message]:
        """The lines as one message, or nothing before the first task is finished."""
        return self._block

    def _make(self) -> list[Message]:
        lines: list[str] = []
        refs: list[str] = []
        left = self._budget - self._counter.text(TITLE) - self._line
        for text, ref in reversed(self._lines):
            line = f"{text} -> {ref}"
            left -= self._counter.text(line) + 1
            if left < 0:
                older = self._lines[: len(self._lines) - len(lines)]
                index = self._store.put("\n".join(f"{text} -> {ref}" for text, ref in older))
                lines.append(f"{len(older)} older tasks -> {index}")
                refs.append(index)
                break
            lines.append(line)
            refs.append(ref)
        content = "\n".join([TITLE, *reversed(lines)])
        return [Message("user", content, kind="canvas", refs=tuple(filter(None, reversed(refs))))]


def touched(messages: Sequence[Message], most: int) -> list[str]:
    """Files the model's own messages name, the most recent first, at most that many."""
    found: dict[str, None] = {}
    for message in reversed(messages):
        if message.role == "assistant":
            text = message.content + " ".join(call.values() for call in message.tool_calls)
            for path in filter(_is_file, reversed(WORD.findall(text))):
                found.setdefault(path)
                if len(found) == most:
                    return list(found)
    return list(found)


def record(messages: Sequence[Message], refs: Sequence[str | None]) -> str:
    """Messages as text. One with a ref is named by it, one without stands whole."""
    parts = []
    for message, ref in zip(messages, refs, strict=True):
        who = "result" if message.is_result else message.role
        parts.append(f"[{who}] {ref}" if ref else f"[{who}] {sent_text(message)}")
    return "\n".join(parts)


def _is_file(word: str) -> bool:
    return len(word) <= LONGEST_PATH and FILE.fullmatch(word) is not None
