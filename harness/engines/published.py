"""``published``: the upstream policy at its published defaults, on this package's mechanism.

Below half of the window nothing is done. From 0.5 on, results of the oldest 70 % give way to their summaries, from
score 7 down, at least ten at a time; from 0.85 on the head of the history goes; from 0.95 on everything goes that
may, down to 0.6. Summaries are extracts, since a replay has no model. A replacement that would be longer than the
original is left out (``mode=guarded``) or made all the same, as upstream does (``mode=reference``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message
from agentmem.offload.decisions import Decision
from agentmem.offload.deletion import aggressive, emergency
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.mild import MildRules, StandIn, mild
from agentmem.offload.prompt import Item, Prompt
from agentmem.offload.reference.summary_text import compact_call, summary_of
from harness.engines.base import Engine, Parameters
from harness.protocols import EngineContext
from harness.types import Usage

REMOVED = "[Earlier messages of this session were removed to keep the context within its limit.]"
CUT = "[Tool output truncated for context management. Original ~{tokens} tokens, role={role}, result_ref: {ref}]"
# what upstream's own calls are told: a summary call sees 2,000 characters of each result and its call, and answers
# with about 90 tokens a result; instructions and recent context take about 1,500 tokens
PROMPT, RESULT, ANSWER = 1_500, 2_000, 90


class PublishedParameters(Parameters):
    """The published defaults. Ratios are of the window."""

    mild: float = Field(0.5, gt=0, le=1)
    """From here on old results are replaced by their summaries."""
    aggressive: float = Field(0.85, gt=0, le=1)
    """From here on the oldest messages are removed."""
    aggressive_target: float = Field(0.85, gt=0, le=1)
    """Part of that threshold to which removing brings the prompt."""
    tail: float = Field(0.6, gt=0, le=1)
    """Share of the window that is kept when something is removed for the first time."""
    emergency: float = Field(0.95, gt=0, le=1)
    """From here on whatever may go goes."""
    emergency_target: float = Field(0.6, gt=0, le=1)
    """Share of the window that is left then."""
    scan: float = Field(0.7, gt=0, le=1)
    """Part of the list, oldest first, whose results may be replaced."""
    batch: int = Field(10, ge=1)
    """Replacements after which the score threshold stops falling."""
    pending: int = Field(4, ge=1)
    """Results that are summarised together; newer ones have no summary yet."""
    summary: int = Field(90, ge=10)
    """Tokens of a summary."""
    mode: Literal["guarded", "reference"] = "guarded"
    """Whether a replacement that is no shorter is made (``reference``) or not."""
    charge: bool = False
    """Charge an estimate of what upstream's own model calls for summaries would have used."""


class Published(Engine):
    """The upstream policy."""

    name = "published"
    Parameters = PublishedParameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self.store = EvidenceStore(context.folder, durable=False)
        self.prompt = Prompt(context.counter)
        self._extractive = Extractive(context.counter, parameters.summary)
        self._rules = MildRules(parameters.scan, batch=parameters.batch, guard=parameters.mode == "guarded")
        self._pending: list[tuple[Item, StandIn]] = []
        self._stand_ins: dict[int, StandIn] = {}
        self._removed = False
        self._forced = False
        self._usage: list[Usage] = []

    def observe(self, message: Message) -> None:
        """Results go to disk; every few of them are summarised."""
        item = self.prompt.add(message)
        if not message.is_result:
            return
        try:
            ref = self.store.put(message.content)
        except EvidenceWriteFailed:
            return  # without evidence it stays as it is
        self._pending.append((item, self._summarised(item, ref)))
        if len(self._pending) >= self.parameters.pending:
            self._flush()

    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """Removing, replacing, emergency, in upstream's order."""
        window, limits = self.context.window, self.parameters
        removing = math.floor(window * limits.aggressive)
        if self.prompt.tokens >= removing:
            target = (
                math.floor(removing * limits.aggressive_target) if self._removed else math.floor(window * limits.tail)
            )
            self._remove(aggressive(self.prompt, target))
        if self.prompt.tokens >= math.floor(window * limits.mild):
            self.prompt.apply(mild(self.prompt, self._stand_in, 0, self._rules))
        if self._forced or self.prompt.tokens >= math.floor(window * limits.emergency):
            self._forced = False
            self._remove(emergency(self.prompt, math.floor(window * limits.emergency_target), self._shorten))
        return self._legal(self.prompt.messages())

    def overflow(self, tokens: int) -> None:
        """As upstream: the next prompt is made in an emergency."""
        super().overflow(tokens)
        self._forced = True

    def evidence(self, ref: str) -> str:
        """The whole text behind a pointer."""
        return self.store.get(ref)

    def spent(self) -> list[Usage]:
        """An estimate of upstream's summary calls, where it is to be charged."""
        usage, self._usage = self._usage, []
        return usage

    def _summarised(self, item: Item, ref: str) -> StandIn:
        extract = self._extractive.extract(item.whole.content)
        call = self._call_of(item)
        text = summary_of({"summary": extract.text, "result_ref": ref})
        count = self.context.counter.text
        tokens = item.tokens - count(item.whole.content) + count(text)
        return StandIn(text, tokens, ref, extract.score, ref, None, compact_call(call))

    def _flush(self) -> None:
        self._stand_ins.update((item.index, stand_in) for item, stand_in in self._pending)
        if self.parameters.charge:
            self._usage.append(self._estimate())
        self._pending.clear()

    def _call_of(self, item: Item) -> str:
        calls = self.prompt.groups[item.leader][0].whole.tool_calls
        call = next((call for call in calls if call.id == item.whole.tool_call_id), None)
        return f"{call.name}({call.arguments})" if call else ""

    def _estimate(self) -> Usage:
        count = self.context.counter.text
        read = PROMPT + sum(count(item.whole.content[:RESULT]) for item, _ in self._pending)
        return Usage(
            prompt=read, completion=ANSWER * len(self._pending), prompt_from="counted", completion_from="counted"
        )

    def _stand_in(self, item: Item) -> StandIn | None:
        return self._stand_ins.get(item.index)

    def _shorten(self, item: Item) -> tuple[str, str] | None:
        try:
            ref = self.store.put(item.whole.content)
        except EvidenceWriteFailed:
            return None
        return CUT.format(tokens=item.tokens, role=item.whole.role, ref=ref), ref

    def _remove(self, decisions: list[Decision]) -> None:
        self._removed = self._removed or bool(decisions)
        self.prompt.apply(decisions)

    def _legal(self, messages: list[Message]) -> list[Message]:
        """With a note in front where the oldest message that is left is not a user's."""
        start = 1 if messages and messages[0].role == "system" else 0
        if self._removed and start < len(messages) and messages[start].role != "user":
            messages.insert(start, Message("user", REMOVED, kind="canvas"))
        return messages
