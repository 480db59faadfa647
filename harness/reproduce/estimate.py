"""What a live run would cost, before it starts: calls, tokens, money and hours, each with where the figure is from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.models.budget import Prices
from harness.reproduce.published import Published
from harness.reproduce.recipes import LivePart
from harness.types import Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """One arm of one row. ``most`` is the price with nothing cached, ``likely`` with the cache share of the replay;
    money is None without prices. ``source`` says where the tokens are from."""

    arm: str
    calls: int
    prompt: int
    completion: int
    cached: int | None
    most: float | None
    likely: float | None
    hours: float
    source: str


def estimates(
    live: LivePart,
    published: Published,
    measured: Mapping[str, Mapping[str, Any]],
    prices: Prices | None,
    seconds: float,
    concurrency: int,
    tasks: int | None = None,
) -> list[Estimate]:
    """One estimate an arm. ``measured`` maps an arm to its record of the replay, where there is one; ``tasks`` is how
    many are played (all, when None)."""
    played = min(tasks or live.tasks, live.tasks)
    share = played / live.tasks
    repeats = _repeats(live)
    at_once = max(1, min(concurrency, math.ceil(played / live.per_session) * repeats * len(live.arms)))
    found = []
    for arm in live.arms:
        prompt, completion, cached, source = _tokens(arm, live, published, measured)
        calls = round(live.calls * share * repeats)
        prompt, completion = round(prompt * share), round(completion * share)
        cached = None if cached is None else round(cached * share)
        found.append(
            Estimate(
                arm,
                calls,
                prompt,
                completion,
                cached,
                None if prices is None else prices.of(Usage(prompt, 0, completion)),
                None if prices is None or cached is None else prices.of(Usage(prompt, cached, completion)),
                calls * seconds / at_once / 3_600,
                source,
            )
        )
    return found


def most_of(found: list[Estimate]) -> float | None:
    """The highest price of all arms together; None without prices."""
    prices = [one.most for one in found if one.most is not None]
    return sum(prices) if len(prices) == len(found) else None


def _repeats(live: LivePart) -> int:
    words = list(live.options)
    return int(words[words.index("--repeats") + 1]) if "--repeats" in words else 1


def _tokens(
    arm: str, live: LivePart, published: Published, measured: Mapping[str, Mapping[str, Any]]
) -> tuple[int, int, int | None, str]:
    """Prompt, completion and cached tokens of an arm: from the replay, else from the published totals, else a guess."""
    record = measured.get(arm)
    if record is not None:
        memory = record["memory_tokens"]
        return record["prompt_tokens"] + memory, record["completion_tokens"], record["cached_tokens"], "the replay"
    total = published.tokens_baseline if arm == "full" else published.tokens_treatment
    if total is not None:
        return round(total * 1e6 * 0.98), round(total * 1e6 * 0.02), None, "the published total, 2 % of it answers"
    return live.calls * 32_000, live.calls * 300, None, "a guess of 32,000 tokens a call"


def likely_of(found: list[Estimate]) -> float | None:
    """The price of all arms together with the cache where its share is known; None without prices."""
    prices = [one.likely if one.likely is not None else one.most for one in found]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(found) else None
