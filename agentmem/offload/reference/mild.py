"""The mild stage: results of the oldest part are replaced by their summaries, best scores first (A13)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentmem.offload.reference.fast_path import shorten_inputs
from agentmem.offload.reference.script import cut
from agentmem.offload.reference.shape import Raw, bare, by_id, call_ids, find, has, is_result, only_calls, result_id
from agentmem.offload.reference.summary_text import replace_result

MINIMUM = 10  # replacements after which the cascade stops
FIRST, LAST = 7, 1  # thresholds of the score
SCORE = 5  # of an entry without one
PREVIEW = 60


@dataclass(slots=True)
class Mild:
    """The new list and what was done. ``ids`` repeats an id that was replaced on two ways."""

    messages: list[Raw]
    count: int = 0
    ids: list[str] = field(default_factory=list)
    last: str | None = None
    threshold: int = FIRST
    details: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    score: float


def cascade(
    messages: Sequence[Raw],
    entries: Iterable[Raw],
    scan_ratio: float = 0.7,
    minimum: int = MINIMUM,
    first: int = FIRST,
) -> Mild:
    """Replace by falling score threshold until at least ``minimum`` were replaced. One pass, no look at tokens."""
    run = _Run(list(messages), by_id(entries), first)
    candidates = run.candidates(math.floor(len(messages) * scan_ratio))
    if not candidates:
        return run.done
    for threshold in range(first, LAST - 1, -1):
        run.done.threshold = threshold
        for candidate in candidates:
            if candidate.score >= threshold and not run.messages[candidate.index].get("_offloaded"):
                run.take(candidate)
        if run.done.count >= minimum:
            break
    run.shorten_calls()
    return run.done


class _Run:
    def __init__(self, messages: list[Raw], table: dict[str, Raw], first: int) -> None:
        self.messages = messages
        self.table = table
        self.done = Mild(messages, threshold=first)
        self._results: dict[str, int] = {}  # a later result of the same id wins
        self._callers: dict[str, int] = {}
        for index, message in enumerate(messages):
            call = result_id(message)
            if is_result(message) and call:
                self._results[call] = self._results[bare(call)] = index
            if only_calls(message):
                for other in call_ids(message):
                    self._callers[other] = self._callers[bare(other)] = index

    def candidates(self, scanned: int) -> list[_Candidate]:
        """Results and call-only messages of the first ``scanned`` that have entries, best scores first."""
        found = []
        for index, message in enumerate(self.messages[:scanned]):
            if message.get("_offloaded"):
                continue
            call = result_id(message)
            ids = [call] if is_result(message) and call else call_ids(message) if only_calls(message) else []
            entries = [find(self.table, other) for other in ids]
            if entries and all(entries):
                found.append(_Candidate(index, min(_score(entry) for entry in entries if entry)))
        return sorted(found, key=lambda candidate: -candidate.score)

    def take(self, candidate: _Candidate) -> None:
        """Replace a result, or shorten a call-only message together with all its results."""
        if is_result(self.messages[candidate.index]):
            self._take_result(candidate)
        else:
            self._take_caller(candidate)

    def _take_caller(self, candidate: _Candidate) -> None:
        ids = call_ids(self.messages[candidate.index])
        self._shorten(candidate.index)
        self.done.count += 1
        self.done.last = ids[0]
        for call in ids:
            entry = self.table.get(call) or self.table[bare(call)]
            self.done.ids.append(call)
            self.done.details.append(_detail(call, candidate.score, entry))
            index = self._results.get(call, self._results.get(bare(call)))
            if index is not None and not self.messages[index].get("_offloaded"):
                self.messages[index] = {**replace_result(self.messages[index], entry).message, "_offloaded": True}
                self.done.count += 1

    def _take_result(self, candidate: _Candidate) -> None:
        call = result_id(self.messages[candidate.index]) or ""
        entry = find(self.table, call) or {}
        replaced = replace_result(self.messages[candidate.index], entry)
        self.messages[candidate.index] = {**replaced.message, "_offloaded": True}
        if replaced.summary > replaced.original:
            return  # upstream neither counts it nor puts the original back
        self.done.count += 1
        self.done.ids.append(call)
        self.done.last = call
        lengths = {"originalLength": replaced.original, "summaryLength": replaced.summary}
        self.done.details.append({**_detail(call, candidate.score, entry), **lengths})
        caller = self._callers.get(call, self._callers.get(bare(call)))
        if caller is None or self.messages[caller].get("_offloaded"):
            return
        if all(has(self.done.ids, other) for other in call_ids(self.messages[caller])):
            self._shorten(caller)
            self.done.count += 1

    def _shorten(self, index: int) -> None:
        ids = call_ids(self.messages[index])
        entries = {call: find(self.table, call) for call in ids}
        self.messages[index] = {**shorten_inputs(self.messages[index], entries), "_offloaded": True}

    def shorten_calls(self) -> None:
        """Shorten the inputs of every replaced id, in whatever message it stands."""
        replaced = set(self.done.ids)
        for index, message in enumerate(self.messages):
            ids = [call for call in call_ids(message) if has(replaced, call)]
            if ids:
                self.messages[index] = shorten_inputs(message, {call: find(self.table, call) for call in ids})


def _score(entry: Raw) -> float:
    score = entry.get("score")
    return SCORE if score is None else float(score)


def _detail(call: str, score: float, entry: Raw) -> dict[str, Any]:
    preview = cut(entry.get("summary") or "", PREVIEW)
    return {"toolCallId": call, "score": int(score) if score == int(score) else score, "summaryPreview": preview}
