"""Axes of the report's plots: scales, ticks, and the frame as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import escape


@dataclass(frozen=True)
class Box:
    """A drawing of ``width`` x ``height`` units with room for the labels of its axes."""

    width: int
    height: int
    left: int = 52
    right: int = 12
    top: int = 10
    bottom: int = 36

    @property
    def inner(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the part that holds the data."""
        return self.left, self.top, self.width - self.right, self.height - self.bottom


@dataclass(frozen=True)
class Scale:
    """Maps values to places between ``start`` and ``stop``; ``log`` scales need values above 0."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log10(max(v, 1e-9)) for v in (max(value, self.low), low, high))
        return self.start + (value - low) / ((high - low) or 1.0) * (self.stop - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values along the scale."""
        return _powers(self.low, self.high) if self.log else _round_steps(self.low, self.high, most)


def linear(values: Sequence[float], start: float, stop: float) -> Scale:
    """A scale from 0 to a round value above the largest."""
    top = max(values, default=0.0)
    steps = _round_steps(0.0, top, 6)
    step = steps[1] if len(steps) > 1 else (top or 1.0)
    return Scale(0.0, step * math.ceil(top / step - 1e-9) if top else 1.0, start, stop)


def logarithmic(values: Sequence[float], start: float, stop: float) -> Scale:
    """A log scale around the values above 0, a little wider than they are."""
    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 10.0)
    return Scale(low / 1.3, high * 1.3, start, stop, log=True)


def frame(box: Box, x: Scale, y: Scale, labels: tuple[str, str], x_ticks: bool = True) -> str:
    """Grid lines with their values and the names of the axes."""
    left, top, right, bottom = box.inner
    parts = []
    for value in y.ticks(5):
        at = y(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{short(value)}</text>')
    for value in x.ticks(7 if box.width > 500 else 4) if x_ticks else ():
        at = x(value)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{short(value)}</text>')
    middle = f'x="{(left + right) / 2}" y="{box.height - 3}" text-anchor="middle"'
    parts.append(f'<text class="axis" {middle}>{escape(labels[0])}</text>')
    parts.append(f'<text class="axis" x="{left + 4}" y="{top + 11}">{escape(labels[1])}</text>')
    return "".join(parts)


def short(value: float) -> str:
    """1500 -> "1.5 k"; millions are the largest unit, as in the tables."""
    if abs(value) >= 1e9:
        return f"{value / 1e6:,.0f} M"
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _round_steps(low: float, high: float, most: int) -> list[float]:
    span = high - low
    if span <= 0:
        return [low]
    size = 10 ** math.floor(math.log10(span / most))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if span / (size * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5) if high / low < 60 else (1,):
            value = factor * 10.0**power
            if low <= value <= high:
                found.append(value)
    return found
