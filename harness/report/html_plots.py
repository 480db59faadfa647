"""The plots of the HTML report as inline SVG, each for a wide and for a narrow page, coloured by CSS classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

from markupsafe import Markup, escape

from harness.ledger import denominators
from harness.pareto import pareto_front
from harness.report.arms import millions
from harness.report.html_axes import Box, Scale, frame, linear, logarithmic, short
from harness.report.html_data import RunData, adjusted, cost, cost_without_cache, prompts_by_session

SIZES = {"wide": (720, 300), "narrow": (360, 300)}
Series = Sequence[float]


@dataclass(frozen=True)
class Plot:
    """A drawing in both sizes, with what it shows in words."""

    name: str
    title: str
    caption: str
    svg: Markup


def plots(data: RunData) -> list[Plot]:
    """Context growth, cumulated tokens, cost, position in the session, Pareto; pass rates where they were measured."""
    arms = data.arms
    cumulated = {arm: list(accumulate(float(adjusted(row)) for row in data.of(arm))) for arm in arms}
    prompts = {arm: typical(prompts_by_session(data, arm)) for arm in arms}
    found = [
        Plot(
            "context",
            "Context growth: the prompt by the number of the call in its session",
            "Median over the sessions that are long enough, at least half of them. The scale is logarithmic.",
            _lines(arms, prompts, ("call", "tokens"), log=True),
        ),
        Plot(
            "cumulated",
            "Tokens so far, repairs included",
            "Prompts, answers, the memory's own calls, and what it would take to fetch what a prompt no longer held.",
            _lines(arms, cumulated, ("task", "tokens")),
        ),
        Plot("cost", "Cost with and without the cache", _prices(data), _costs(data)),
        Plot(
            "position",
            "Tokens of a task by its position in the session",
            "Mean over sessions, repairs included. The scale is logarithmic.",
            _lines(arms, {arm: _by_position(data, arm) for arm in arms}, ("position", "tokens"), log=True),
        ),
        Plot(
            "pareto",
            "What is saved against what is forgotten",
            "Lower and further left is better. The line joins the arms that no other arm beats in both.",
            _pareto(data),
        ),
    ]
    return found


def swatch(index: int) -> Markup:
    """The line of an arm for a legend."""
    return Markup('<svg class="swatch" viewBox="0 0 28 8" aria-hidden="true"><line class="line a{}"').format(
        index
    ) + Markup(' x1="0" x2="28" y1="4" y2="4"/></svg>')


def thin(values: Series, most: int) -> list[tuple[int, float]]:
    """At most about ``most`` points: the lowest and the highest of each stretch, so that no peak is lost."""
    if len(values) <= most:
        return list(enumerate(values))
    size = len(values) / (most / 2)
    found: list[tuple[int, float]] = []
    start = 0.0
    while round(start) < len(values):
        stretch = range(round(start), max(round(start) + 1, min(len(values), round(start + size))))
        ends = {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}
        found += [(index, values[index]) for index in sorted(ends)]
        start += size
    return found


def typical(sessions: Sequence[Sequence[int]]) -> list[float]:
    """The median over sessions of the prompt at each call, as far as half of the sessions reach."""
    lengths = sorted(map(len, sessions))
    reach = lengths[len(lengths) // 2] if lengths else 0
    return [float(median(prompts[call] for prompts in sessions if call < len(prompts))) for call in range(reach)]


def _both(draw: Mapping[str, str], label: str) -> Markup:
    parts = []
    for size, inner in draw.items():
        width, height = SIZES[size]
        frame_of = f'class="plot {size}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}"'
        parts.append(f"<svg {frame_of}>{inner}</svg>")
    return Markup("".join(parts))


def _lines(arms: Sequence[str], series: Mapping[str, Series], labels: tuple[str, str], log: bool = False) -> Markup:
    drawn = {}
    for size, (width, height) in SIZES.items():
        box = Box(width, height)
        left, top, right, bottom = box.inner
        values = [value for arm in arms for value in series.get(arm, ())]
        x = Scale(1.0, float(max((len(series.get(arm, ())) for arm in arms), default=1)) or 1.0, left, right)
        y = (logarithmic if log else linear)(values, bottom, top)
        parts = [frame(box, x, y, labels)]
        for index, arm in enumerate(arms):
            points = [(x(i + 1), y(value)) for i, value in thin(series.get(arm, ()), width) if value > 0 or not log]
            parts.append(_line(points, index, arm))
        drawn[size] = "".join(parts)
    return _both(drawn, f"{labels[1]} by {labels[0]}: {', '.join(arms)}")


def _line(points: Sequence[tuple[float, float]], index: int, arm: str) -> str:
    title = f"<title>{escape(arm)}</title>"
    if len(points) == 1:
        return f'<circle class="dot a{index}" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3">{title}</circle>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="line a{index}" points="{path}">{title}</polyline>'


def _by_position(data: RunData, arm: str) -> list[float]:
    at: dict[int, list[int]] = {}
    for row in data.of(arm):
        at.setdefault(row.position, []).append(adjusted(row))
    return [sum(at[position]) / len(at[position]) for position in sorted(at)]


def _prices(data: RunData) -> str:
    prices = data.summary["prices"]
    return (
        "Support-adjusted, in prices of an uncached prompt token: "
        f"uncached {prices['uncached']:g}, cached {prices['cached']:g}, output {prices['output']:g}. "
        "Whole bar: nothing cached. Strong part: with the cache."
    )


def _costs(data: RunData) -> Markup:
    figures = []
    for arm in data.arms:
        rows = data.of(arm)
        paid = [cost(row) for row in rows]
        known = None if any(value is None for value in paid) else sum(value for value in paid if value is not None)
        figures.append((arm, sum(map(cost_without_cache, rows)), known))
    drawn = {}
    for size, (width, height) in SIZES.items():
        step = (height - 20) / max(1, len(figures))
        x = linear([bare for _, bare, _ in figures], 4, width - 92)
        parts = []
        for index, (arm, bare, known) in enumerate(figures):
            top, thick = 6 + index * step, min(22.0, step * 0.45)
            shown = f"{millions(bare)} → {millions(known)}" if known is not None else millions(bare)
            parts.append(f'<text class="tick" x="4" y="{top + 11:.1f}">{escape(arm)}</text>')
            parts.append(_bar(4, top + 16, x(bare) - 4, thick, f"bar light a{index}"))
            if known is not None:
                parts.append(_bar(4, top + 16, x(known) - 4, thick, f"bar a{index}"))
            parts.append(
                f'<text class="tick" x="{min(x(bare) + 6, width - 4):.1f}" y="{top + 16 + thick / 2 + 4:.1f}">'
                f"{short(bare)}{'' if known is None else f' → {short(known)}'}<title>{escape(shown)}</title></text>"
            )
        drawn[size] = "".join(parts)
    return _both(drawn, "cost of each arm without and with the cache")


def _bar(x: float, y: float, width: float, height: float, css: str) -> str:
    return f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" rx="2"/>'


def _pareto(data: RunData) -> Markup:
    found = []
    records = {record["arm"]: record for record in data.summary["arms"]}
    for index, record in enumerate(map(records.__getitem__, data.arms)):
        if record["support_adjusted"] is not None and record["actions"]:
            share = 100 * record["actions_unsupported"] / record["actions"]
            found.append((index, record["arm"], float(record["support_adjusted"]), share))
    if not found:
        return _rates(data)
    drawn = {}
    for size, (width, height) in SIZES.items():
        box = Box(width, height)
        left, top, right, bottom = box.inner
        x = logarithmic([spent for _, _, spent, _ in found], left, right)
        y = linear([share for *_, share in found], bottom, top)
        labels = ("support-adjusted tokens (logarithmic)", "% of actions with a need not visible")
        parts = [frame(box, x, y, labels)]
        front = pareto_front([(spent, share) for _, _, spent, share in found])
        line = " ".join(f"{x(found[i][2]):.1f},{y(found[i][3]):.1f}" for i in front)
        parts.append(f'<polyline class="front" points="{line}"/>')
        parts += [_dot(x(spent), y(share), index, arm, width) for index, arm, spent, share in found]
        drawn[size] = "".join(parts)
    return _both(drawn, "support-adjusted tokens against actions with a need not visible")


def _rates(data: RunData) -> Markup:
    """Pass rate against tokens, for runs whose needs were not measured."""
    found = []
    for index, arm in enumerate(data.arms):
        rows = data.of(arm)
        counts = denominators(rows)
        if counts.passed is not None and counts.attempted:
            found.append((index, arm, float(sum(map(adjusted, rows))), 100 * counts.passed / counts.attempted))
    drawn = {}
    for size, (width, height) in SIZES.items():
        box = Box(width, height)
        left, top, right, bottom = box.inner
        x, y = logarithmic([spent for _, _, spent, _ in found], left, right), Scale(0.0, 100.0, bottom, top)
        parts = [frame(box, x, y, ("tokens (logarithmic)", "% passed"))]
        parts += [_dot(x(spent), y(rate), index, arm, width) for index, arm, spent, rate in found]
        drawn[size] = "".join(parts)
    return _both(drawn, "tokens against pass rate")


def _dot(x: float, y: float, index: int, arm: str, width: int) -> str:
    behind = x > width * 0.7
    at = f'x="{x - 8:.1f}" text-anchor="end"' if behind else f'x="{x + 8:.1f}"'
    return (
        f'<circle class="dot a{index}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        f'<text class="mark" {at} y="{y - 6:.1f}">{escape(arm)}</text>'
    )
