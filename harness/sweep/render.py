"""A sweep as tables, the same for the terminal and for Markdown."""

from __future__ import annotations

from harness.report.arms import change, millions
from harness.sweep.result import (
    ALL,
    HELD_OUT,
    TUNED,
    CellResult,
    Record,
    SweepResult,
    failed,
    rank_agreement,
    spent,
    what_failed,
)
from harness.tables import Table, count, percent, ratio

SHOWN = 60  # cells of a table on the terminal; the files hold all


def tables(result: SweepResult, most: int | None = None) -> list[Table]:
    """The cells, and what to conclude from the two halves. ``most`` limits the rows of the first table."""
    return [_cells(result, most), _conclusion(result)]


def _cells(result: SweepResult, most: int | None) -> Table:
    names = list(dict.fromkeys(axis.parameter for axis in result.axes))
    engines = len({axis.engine for axis in result.axes}) > 1
    second = what_failed(result)
    columns = (
        "cell", *names, "tokens", second, "against default",
        "held out: tokens", second, "against default", "lost", "cost (all)",
    )  # fmt: skip
    fronts = set(result.front(TUNED)), set(result.front(HELD_OUT))
    bases = {one.cell.arm.engine: one for one in result.cells if one.cell.default}
    places = range(len(result.cells))
    order = (
        places if result.one_at_a_time else sorted(places, key=lambda place: spent(result.cells[place].records[TUNED]))
    )
    rows = []
    for place in list(order)[:most]:
        one = result.cells[place]
        base = bases.get(one.cell.arm.engine)
        label = (one.cell.arm.engine if engines else str(place + 1)) + (" (default)" if one.cell.default else "")
        rows.append(
            (
                label,
                *(_value(one, base if result.one_at_a_time else None, name) for name in names),
                *_half(one, base, TUNED, place in fronts[0], result.live),
                *_half(one, base, HELD_OUT, place in fronts[1], result.live),
                count(one.records[ALL]["needs_lost"]),
                millions(one.records[ALL]["support_adjusted_cost"] or one.records[ALL]["cost"]),
            )
        )
    notes = [
        f"tokens: support-adjusted. Tuned half: the first {result.tasks[TUNED]} tasks; held out: the other "
        f"{result.tasks[HELD_OUT]}. *: no other cell is better in both figures on that half.",
    ]
    if most is not None and len(result.cells) > most:
        notes.append(f"{len(result.cells) - most} more cells are in the files")
    return Table(f"{len(result.cells)} cells", columns, tuple(rows), tuple(notes))


def _value(one: CellResult, base: CellResult | None, name: str) -> str:
    """The value of a parameter; one at a time, only where it is not the default."""
    value = one.cell.varied.get(name, "")
    alone = base is not None and one is not base and base.cell.varied.get(name, "") == value
    return "" if alone else str(value)


def _half(one: CellResult, base: CellResult | None, half: str, best: bool, live: bool) -> tuple[str, str, str]:
    record = one.records[half]
    if not record["tasks"]["attempted"]:
        return "no tasks", "", ""
    against = change(spent(record), spent(base.records[half])) if base and base is not one else ""
    return millions(spent(record)) + (" *" if best else ""), _failed(record, live), against


def _failed(record: Record, live: bool) -> str:
    found = failed(record, live)
    if live:
        attempted = record["tasks"]["attempted"]
        return f"{count(found)} of {attempted}" if found is not None else count(None)
    actions, unsupported = record["actions"], record["actions_unsupported"]
    if not actions:
        return count(found)
    return f"{count(found)} ({percent(unsupported / actions)} of actions)"


def _conclusion(result: SweepResult) -> Table:
    if not result.tasks[HELD_OUT] or not result.tasks[TUNED]:
        return Table("Tuned and held out", (), (), ("a single task: there is no second half to hold out",))
    cheapest = min(result.cells, key=lambda one: spent(one.records[TUNED]))
    order = sorted(result.cells, key=lambda one: spent(one.records[HELD_OUT]))
    best = order[0]
    agreement = rank_agreement(result)
    against = change(spent(cheapest.records[HELD_OUT]), spent(best.records[HELD_OUT]))
    found = [
        f"cheapest on the tuned half: {cheapest.cell.arm.name}; on the held-out half it is number "
        f"{order.index(cheapest) + 1} of {len(order)}, {against} against the cheapest there ({best.cell.arm.name})",
        f"rank agreement of the halves (Spearman): {ratio(agreement)}",
        f"no other cell beats, on the tuned half: {_names(result, TUNED)}",
        f"no other cell beats, on the held-out half: {_names(result, HELD_OUT)}",
    ]
    return Table("Tuned and held out", (), (), tuple(found))


def _names(result: SweepResult, half: str) -> str:
    names = [result.cells[place].cell.arm.name for place in result.front(half)]
    shown = "; ".join(names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "") if names else "none"
