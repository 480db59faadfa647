"""The server's aggressive and emergency stages: long results cut, then results, then other messages from the head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentmem.offload.reference.counting import Count
from agentmem.offload.reference.script import cut
from agentmem.offload.reference.server.mild import without_calls
from agentmem.offload.reference.server.shape import (
    asked_ids,
    is_reminder,
    last_asked,
    result_ids,
    result_length,
    result_text,
    with_result_text,
)
from agentmem.offload.reference.server.tokens import exact
from agentmem.offload.reference.shape import Raw, calls, content, is_canvas, role

LONG = 2_000  # characters of a result that stay
LEAST = 10  # messages that stay, canvases not counted
_CUT = "\n\n[... content truncated, only first 2000 characters retained ...]"


@dataclass(slots=True)
class Compressed:
    """The new list with the tokens of each message, what went, and the total left in the client's tokens."""

    messages: list[Raw]
    tokens: list[int]
    count: int = 0
    ids: list[str] = field(default_factory=list)
    total: int = 0


def aggressive(
    messages: Sequence[Raw], target: int, tokens: Sequence[int] | None, client_total: int | None, count: Count
) -> Compressed:
    """Bring the total to ``target`` tokens of the client; ``tokens`` are local and scaled by its total."""
    return _Run(messages, tokens, client_total, count).run(target)


def emergency(
    messages: Sequence[Raw], target: int, tokens: Sequence[int] | None, client_total: int | None, count: Count
) -> Compressed:
    """The same with the canvases taken out first and put back at the head, one in front of the other."""
    known = _counted(messages, tokens, count)
    pairs = list(zip(messages, known, strict=True))
    rest = [pair for pair in pairs if not is_canvas(pair[0])]
    canvases = [pair for pair in pairs if is_canvas(pair[0])]
    work = _Run([m for m, _ in rest], [t for _, t in rest], client_total, count)
    early = work.total <= target
    done = work.run(target)
    for message, size in canvases:
        done.messages.insert(0, message)
        done.tokens.insert(0, size)
    if early:
        done.total += sum(size for _, size in canvases)
    return done


def _counted(messages: Sequence[Raw], tokens: Sequence[int] | None, count: Count) -> list[int]:
    if tokens and any(tokens):
        return list(tokens)
    return [exact(message, count) for message in messages]


class _Run:
    def __init__(
        self, messages: Sequence[Raw], tokens: Sequence[int] | None, client_total: int | None, count: Count
    ) -> None:
        self.messages = list(messages)
        self.tokens = _counted(messages, tokens, count)
        self.count = count
        local = sum(self.tokens)
        self.scale = client_total / local if client_total and local else 1.0
        self.total: float = client_total or local

    def run(self, target: int) -> Compressed:
        """Cut long results, then delete, until ``target`` is met."""
        if self.total > target:
            self._cut_long(target)
        if self.total > target:
            return self._delete((self.total - target) / self.scale)
        return Compressed(self.messages, self.tokens, total=math.floor(self.total + 0.5))

    def _cut_long(self, target: int) -> None:
        lengths = {
            index: result_length(message)
            for index, message in enumerate(self.messages)
            if result_ids(message) and not is_canvas(message)
        }
        for index in sorted(lengths, key=lambda index: -lengths[index]):
            if lengths[index] <= LONG or self.total <= target:
                return
            message = self.messages[index]
            old = result_text(message)
            text = (
                old if isinstance(old, str) else "\n".join(b.get("text", "") for b in old or [] if isinstance(b, dict))
            )
            self.messages[index] = with_result_text(message, cut(text, LONG) + _CUT)
            size = exact(self.messages[index], self.count)
            self.total -= (self.tokens[index] - size) * self.scale
            self.tokens[index] = size

    def _delete(self, need: float) -> Compressed:
        gone = self._with_counterparts(self._chosen(need))
        left = Compressed([], [], len(gone))
        freed = 0
        for index in sorted(gone, reverse=True):
            freed += self.tokens[index]
            left.ids += [call for call in result_ids(self.messages[index])[:1] if call not in left.ids]
        unanswered = {call for index in gone for call in result_ids(self.messages[index])}
        for index, message in enumerate(self.messages):
            if index in gone:
                continue
            stripped = without_calls(message, unanswered) if calls(message) else message
            left.messages.append(message if stripped is None else stripped)
            left.tokens.append(self.tokens[index])
        left.total = math.floor(self.total - freed * self.scale + 0.5)
        return left

    def _chosen(self, need: float) -> set[int]:
        """Indices to delete: results from the head, then whatever else may go."""
        user = last_asked(self.messages)
        stop = user if user >= 0 else len(self.messages)
        most = sum(not is_canvas(message) for message in self.messages) - LEAST
        open_ones = [i for i in range(stop) if not self._is_protected(self.messages[i])]
        results = [i for i in open_ones if result_ids(self.messages[i])]
        others = [i for i in open_ones if not result_ids(self.messages[i])]
        chosen: set[int] = set()
        freed = 0
        for index in [*results, *others]:
            if freed >= need or len(chosen) >= most:
                break
            chosen.add(index)
            freed += self.tokens[index]
        return chosen

    def _is_protected(self, message: Raw) -> bool:
        return is_canvas(message) or role(message) == "system" or is_reminder(message)

    def _with_counterparts(self, chosen: set[int]) -> set[int]:
        """With the results of deleted calls, and with calls all of whose results are deleted."""
        gone = set(chosen)
        dropped = {call for index in chosen for call in asked_ids(self.messages[index])}
        gone |= {i for i, message in enumerate(self.messages) if any(call in dropped for call in result_ids(message))}
        answered = {call for index in gone for call in result_ids(self.messages[index])}
        for index, message in enumerate(self.messages):
            asked = asked_ids(message)
            if asked and all(call in answered for call in asked) and not _has_text(message):
                gone.add(index)
        return gone


def _has_text(message: Raw) -> bool:
    """A call beside other blocks: it is stripped, and the rest stays."""
    return 0 < len(calls(message)) < len(content(message))
