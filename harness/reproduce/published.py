"""What the upstream README states, and what follows from it by arithmetic alone.

``python -m harness.reproduce.published FILE`` writes ``results/published.toml`` from this module.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.stats.published import feasible_denominators, percent_change, prints_as
from harness.stats.rates import unpaired_rates

SOURCE = "README of TencentDB-Agent-Memory, branch main, commit 3f11f6bf; first commit with the table 2026-05-12"


@dataclass(frozen=True, slots=True)
class Published:
    """One row of the table. Rates and changes in percent as printed, tokens in millions; None where nothing stands.

    ``sizes`` are task counts a reader would try for the rate test; ``inferred`` says what the figures allow to
    conclude, ``unpublished`` what this row lacks besides what all rows lack.
    """

    name: str
    title: str
    baseline: float
    treatment: float
    decimals: int
    gain: float
    gain_decimals: int
    tokens_baseline: float | None
    tokens_treatment: float | None
    token_change: float | None
    sizes: tuple[int, ...]
    inferred: tuple[str, ...]
    unpublished: tuple[str, ...]


UNPUBLISHED = (
    "the model and its version",
    "the context window (the plugin's default of 200,000 is a setting, not a statement about the runs)",
    "what the agent without the plugin does when its window is full",
    "number of tasks and of attempts, seeds, temperature",
    "what is counted as a token: input, output, cached, the memory's own calls, judge calls",
    "error bars, results of single tasks, scripts",
)
"""What no row of the table states."""

ROWS = (
    Published(
        "widesearch", "WideSearch", 33, 50, 0, 51.52, 2, 221.31, 85.64, -61.38, (100, 200),
        (
            "the stated change of tokens does not follow from the two totals",
            "a strict success of 33 or 50 % is far above what the benchmark's paper reports for any system (5.1 % on "
            "average, 9.5 % with four attempts), so another measure was used",
        ),
        ("session length and task order", "tools and search backend", "judge", "what success means"),
    ),
    Published(
        "swebench", "SWE-bench", 58.4, 64.2, 1, 9.93, 2, 3474.1, 2375.4, -33.09, (500,),
        (
            "the stated change of tokens does not follow from the two totals",
            "58.4 and 64.2 % are 292 and 321 of 500: SWE-bench Verified, one attempt, ten sessions of 50",
        ),
        ("which SWE-bench", "task order"),
    ),
    Published(
        "aalcr", "AA-LCR", 44.0, 47.5, 1, 7.95, 2, 112.0, 77.3, -30.98, (200,),
        ("44.0 and 47.5 % cannot both come from 100 questions asked once; 200 fits, which is twice",),
        ("session length and question order", "judge and its version", "repeats"),
    ),
    Published(
        "personamem", "PersonaMem", 48, 76, 0, 59, 0, None, None, None, (100, 589),
        (
            "76 against 48 is +58.3 %, which does not print as +59",
            "48 % is about what strong models reach without any history, so 'without memory' may mean no history",
        ),
        ("version and size of the set", "tokens", "reader"),
    ),
)  # fmt: skip


def row(name: str) -> Published:
    """The row of that name. Raises ``KeyError``."""
    return next(one for one in ROWS if one.name == name)


def recomputed(one: Published) -> dict[str, Any]:
    """What the printed figures give: relative gain, change of tokens, task counts that fit, and the test that ignores
    pairing (nothing paired was published), for each size a reader would try."""
    gain = percent_change(one.baseline, one.treatment)
    change = None
    if one.tokens_baseline is not None and one.tokens_treatment is not None:
        change = percent_change(one.tokens_baseline, one.tokens_treatment)
    fits = feasible_denominators(
        [one.baseline, one.treatment], one.decimals, gain=one.gain, gain_decimals=one.gain_decimals
    )
    return {
        "gain": gain,
        "gain_agrees": prints_as(gain, one.gain, one.gain_decimals),
        "token_change": change,
        "token_change_agrees": None
        if change is None or one.token_change is None
        else prints_as(change, one.token_change, 2),
        "sizes_that_fit": list(fits.round_sizes),
        "sizes_that_fit_the_gain_too": list(fits.with_gain or ()),
        "tests": [_test(one, size) for size in one.sizes],
    }


def _test(one: Published, size: int) -> dict[str, Any]:
    before, after = round(one.baseline * size / 100), round(one.treatment * size / 100)
    found = unpaired_rates((after, size), (before, size))
    low, high = found.newcombe
    return {"n": size, "passed": [before, after], "p": found.p, "low": 100 * low, "high": 100 * high}


def to_toml() -> str:
    """The table with both readings of every figure."""
    lines = [
        "# The published table: as it is stated, and as its own figures recompute.",
        "# Written by `python -m harness.reproduce.published results/published.toml`; edit that module, not this file.",
        f"source = {_text(SOURCE)}",
        "unpublished = [",
        *(f"    {_text(item)}," for item in UNPUBLISHED),
        "]",
    ]
    for one in ROWS:
        again = recomputed(one)
        change = again["token_change"]
        lines += [
            "",
            "[[row]]",
            f"name = {_text(one.name)}",
            f"title = {_text(one.title)}",
            f"baseline_percent = {one.baseline}",
            f"treatment_percent = {one.treatment}",
            f"gain_stated = {one.gain}",
            f"gain_recomputed = {again['gain']:.2f}",
        ]
        if one.tokens_baseline is not None and change is not None:
            lines += [
                f"tokens_baseline_millions = {one.tokens_baseline}",
                f"tokens_treatment_millions = {one.tokens_treatment}",
                f"token_change_stated = {one.token_change}",
                f"token_change_recomputed = {change:.2f}",
            ]
        lines += [
            f"task_counts_that_fit = {again['sizes_that_fit']}",
            "inferred = [",
            *(f"    {_text(item)}," for item in one.inferred),
            "]",
            f"unpublished = [{', '.join(map(_text, one.unpublished))}]",
        ]
        for test in again["tests"]:
            lines += [
                "",
                "    [[row.unpaired_test]]",
                f"    n = {test['n']}",
                f"    passed = {test['passed']}",
                f"    p = {test['p']:.2g}",
                f"    difference_95 = [{test['low']:.1f}, {test['high']:.1f}]",
            ]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)  # a JSON string is a TOML string


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(to_toml(), encoding="utf-8", newline="\n")
