"""The summary of the HTML report: one card an arm with its intervals, and where each arm loses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from harness.compare.comparison import FEW_GROUPS, SuiteComparison, compare
from harness.compare.outcomes import Options
from harness.compare.pairs import ArmRun
from harness.compare.positions import Band
from harness.errors import UsageError
from harness.report.arms import change, graded, millions, of, score_text
from harness.report.html_data import RunData, adjusted, cost
from harness.stats.interval import Interval
from harness.stats.rates import wilson_interval
from harness.stats.ratios import session_token_ratio
from harness.tables import NOT_MEASURED, between, count, percent, points
from harness.types import TaskRow

WORST = 5  # tasks named an arm
BEATEN = (
    ("support_adjusted", "support-adjusted tokens"),
    ("support_adjusted_cost", "cost with the cache"),
    ("actions_unsupported", "actions with a need not visible"),
    ("needs_lost", "needs lost"),
)


@dataclass(frozen=True)
class Figure:
    """One figure of a card: what it is, its value, and the interval or remark under it."""

    name: str
    value: str
    below: str = ""


@dataclass(frozen=True)
class Card:
    """One arm: its place among the colours, what it is, and its figures."""

    index: int
    arm: str
    engine: str
    parameters: str
    baseline: bool
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class WorstTask:
    """A task on which an arm costs more than the baseline."""

    session: str
    task: str
    text: str


@dataclass(frozen=True)
class Losses:
    """Where one arm loses: sentences, and the tasks to look at first."""

    index: int
    arm: str
    sentences: tuple[str, ...]
    worst: tuple[WorstTask, ...]


def comparisons(data: RunData, options: Options) -> dict[str, SuiteComparison]:
    """Every other arm against the baseline, one comparison an arm; suites of one run are taken together.

    An arm that shares neither a verdict nor a token count with the baseline has none.
    """
    runs = {
        arm.name: ArmRun(arm.name, data.recipe, arm, tuple(replace(row, suite=data.recipe.suite) for row in found))
        for arm in data.played
        if (found := data.of(arm.name))
    }
    if data.baseline not in runs:
        return {}
    base = runs.pop(data.baseline)
    compared: dict[str, SuiteComparison] = {}
    for name, run in runs.items():
        with suppress(UsageError):
            compared[name] = compare([(base, run)], options).suites[0]
    return compared


def cards(data: RunData, compared: dict[str, SuiteComparison], options: Options) -> list[Card]:
    """One card an arm, in the order of the recipe."""
    records = {record["arm"]: record for record in data.summary["arms"]}
    made = []
    for index, arm in enumerate(data.played):
        figures = _figures(data, arm.name, records[arm.name], compared.get(arm.name), options)
        listed = ", ".join(f"{key}={value}" for key, value in arm.parameters.items()) or "no parameters"
        made.append(Card(index, arm.name, arm.engine, listed, arm.name == data.baseline, tuple(figures)))
    return made


def controls(data: RunData) -> list[tuple[str, str]]:
    """The controls of a live run with what they passed: what no memory and no model can do, or need not do."""
    records = {record["arm"]: record["tasks"] for record in data.summary["arms"]}
    return [(name, of(records[name]["passed"], records[name]["attempted"])) for name in data.controls]


def notes(compared: dict[str, SuiteComparison]) -> list[str]:
    """What a reader must know before believing the intervals."""
    return list(dict.fromkeys(note for one in compared.values() for note in one.notes))


def losses(data: RunData, compared: dict[str, SuiteComparison]) -> list[Losses]:
    """Where every arm but the baseline loses, also where that is nowhere."""
    places = {name: index for index, name in enumerate(data.arms)}
    base = {(row.session, row.task, row.attempt): row for row in data.of(data.baseline)}
    found = []
    for name in compared:
        rows = data.of(name)
        dearer = [
            (adjusted(row) / adjusted(other), row)
            for row in rows
            if (other := base.get((row.session, row.task, row.attempt))) and adjusted(row) > adjusted(other) > 0
        ]
        dearer.sort(key=lambda pair: (-pair[0], pair[1].session, pair[1].position))
        worst = tuple(
            WorstTask(row.session, row.task, f"{change(ratio, 1.0)}, position {row.position + 1}")
            for ratio, row in dearer[:WORST]
        )
        sentences = _sentences(data, name, rows, len(dearer), compared[name])
        found.append(Losses(places[name], name, tuple(sentences), worst))
    return found


def _figures(
    data: RunData, arm: str, record: dict[str, Any], one: SuiteComparison | None, options: Options
) -> list[Figure]:
    ratios = {found.measure: found for found in one.tokens} if one else {}
    plain, supported = ratios.get("tokens"), ratios.get("support-adjusted tokens")
    whole = record["support_adjusted"] if record["support_adjusted"] is not None else record["tokens"]
    figures = [
        Figure("support-adjusted tokens", millions(whole), f"{millions(record['repairs'])} of them repairs"),
    ]
    if one and (chosen := supported or plain):
        figures += [
            Figure(f"of {data.baseline}", percent(chosen.ratio), _interval(chosen.interval, one.groups)),
            Figure("typical task", percent(chosen.geometric_mean), _interval(chosen.geometric, one.groups)),
        ]
    elif arm == data.baseline:
        figures += [Figure(f"of {arm}", percent(1.0), "the baseline"), Figure("typical task", percent(1.0))]
    figures.append(_cost(data, arm, record, options))
    figures += [
        Figure(
            "actions with a need not visible",
            percent(_share(record["actions_unsupported"], record["actions"])),
            f"{count(record['actions_unsupported'])} of {count(record['actions'])}",
        ),
        Figure("needs lost", count(record["needs_lost"]), "no pointer leads back to them"),
        Figure("peak prompt", millions(record["peak_prompt"]), f"window {millions(data.recipe.window)}"),
        _passed(data, record, one),
    ]
    if data.recipe.kind == "live" and graded(data.summary):
        figures.append(_scored(data, record, one))
    return figures


def _cost(data: RunData, arm: str, record: dict[str, Any], options: Options) -> Figure:
    total = record["support_adjusted_cost"]
    if total is None:
        total = record["cost"]
    if arm == data.baseline or total is None:
        return Figure("cost with the cache", millions(total), "priced in uncached prompt tokens")
    interval, groups, ratio = _cost_ratio(data, arm, options)
    below = _interval(interval, groups) if ratio is not None else ""
    return Figure("cost with the cache", millions(total), f"{percent(ratio)} of {data.baseline}, {below}".rstrip(", "))


def _cost_ratio(data: RunData, arm: str, options: Options) -> tuple[Interval | None, int, float | None]:
    base = {(row.session, row.task, row.attempt): cost(row) for row in data.of(data.baseline)}
    pairs = [(row.session, base.get((row.session, row.task, row.attempt)), cost(row)) for row in data.of(arm)]
    usable = [(session, old, new) for session, old, new in pairs if old and new is not None]
    if not usable:
        return None, 0, None
    sessions = [session for session, _, _ in usable]
    olds, news = [old for _, old, _ in usable], [new for _, _, new in usable]
    found = session_token_ratio(
        olds, news, sessions, seed=options.seed, resamples=options.resamples, alpha=options.alpha
    )
    return found.bootstrap if found.sessions > 1 else None, found.sessions, found.ratio


def _passed(data: RunData, record: dict[str, Any], one: SuiteComparison | None) -> Figure:
    tasks = record["tasks"]
    passed, attempted = tasks["passed"], tasks["attempted"]
    if passed is None or not attempted:
        return Figure("passed", NOT_MEASURED)
    if data.recipe.kind == "replay":
        return Figure("passed", percent(passed / attempted), "as recorded; a replay changes no outcome")
    low_high = between(wilson_interval(passed, attempted), 100, 1)
    below = f"{of(passed, attempted)}; Wilson {low_high}"
    if one and one.outcomes:
        difference = one.outcomes.passed
        below += f"; {points(difference.clustered.mean)} ({between(difference.bootstrap, 100, 1)})"
    return Figure("passed", percent(passed / attempted), below)


def _scored(data: RunData, record: dict[str, Any], one: SuiteComparison | None) -> Figure:
    below = "the suite's own score, 0 to 1"
    if one and one.outcomes and one.outcomes.score:
        difference = one.outcomes.score
        low_high = between(difference.bootstrap, 1, 3)
        below = f"{difference.clustered.mean:+.3f} against {data.baseline} ({low_high})"
    return Figure("mean score", score_text(record.get("score")), below)


def _interval(interval: Interval | None, groups: int) -> str:
    if interval is None:
        return "one session: no interval"
    text = f"95 %: {between(interval, 100, 1)} %"
    return text + (f" ({groups} sessions)" if groups < FEW_GROUPS else "")


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _sentences(data: RunData, name: str, rows: Sequence[TaskRow], dearer: int, one: SuiteComparison) -> list[str]:
    base = data.baseline
    found = [
        f"Costs more than {base} on {dearer:,} of {len(rows):,} tasks (support-adjusted tokens)."
        if dearer
        else f"On no task does it cost more than {base} (support-adjusted tokens)."
    ]
    if one.needs is None:
        found.append("What its actions needed was not measured.")
    elif one.needs.treatment.not_visible:
        totals = one.needs.treatment
        found.append(
            f"{of(totals.unsupported, totals.actions)} actions needed something the prompt did not hold: "
            f"{totals.not_visible:,} needs, {totals.lost:,} of them without a pointer that leads back."
        )
    else:
        found.append("Every need of every action was in its prompt.")
    found += _beaten(data, name)
    found += _positions(one.positions, base)
    paid = _against(rows, data.of(base), cost)
    if paid is not None and paid > 1:
        found.append(f"With the cache it costs {change(paid, 1.0)} against {base}, whatever it saves in tokens.")
    if one.outcomes and one.outcomes.passed.clustered.mean < 0:
        found.append(f"Passes less often than {base}: {points(one.outcomes.passed.clustered.mean)}.")
    return found


def _beaten(data: RunData, name: str) -> list[str]:
    """One sentence a figure in which another arm of the run is better, the best of them named."""
    records = {record["arm"]: record for record in data.summary["arms"]}
    own = records[name]
    found = []
    for figure, words in BEATEN:
        better = [
            record for record in map(records.__getitem__, data.arms)
            if own[figure] is not None and record[figure] is not None and record[figure] < own[figure]
        ]  # fmt: skip
        if better:
            best = min(better, key=lambda record: float(record[figure]))
            others = f" ({len(better)} arms do better)" if len(better) > 1 else ""
            show = millions if figure.startswith("support") else count
            values = f"{show(own[figure])} against {show(best[figure])}"
            found.append(f"{best['arm']} beats it in {words}: {values}{others}.")
    return found


def _positions(bands: Sequence[Band], base: str) -> list[str]:
    worst = max(bands, key=lambda band: _band_ratio(band) or 0.0, default=None)
    ratio = _band_ratio(worst) if worst else None
    if worst is None or ratio is None or len(bands) < 2:
        return []
    where = {"first": "at the beginning", "middle": "in the middle", "last": "at the end"}[worst.name]
    return [f"It does worst {where} of a session: {percent(ratio)} of {base} over {worst.n:,} tasks."]


def _band_ratio(band: Band) -> float | None:
    return band.support_adjusted_ratio if band.support_adjusted_ratio is not None else band.token_ratio


def _against(
    rows: Sequence[TaskRow], base: Sequence[TaskRow], measure: Callable[[TaskRow], float | None]
) -> float | None:
    new, old = [measure(row) for row in rows], [measure(row) for row in base]
    if any(value is None for value in (*new, *old)):
        return None
    total = sum(value for value in old if value is not None)
    return sum(value for value in new if value is not None) / total if total else None
