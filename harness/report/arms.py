"""The table of arms: the same columns on the terminal, in Markdown and anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.tables import NOT_MEASURED

HEADERS = (
    "arm",
    "tokens",
    "repairs",
    "support-adjusted",
    "against full",
    "cost",
    "actions unsupported",
    "needs lost",
    "peak prompt",
    "passed",
)
FLOOR = "isolated"  # not a memory: it forgets by knowing that it may


def headers(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns; the mean score among them where it says more than the tasks passed."""
    return (*HEADERS, "mean score") if graded(summary) else HEADERS


def arm_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """One row of text an arm, under ``headers``."""
    arms: Sequence[Mapping[str, Any]] = summary["arms"]
    full = next((arm for arm in arms if arm["arm"].partition(":")[0] == "full"), None)
    base = full["support_adjusted"] if full else None
    with_score = graded(summary)
    return [_row(arm, base, summary) + ([score_text(arm.get("score"))] if with_score else []) for arm in arms]


def millions(tokens: float | None) -> str:
    """Tokens in millions (M), in thousands (k) below one million, as they are below one thousand."""
    if tokens is None:
        return NOT_MEASURED
    if abs(tokens) < 1_000:
        return f"{tokens:,.0f}"
    if abs(tokens) < 1_000_000:
        return f"{tokens / 1_000:,.1f} k"
    return f"{tokens / 1_000_000:,.1f} M"


def change(value: float | None, base: float | None) -> str:
    """Relative change in percent, with its sign."""
    if value is None or not base:
        return NOT_MEASURED
    return f"{100 * (value / base - 1):+.1f} %"


def of(part: int | None, whole: int | None) -> str:
    """``part of whole`` with a percentage."""
    if part is None or whole is None:
        return NOT_MEASURED
    return f"{part:,} of {whole:,}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def graded(summary: Mapping[str, Any]) -> bool:
    """True for scores between right and wrong, such as F1."""
    shares = [(arm.get("score"), arm["tasks"]["passed"] or 0, arm["tasks"]["attempted"]) for arm in summary["arms"]]
    return any(score is not None and abs(score * tasks - passed) > 1e-9 for score, passed, tasks in shares)


def score_text(score: float | None) -> str:
    """A mean score, 0 to 1, with three digits."""
    return NOT_MEASURED if score is None else f"{score:.3f}"


def _row(arm: Mapping[str, Any], base: float | None, summary: Mapping[str, Any]) -> list[str]:
    tasks = arm["tasks"]
    passed = of(tasks["passed"], tasks["attempted"]) if tasks["passed"] is not None else NOT_MEASURED
    if summary.get("outcomes") == "recorded" and tasks["passed"] is not None:
        passed += " *"
    return [
        arm["arm"],
        millions(arm["tokens"]),
        millions(arm["repairs"]),
        millions(arm["support_adjusted"]),
        change(arm["support_adjusted"], base),
        millions(arm["support_adjusted_cost"] if arm["support_adjusted_cost"] is not None else arm["cost"]),
        of(arm["actions_unsupported"], arm["actions"]),
        NOT_MEASURED if arm["needs_lost"] is None else f"{arm['needs_lost']:,}",
        millions(arm["peak_prompt"]),
        passed,
    ]


def notes(summary: Mapping[str, Any]) -> list[str]:
    """What a reader must know to read the table."""
    prices = summary["prices"]
    lines = [
        "tokens: prompts + answers + the memory's own calls. support-adjusted: tokens + repairs, the number to beat.",
        "repairs: for every need the prompt did not hold, the call again plus what has to be fetched.",
        f"cost: support-adjusted, in prices of an uncached prompt token (uncached {prices['uncached']:g}, "
        f"cached {prices['cached']:g}, output {prices['output']:g}).",
    ]
    if any(arm["arm"].partition(":")[0] == FLOOR for arm in summary["arms"]):
        lines.append("isolated clears the history at each task; it is a floor to compare with, not a memory.")
    if summary.get("outcomes") == "recorded":
        lines.append("* outcomes as recorded: a replay does not change what the agent did.")
    lines += summary.get("labels", [])
    return [*lines, *_errata(summary.get("errata")), *_played(summary)]


def _errata(found: Mapping[str, Any] | None) -> list[str]:
    """Scores with and without the known wrong gold answers."""
    if found is None:
        return []
    if "not_applied" in found:
        return [f"errata {found['version']} not applied: {found['not_applied']}"]
    lines = []
    for arm, both in found["arms"].items():
        texts = [
            f"mean score {score_text(part['score'])}, {of(part['tasks']['passed'], part['tasks']['attempted'])} passed"
            for part in (both["without"], both["with"])
        ]
        lines.append(f"{arm}: {texts[0]}; with the gold answers of errata {found['version']}: {texts[1]}.")
    return [*lines, f"errata change {len(found['changed'])} tasks: {', '.join(found['changed']) or 'none'}."]


def _played(summary: Mapping[str, Any]) -> list[str]:
    """How a live run was played and judged."""
    if summary.get("kind") != "live":
        return []
    named = (("played by", "agent"), ("sandbox", "isolation"), ("task boundaries", "boundaries"))
    known = [f"{what}: {summary[key]}" for what, key in named if summary.get(key)]
    lines = [f"{'; '.join(known)}."] if known else []
    if summary.get("isolation") == "none":
        lines.append("commands ran without isolation: the network was open and a process could outlive its task.")
    probes, judging = summary.get("probes"), summary.get("judging") or {}
    if probes:
        lines.append(f"judge: {probes['right']} of {probes['total']} known verdicts right.")
    if judging.get("graded"):
        lines.append(
            f"judge: {judging['graded']} answers graded more than once, agreement {judging['agreement']:.3f}, "
            f"flip rate {judging['flip_rate']:.3f}."
        )
    if summary.get("left_out"):
        lines.append(f"left out by the loader: {len(summary['left_out'])} tasks; summary.json says why.")
    return lines
