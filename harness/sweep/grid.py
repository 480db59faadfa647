"""Grids: which parameters of which engines take which values, and the arms that makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from harness.engines.registry import check_parameters, engine_class, parse_arm
from harness.errors import UnknownName, UsageError
from harness.types import Arm

MOST_CELLS = 10_000


@dataclass(frozen=True)
class Axis:
    """One parameter of one engine and the values it takes, checked, in the order given."""

    engine: str
    parameter: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Cell:
    """One combination: its arm, and what in it was asked for (parameter to value). ``default`` marks the cell in
    which nothing was changed."""

    arm: Arm
    varied: Mapping[str, Any]
    default: bool = False


@dataclass(frozen=True)
class Grid:
    """All axes of a sweep; ``fixed`` are parameters that differ from the defaults in every cell."""

    axes: tuple[Axis, ...]
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def engines(self) -> list[str]:
        """Engines in order of first appearance."""
        return list(dict.fromkeys(axis.engine for axis in self.axes))

    def axes_of(self, engine: str) -> list[Axis]:
        """The axes of one engine."""
        return [axis for axis in self.axes if axis.engine == engine]


def parse_grid(specs: Sequence[str], engine: str | None = None, fixed: Sequence[str] = ()) -> Grid:
    """Read ``engine.parameter=v1,v2`` (the engine may be left out where ``engine`` names one).

    Raises ``UnknownName`` for an engine or a parameter, ``UsageError`` for a value that does not fit.
    """
    if not specs:
        raise UsageError("a sweep needs --grid engine.parameter=v1,v2")
    always: dict[str, dict[str, Any]] = {}
    for spec in fixed:
        name, parameter, values = _split(spec, engine, "--set")
        if len(values) != 1:
            raise UsageError(f"--set {spec}: expected one value")
        always.setdefault(name, {})[parameter] = _checked(name, parameter, values[0])
    axes = []
    for spec in specs:
        name, parameter, values = _split(spec, engine, "--grid")
        read = tuple(dict.fromkeys(_checked(name, parameter, value) for value in values))
        axes.append(Axis(name, parameter, read))
    repeated = {(axis.engine, axis.parameter) for axis in axes if _count(axes, axis) > 1}
    if repeated:
        raise UsageError(f"--grid names {'.'.join(sorted(repeated)[0])} more than once")
    return Grid(tuple(axes), always)


def cells(grid: Grid, one_at_a_time: bool) -> list[Cell]:
    """The defaults of every engine, then each combination; or, one at a time, each other value of each parameter alone.

    Raises ``UsageError`` for a combination that the engine refuses and for more than 10,000 cells.
    """
    found: dict[str, Cell] = {}
    for engine in grid.engines:
        axes = grid.axes_of(engine)
        size = prod(len(axis.values) for axis in axes)
        if size > MOST_CELLS and not one_at_a_time:
            raise UsageError(
                f"the grid has {size:,} cells, more than {MOST_CELLS:,}; use --one-at-a-time or fewer values"
            )
        fixed = grid.fixed.get(engine, {})
        usual = {**defaults_of(engine), **fixed}
        base = {axis.parameter: usual[axis.parameter] for axis in axes}
        for varied in (base, *(_alone(axes, base) if one_at_a_time else _product(axes))):
            made = make_cell(engine, varied, fixed)
            found.setdefault(made.arm.name, made)
    return list(found.values())


def make_cell(engine: str, varied: Mapping[str, Any], fixed: Mapping[str, Any]) -> Cell:
    """The arm of one combination; it is named by what differs from the engine's defaults."""
    defaults = defaults_of(engine)
    changed = {name: value for name, value in {**fixed, **varied}.items() if value != defaults[name]}
    listed = ",".join(f"{name}={_text(value)}" for name, value in changed.items())
    arm = parse_arm(f"{engine}:{listed}" if listed else engine)
    return Cell(
        arm, dict(varied), default=not any(value != fixed.get(name, defaults[name]) for name, value in varied.items())
    )


def defaults_of(engine: str) -> dict[str, Any]:
    """Every parameter of an engine with its default."""
    return check_parameters(engine_class(engine), {})


def _split(spec: str, engine: str | None, what: str) -> tuple[str, str, list[str]]:
    where, equals, listed = spec.partition("=")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not equals or not values:
        raise UsageError(f"{what} {spec!r}: expected engine.parameter=v1,v2")
    name, dot, parameter = where.strip().partition(".")
    if not dot:
        if engine is None:
            raise UsageError(f"{what} {spec!r}: say which engine, as in agentmem.{name}=..., or name one with --engine")
        name, parameter = engine, name
    valid = defaults_of(name)
    if parameter not in valid:
        raise UnknownName(f"parameter of arm {name!r}", parameter, valid)
    return name, parameter, values


def _checked(engine: str, parameter: str, value: str) -> Any:
    return check_parameters(engine_class(engine), {parameter: value})[parameter]


def _count(axes: Sequence[Axis], axis: Axis) -> int:
    return sum((other.engine, other.parameter) == (axis.engine, axis.parameter) for other in axes)


def _product(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    names = [axis.parameter for axis in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in axes))]


def _alone(axes: Sequence[Axis], base: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**base, axis.parameter: value} for axis in axes for value in axis.values]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
