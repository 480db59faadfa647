"""Judges: a model asked by a suite, charged to the task, repeated where wanted, and probed before it is trusted."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentmem.messages import Message
from harness.errors import JudgeFailed, ModelFailed, ModelRefused
from harness.protocols import Model
from harness.types import Outcome, Probe, Usage

Charge = Callable[[Usage, str | None], None]
TRUSTED = 0.9  # share of the probes that a judge has to get right
_charged: contextvars.ContextVar[Charge | None] = contextvars.ContextVar("charged", default=None)


@contextlib.contextmanager
def charged_to(charge: Charge) -> Iterator[None]:
    """Every judge request of this thread is reported to ``charge`` (usage, error)."""
    token = _charged.set(charge)
    try:
        yield
    finally:
        _charged.reset(token)


class ModelJudge:
    """A chat model as a judge. The model is shared by threads; its cost goes to the task that asked."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def ask(self, messages: Sequence[Message]) -> str:
        """The raw reply. Raises ``JudgeFailed`` when there is none, or when it was cut off by its length."""
        charge = _charged.get() or (lambda usage, error: None)
        try:
            step = self.model.complete(messages)
        except ModelRefused:
            raise  # a wrong key is the user's to mend, not a task without a verdict
        except ModelFailed as error:
            for attempt in error.failed:
                charge(attempt.usage, attempt.error)
            raise JudgeFailed(str(error)) from error
        for attempt in step.failed:
            charge(attempt.usage, attempt.error)
        charge(step.usage, None)
        if step.finish == "length":
            raise JudgeFailed("the reply was cut off by the output limit")
        return step.message.content


def combine(outcomes: Sequence[Outcome]) -> Outcome:
    """The majority of repeated gradings of one answer; ``detail["votes"]`` keeps them all, None for unjudged.

    A tie counts as not passed. Without a single verdict the answer stays unjudged.
    """
    if len(outcomes) == 1:
        return outcomes[0]
    votes = [outcome.passed if outcome.state == "scored" else None for outcome in outcomes]
    given = [vote for vote in votes if vote is not None]
    if not given:
        return replace(outcomes[0], detail={**outcomes[0].detail, "votes": votes})
    passed = 2 * sum(given) > len(given)
    chosen = next(one for one in outcomes if one.state == "scored" and one.passed == passed)
    scores = [one.score for one in outcomes if one.state == "scored" and one.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    return replace(chosen, score=mean, detail={**chosen.detail, "votes": votes})


def agreement(details: Sequence[Mapping[str, Any]]) -> dict[str, float | int | None]:
    """How steady a judge was over the answers it graded more than once.

    ``agreement``: mean share of the votes that agree with the majority; ``flip_rate``: share of the answers whose
    votes differ; None without repeated gradings.
    """
    voted = [[vote for vote in detail.get("votes", ()) if vote is not None] for detail in details]
    voted = [votes for votes in voted if len(votes) > 1]
    if not voted:
        return {"graded": 0, "agreement": None, "flip_rate": None}
    shares = [max(sum(votes), len(votes) - sum(votes)) / len(votes) for votes in voted]
    flipped = sum(len(set(votes)) > 1 for votes in voted)
    return {"graded": len(voted), "agreement": sum(shares) / len(shares), "flip_rate": flipped / len(voted)}


@dataclass(frozen=True, slots=True)
class Probed:
    """What the probes showed: how many, how many right, and the ids of the wrong and of the unparsable ones."""

    total: int
    right: int
    wrong: tuple[str, ...]
    unjudged: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        """True when at least nine in ten verdicts were right."""
        return self.total == 0 or self.right >= TRUSTED * self.total


def run_probes(judge: ModelJudge, probes: Sequence[Probe], parse: Callable[[str], bool | None]) -> Probed:
    """Ask a judge about known right and wrong answers."""
    wrong: list[str] = []
    unjudged: list[str] = []
    for probe in probes:
        try:
            verdict = parse(judge.ask(probe.prompt))
        except JudgeFailed:
            verdict = None
        if verdict is None:
            unjudged.append(probe.id)
        elif verdict != probe.right:
            wrong.append(probe.id)
    right = len(probes) - len(wrong) - len(unjudged)
    return Probed(len(probes), right, tuple(wrong), tuple(unjudged))
