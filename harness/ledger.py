"""What every call cost: rows of the ledger, sums over them, and the one function that computes denominators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import is_not
from typing import Any

from agentmem.messages import Message
from agentmem.tokens import Counter
from harness.types import Call, TaskRow

PRICES = {"uncached": 1.0, "cached": 0.1, "output": 4.0}
"""Price of a token, relative to an uncached prompt token. Close to what providers ask in 2026; see docs/measures.md."""


class Prompts:
    """Counts the prompts of one arm in one session: tokens, and the part the provider has already seen."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.shared = 0  # messages at the front of the last prompt that stood there before
        self._before: list[Message] = []
        self._sums: list[int] = [0]

    def count(self, prompt: Sequence[Message]) -> tuple[int, int]:
        """(tokens of the prompt, tokens of its longest common prefix with the previous prompt, in whole messages)."""
        now = list(prompt)
        self.shared = shared = common_prefix(self._before, now)
        del self._sums[shared + 1 :]
        new = accumulate(map(self._counter.message, now[shared:]), initial=self._sums[shared])
        next(new)
        self._sums.extend(new)
        self._before = now
        return self._sums[-1], self._sums[shared]


def common_prefix(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Length of the longest common prefix of two prompts, in messages."""
    size = min(len(one), len(other))
    # messages are shared objects, so identity settles almost every comparison
    for index, different in enumerate(map(is_not, one, other)):
        if different and one[index] != other[index]:
            return index
    return size


def price(prompt: int, cached: int, completion: int, prices: Mapping[str, float] = PRICES) -> float:
    """Cost of a call in the unit of the price table."""
    return (prompt - cached) * prices["uncached"] + cached * prices["cached"] + completion * prices["output"]


@dataclass(frozen=True, slots=True)
class Denominators:
    """How many tasks there are of each kind. ``scored`` + ``unparsable`` + ``errored`` + ``unjudged`` + ``missing`` =
    ``attempted``; a pass rate is ``passed`` / ``attempted``, so that errors stay in it."""

    attempted: int
    errored: int
    scored: int
    unparsable: int
    judged: int
    unjudged: int
    missing: int
    passed: int | None

    @property
    def error_rate(self) -> float:
        """Share of the attempted tasks that errored."""
        return self.errored / self.attempted if self.attempted else 0.0


def denominators(rows: Iterable[TaskRow]) -> Denominators:
    """The only place where tasks are counted. ``passed`` is None when no task has an outcome."""
    rows = list(rows)
    states = [row.state for row in rows]
    known = [row.passed for row in rows if row.passed is not None]
    return Denominators(
        attempted=len(rows),
        errored=states.count("errored"),
        scored=states.count("scored"),
        unparsable=states.count("unparsable"),
        judged=sum(bool(row.detail.get("judged")) for row in rows),
        unjudged=states.count("unjudged"),
        missing=states.count("missing"),
        passed=sum(known) if known else None,
    )


def task_row(calls: Sequence[Call], **identity: Any) -> TaskRow:
    """Sum the calls of one task. ``identity`` holds the fields of ``TaskRow`` that are not sums."""
    agent = [call for call in calls if call.purpose == "agent"]
    memory = [call for call in calls if call.purpose in ("memory", "embedding")]
    actions = [call for call in agent if call.needs is not None]
    measured = bool(actions)
    return TaskRow(
        calls=len(agent),
        prompt_tokens=sum(call.usage.prompt or 0 for call in agent),
        cached_tokens=_sum_known([call.usage.cached for call in agent]),
        completion_tokens=sum(call.usage.completion or 0 for call in agent),
        memory_prompt_tokens=sum(call.usage.prompt or 0 for call in memory),
        memory_completion_tokens=sum(call.usage.completion or 0 for call in memory),
        repairs=sum(call.repairs or 0 for call in actions) if measured else None,
        fetched=sum(call.fetched or 0 for call in actions) if measured else None,
        needs=sum(call.needs or 0 for call in actions) if measured else None,
        needs_not_visible=sum(len(call.missing) for call in actions) if measured else None,
        needs_lost=sum(len(call.lost) for call in actions) if measured else None,
        actions=len(actions) if measured else None,
        actions_unsupported=sum(bool(call.missing) for call in actions) if measured else None,
        peak_prompt=max((call.usage.prompt or 0 for call in agent), default=0),
        **identity,
    )


def _sum_known(figures: Sequence[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
