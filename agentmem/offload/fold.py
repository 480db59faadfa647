"""Folded steps of one task: a line each under a canvas node, older lines in chunks, all with a pointer.

The block stands behind the request of the task. A line names the call, what its result said in a few words, and where
the whole result lies; a chunk is a file that holds its steps whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentmem.messages import Message, sent_text
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.summaries import short_call
from agentmem.tokens import Counter

TITLE = "Earlier steps of this task, oldest first (the pointer leads to the whole result):"
CALL = 80  # characters of the call in a line


@dataclass(frozen=True, slots=True)
class Step:
    """One message of the model with its results, whole and as they were shown; ``refs`` has each result's pointer."""

    messages: tuple[Message, ...]
    shown: tuple[Message, ...]
    refs: tuple[str, ...]
    node: str = ""  # on the canvas of the task


@dataclass(frozen=True, slots=True)
class Line:
    """What is shown of a folded step."""

    text: str
    step: Step
    tokens: int


class Folded:
    """The folded steps of one task. The block takes about ``budget`` tokens, a line at most ``width``."""

    def __init__(self, store: EvidenceStore, counter: Counter, budget: int, width: int) -> None:
        self._store = store
        self._counter = counter
        self._budget = budget
        self._extractive = Extractive(counter, width)
        self._lines: list[Line] = []
        self._chunks: list[tuple[str, str]] = []  # text, ref

    def fold(self, steps: Sequence[Step]) -> Message:
        """Take in steps and return the block. The texts of results are on disk already; chunks are written here.

        Raises ``EvidenceWriteFailed`` when a chunk cannot be written; nothing has changed then.
        """
        lines = [*self._lines, *(self._line(step) for step in steps)]
        self._lines, self._chunks = self._within_budget(lines, list(self._chunks))
        text = "\n".join([TITLE, *(text for text, _ in self._chunks), *(line.text for line in self._lines)])
        refs = [ref for _, ref in self._chunks] + [ref for line in self._lines for ref in line.step.refs]
        return Message("user", text, kind="canvas", refs=tuple(dict.fromkeys(refs)))

    def _line(self, step: Step) -> Line:
        call, *results = step.shown  # what was shown is short already: its extract is made quickly
        action = " ".join(each.values() for each in call.tool_calls) or last_block(call.content)
        held = " | ".join(self._extractive.extract(said(result)).text for result in results)
        refs = " ".join(step.refs)
        text = f"{step.node} {short_call(action, CALL)} => {' '.join(held.split())} {refs}".strip()
        return Line(text, step, self._counter.text(text) + 1)

    def _within_budget(
        self, lines: list[Line], chunks: list[tuple[str, str]]
    ) -> tuple[list[Line], list[tuple[str, str]]]:
        if sum(line.tokens for line in lines) <= self._budget:
            return lines, chunks
        # half of the budget, so that the next steps find room and the block changes rarely
        left = self._budget // 2
        keep = 0
        for line in reversed(lines):
            left -= line.tokens
            if left < 0:
                break
            keep += 1
        old = lines[: len(lines) - keep]
        ref = self._store.put("\n\n".join(_whole(line.step) for line in old))
        nodes = " to ".join(dict.fromkeys(filter(None, (old[0].step.node, old[-1].step.node))))
        return lines[len(lines) - keep :], [*chunks, (f"{nodes} {len(old)} steps, whole: {ref}".strip(), ref)]


def _whole(step: Step) -> str:
    return "\n".join(f"[{'result' if m.is_result else m.role}] {sent_text(m)}" for m in step.messages)


def said(result: Message) -> str:
    """A result without the line that says where it lies."""
    return result.content.partition("\n")[2] if result.refs else result.content


def last_block(content: str) -> str:
    """The last fenced block of a message, or all of it."""
    parts = content.rsplit("```", 2)
    return parts[1].partition("\n")[2] if len(parts) == 3 else content
