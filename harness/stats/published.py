"""What printed percentages allow to conclude: arithmetic checks, and task counts that could have produced them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from harness.errors import StatisticsError

ROUND_SIZES = (30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 589, 600, 731, 1000)
"""Task counts one would guess first: round numbers, and sizes of known sets (PersonaMem 589, SWE-bench Pro 731)."""


def percent_change(before: float, after: float) -> float:
    """(after - before) / before in percent; negative when it fell."""
    if before == 0.0:
        raise StatisticsError("a change in percent needs a value other than 0 to start from")
    return (after - before) / before * 100.0


def prints_as(value: float | Fraction, printed: float | Fraction, decimals: int) -> bool:
    """Whether `value`, rounded at `decimals`, is the number that was printed.

    Who printed it may have rounded ties to even or up, so both count.
    """
    exact, target = Fraction(value), Fraction(str(printed))
    scale = 10**decimals
    half_up = Fraction(math.floor(exact * scale + Fraction(1, 2)), scale)
    return target in (round(exact, decimals), half_up)


@dataclass(frozen=True, slots=True)
class Denominators:
    """Task counts n that can print all given percentages as k/n.

    `round_sizes`: those of `ROUND_SIZES`; `exact`: the first six that need no rounding; `count` and `first`: how many
    fit up to the limit, and the first twelve; `with_gain`: those of `round_sizes` that can also print the relative
    gain, `None` when none was given.
    """

    round_sizes: tuple[int, ...]
    exact: tuple[int, ...]
    count: int
    first: tuple[int, ...]
    with_gain: tuple[int, ...] | None


def feasible_denominators(
    percents: Sequence[float],
    decimals: int,
    *,
    gain: float | None = None,
    gain_decimals: int = 2,
    limit: int = 1000,
) -> Denominators:
    """Find the task counts up to `limit` that fit printed percentages, baseline first (rounding: `prints_as`).

    `gain` is the relative gain in percent that was printed beside the two rates, if any.
    """
    fits = [n for n in range(1, limit + 1) if all(_hits(n, percent, decimals) for percent in percents)]
    exact = [n for n in fits if all(_is_whole(n, percent) for percent in percents)]
    sizes = [n for n in ROUND_SIZES if n in set(fits)]
    with_gain = None
    if gain is not None:
        if len(percents) != 2:
            raise StatisticsError(f"a relative gain belongs to two percentages, got {len(percents)}")
        with_gain = tuple(n for n in sizes if _gain_fits(n, percents, decimals, gain, gain_decimals))
    return Denominators(tuple(sizes), tuple(exact[:6]), len(fits), tuple(fits[:12]), with_gain)


def _hits(n: int, percent: float, decimals: int) -> list[int]:
    """All k for which k/n prints as `percent`."""
    printed = Fraction(str(percent))
    near = int(printed * n / 100)
    reach = range(max(0, near - n // 100 - 1), min(n, near + n // 100 + 2) + 1)
    return [k for k in reach if prints_as(Fraction(100 * k, n), printed, decimals)]


def _is_whole(n: int, percent: float) -> bool:
    return (Fraction(str(percent)) * n / 100).denominator == 1


def _gain_fits(n: int, percents: Sequence[float], decimals: int, gain: float, gain_decimals: int) -> bool:
    return any(
        prints_as(Fraction(100 * (after - before), before), gain, gain_decimals)
        for before in _hits(n, percents[0], decimals)
        if before > 0
        for after in _hits(n, percents[1], decimals)
    )
