"""The space a tuning searches: each parameter of an engine with a range around its default, or as given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.engines.registry import check_parameters, engine_class
from harness.errors import UnknownName, UsageError
from harness.sweep.grid import defaults_of

LOG_FROM = 50  # integers of this size and more are searched on a log scale
NARROW, WIDE = 0.5, 2.0  # of the default, where no range is given


@dataclass(frozen=True)
class Dimension:
    """One parameter. ``choices`` lists the values of a switch; otherwise it lies between ``low`` and ``high``, both
    included, and is an integer when both are."""

    name: str
    default: Any
    low: float = 0.0
    high: float = 0.0
    choices: tuple[Any, ...] = ()

    @property
    def whole(self) -> bool:
        """True for an integer."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def holds_default(self) -> bool:
        """Whether the default lies within."""
        return self.default in self.choices if self.choices else self.low <= self.default <= self.high

    def suggest(self, trial: Any) -> Any:
        """Ask an optuna trial for a value."""
        if self.choices:
            return trial.suggest_categorical(self.name, list(self.choices))
        if self.whole:
            return trial.suggest_int(self.name, self.low, self.high, log=self.low >= LOG_FROM)
        return trial.suggest_float(self.name, self.low, self.high)


def make_space(engine: str, specs: Sequence[str]) -> list[Dimension]:
    """Dimensions from ``name=low:high`` or ``name=a,b,c``; without any, every parameter around its default.

    Raises ``UnknownName`` for a parameter, ``UsageError`` for a range that does not fit.
    """
    defaults = defaults_of(engine)
    if not specs:
        found = [dimension for name, value in defaults.items() if (dimension := _around(engine, name, value))]
        if not found:
            raise UsageError(f"engine {engine!r} has no parameter to tune")
        return found
    space = []
    for spec in specs:
        name, equals, given = spec.partition("=")
        name = name.strip().removeprefix(f"{engine}.")
        if not equals or not given:
            raise UsageError(f"--tune {spec!r}: expected name=low:high or name=a,b,c")
        if name not in defaults:
            raise UnknownName(f"parameter of arm {engine!r}", name, defaults)
        space.append(_given(engine, name, given, defaults[name]))
    return space


def _given(engine: str, name: str, text: str, default: Any) -> Dimension:
    low, colon, high = text.partition(":")
    if not colon:
        choices = tuple(_fit(engine, name, value.strip()) for value in text.split(","))
        if default not in choices:
            choices = (default, *choices)
        return Dimension(name, default, choices=choices)
    ends = _fit(engine, name, low), _fit(engine, name, high)
    if isinstance(default, bool) or not all(isinstance(end, (int, float)) for end in ends) or ends[0] >= ends[1]:
        raise UsageError(f"--tune {name}={text}: expected a range low:high of numbers")
    return Dimension(name, default, *ends)


def _around(engine: str, name: str, default: Any) -> Dimension | None:
    """Half to twice the default, within what the engine takes; None for what has no range."""
    if isinstance(default, bool):
        return Dimension(name, default, choices=(default, not default))
    if isinstance(default, int):
        ends = _within(engine, name, max(1, math.ceil(default * NARROW)), max(2, int(default * WIDE)), default)
    elif isinstance(default, float):
        ends = _within(engine, name, default * NARROW, default * WIDE, default)
    else:
        return None
    return Dimension(name, default, *ends) if ends[0] < ends[1] else None


def _within(engine: str, name: str, low: Any, high: Any, default: Any) -> tuple[Any, Any]:
    """The range, each end pulled in to the limit the parameter has."""
    for limit in engine_class(engine).Parameters.model_fields[name].metadata:
        floor, ceiling = (
            getattr(limit, "ge", getattr(limit, "gt", None)),
            getattr(limit, "le", getattr(limit, "lt", None)),
        )
        low = low if floor is None else max(low, floor)
        high = high if ceiling is None else min(high, ceiling)
    if isinstance(default, int):
        return int(low), int(high)
    return round(float(low), 3), round(float(high), 3)


def _fit(engine: str, name: str, value: str) -> Any:
    return check_parameters(engine_class(engine), {name: value})[name]
