"""A row as tables: published and recomputed beside ours, with intervals, and what nobody can know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.compare.comparison import FEW_GROUPS
from harness.compare.tokens import TokenComparison
from harness.report.arms import arm_rows, change, headers, millions
from harness.reproduce.estimate import Estimate
from harness.reproduce.play import Part
from harness.reproduce.published import SOURCE, UNPUBLISHED, Published, recomputed
from harness.reproduce.recipes import RowRecipe, sha256
from harness.stats.rates import wilson_interval
from harness.tables import NOT_MEASURED, Table, between, count, p_value, percent

NOT_PUBLISHED = "not published"


def tables(
    recipe: RowRecipe, published: Published, parts: Sequence[Part], estimates: Sequence[Estimate], command: str
) -> list[Table]:
    """Tokens, pass rates, every arm of ours, the estimate of a live run, and what was never published."""
    found = [_tokens(published, parts), _rates(published, parts)]
    found += [_arms(part) for part in parts]
    found += [_estimate(estimates, command), _assumptions(recipe), _unpublished(published)]
    return found


def _tokens(one: Published, parts: Sequence[Part]) -> Table:
    again = recomputed(one)
    stated = one.token_change is not None
    rows = [
        (
            "published, as stated",
            _millions(one.tokens_baseline),
            _millions(one.tokens_treatment),
            f"{one.token_change:+.2f} %" if stated else NOT_PUBLISHED,
            "",
        ),
        (
            "published, recomputed",
            _millions(one.tokens_baseline),
            _millions(one.tokens_treatment),
            f"{again['token_change']:+.2f} %" if again["token_change"] is not None else NOT_PUBLISHED,
            "",
        ),
    ]
    for part in parts:
        base = part.summary["arms"][0]
        for arm, suite in part.compared.items():
            for measured in suite.tokens:
                rows.append(
                    (
                        f"{part.name}, {arm}: {measured.measure}",
                        millions(measured.baseline),
                        millions(measured.treatment),
                        change(measured.ratio, 1.0),
                        _interval(measured),
                    )
                )
        if not part.compared:
            rows.append((f"{part.name}, {base['arm']} alone", millions(base["tokens"]), "", "", ""))
    notes = [f"published: {SOURCE}", "ours: against full on the same tasks; 95 % intervals, whole sessions resampled"]
    notes += [
        f"the replay without memory is {change(part.summary['arms'][0]['tokens'], one.tokens_baseline * 1e6)} against "
        "the published total; with agent, model and window unpublished, that proves nothing"
        for part in parts
        if part.name == "replay" and one.tokens_baseline is not None
    ]
    notes += [f"{part.name}: not installed, left out: {', '.join(part.left_out)}" for part in parts if part.left_out]
    columns = ("", "without memory", "with memory", "change", "95 %")
    return Table(f"{one.title}: tokens", columns, tuple(rows), tuple(notes))


def _rates(one: Published, parts: Sequence[Part]) -> Table:
    again = recomputed(one)
    shown = f".{one.decimals}f"
    rows: list[tuple[str, ...]] = [
        (
            "published",
            f"{one.baseline:{shown}} %",
            f"{one.treatment:{shown}} %",
            f"{one.treatment - one.baseline:+.1f} points",
            f"gain stated {one.gain:+g} %, recomputed {again['gain']:+.2f} %",
        )
    ]
    for test in again["tests"]:
        before, after = test["passed"]
        rows.append(
            (
                f"if of {test['n']} tasks",
                f"{before}",
                f"{after}",
                f"{test['low']:+.1f} to {test['high']:+.1f}",
                f"{_p(test['p'])}, pairing and sessions ignored",
            )
        )
    for part in parts:
        rows += _own_rates(part)
    notes = [f"task counts that can print these figures: {_sizes(again)}"]
    if any(part.summary["kind"] == "replay" for part in parts):
        notes.append("a replay changes no outcome, so it has one pass rate: that of the recorded run")
    columns = ("", "without memory", "with memory", "difference", "")
    return Table(f"{one.title}: pass rate", columns, tuple(rows), tuple(notes))


def _own_rates(part: Part) -> list[tuple[str, ...]]:
    base = part.summary["arms"][0]
    if part.summary["kind"] == "replay":
        return [(f"{part.name}, as recorded", _rate(base), "", "", "")]
    rows: list[tuple[str, ...]] = []
    for arm, suite in part.compared.items():
        treated = part.record(arm)
        difference = suite.outcomes.passed if suite.outcomes else None
        interval = between(difference.bootstrap, 100, 1) if difference else ""
        points = f"{100 * difference.clustered.mean:+.1f} points" if difference else NOT_MEASURED
        rows.append((f"{part.name}, {arm}", _rate(base), _rate(treated), points, f"95 %: {interval}"))
    return rows


def _rate(record: Mapping[str, Any] | None) -> str:
    if record is None or (passed := passed_of(record["tasks"])) is None:
        return NOT_MEASURED
    attempted = record["tasks"]["attempted"]
    return f"{percent(passed / attempted)} (Wilson {between(wilson_interval(passed, attempted), 100, 1)})"


def passed_of(tasks: Mapping[str, Any]) -> int | None:
    """Tasks that passed; none where every task errored or gave no answer that could be read."""
    if tasks["passed"] is None and 0 < tasks["attempted"] == tasks["errored"] + tasks["unparsable"]:
        return 0
    passed: int | None = tasks["passed"]
    return passed if tasks["attempted"] else None


def _arms(part: Part) -> Table:
    labels = {
        "replay": "recorded runs, replayed",
        "embedded": "embedded tasks solved by a scripted agent, not by a language model and not the benchmark itself",
        "live": "live",
    }
    notes = (labels.get(part.name, part.name), f"recipe {part.summary['recipe']}")
    return Table(f"Ours, {part.name}", headers(part.summary), tuple(map(tuple, arm_rows(part.summary))), notes)


def _estimate(found: Sequence[Estimate], command: str) -> Table:
    rows = [
        (
            one.arm,
            count(one.calls),
            millions(one.prompt),
            NOT_MEASURED if one.cached is None else millions(one.cached),
            millions(one.completion),
            "cache not known" if one.most is not None and one.likely is None else _money(one.likely),
            _money(one.most),
            f"{one.hours:.1f}",
            one.source,
        )
        for one in found
    ]
    money = [one.most for one in found if one.most is not None]
    notes = [f"all arms: {sum(one.hours for one in found):.1f} hours"]
    notes.append(
        f"at most {_money(sum(money))}, judge not included" if money else "give --price UNCACHED,CACHED,OUTPUT"
    )
    notes.append(f"the live part is played by:  {command}")
    columns = ("arm", "calls", "prompt", "of it cached", "answers", "price, cached", "price at most", "hours", "from")
    return Table("What the live part would cost", columns, tuple(rows), tuple(notes))


def _assumptions(recipe: RowRecipe) -> Table:
    return Table(f"Assumptions of the frozen recipe {sha256(recipe)}", (), (), recipe.assumptions)


def _unpublished(one: Published) -> Table:
    inferred = [f"inferred: {text}" for text in one.inferred]
    return Table("What was never published", (), (), (*UNPUBLISHED, *one.unpublished, *inferred))


def _p(value: float) -> str:
    shown = p_value(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def _sizes(again: Mapping[str, Any]) -> str:
    listed = ", ".join(map(str, again["sizes_that_fit"])) or "none of the usual ones"
    gain = ", ".join(map(str, again["sizes_that_fit_the_gain_too"])) or "none of the usual ones"
    return f"{listed}; with the stated gain: {gain}"


def _interval(measured: TokenComparison) -> str:
    few = measured.groups < FEW_GROUPS
    interval = measured.t if few else measured.interval
    if interval is None:
        return "one session: no interval"
    text = f"{100 * (interval.low - 1):+.1f} to {100 * (interval.high - 1):+.1f} %"
    return text + (f" (t, {measured.groups} sessions)" if few else "")


def _millions(value: float | None) -> str:
    return NOT_PUBLISHED if value is None else f"{value:,.2f} M".replace(".00 M", ".0 M")


def _money(value: float | None) -> str:
    return "no prices given" if value is None else f"{value:,.2f}"
