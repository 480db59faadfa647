"""Engines by name (entry points of the group ``agentmem_bench.engines``) and arms by ``NAME[:key=value,...]``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from harness.errors import UnknownName, UsageError
from harness.protocols import ContextEngine, EngineContext
from harness.types import Arm

GROUP = "agentmem_bench.engines"


@cache
def names() -> tuple[str, ...]:
    """The engines that are installed, sorted."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


@cache
def engine_class(name: str) -> type[ContextEngine]:
    """The engine of that name. Raises ``UnknownName``."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            found: type[ContextEngine] = point.load()
            return found
    raise UnknownName("arm", name, names())


def parse_arm(spec: str) -> Arm:
    """Read ``NAME`` or ``NAME:key=value,key=value``. The arm carries every parameter, defaults included.

    Raises ``UnknownName`` for an engine or a key, ``UsageError`` for a value that does not fit.
    """
    name, _, rest = spec.partition(":")
    cls = engine_class(name.strip())
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"arm {spec!r}: expected key=value, found {pair!r}")
        given[key.strip()] = value.strip()
    return Arm(name=spec, engine=name.strip(), parameters=check_parameters(cls, given))


def check_parameters(cls: type[ContextEngine], given: dict[str, Any]) -> dict[str, Any]:
    """All parameters of an engine, with ``given`` checked and defaults filled in."""
    valid = cls.Parameters.model_fields
    for key in given:
        if key not in valid:
            raise UnknownName(f"parameter of arm {cls.name!r}", key, valid or ["no parameters at all"])
    try:
        return cls.Parameters(**given).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"arm {cls.name!r}: {where}={first['input']!r}: {first['msg'].lower()}") from error


def build(arm: Arm, context: EngineContext) -> ContextEngine:
    """A fresh engine for one session."""
    cls = engine_class(arm.engine)
    return cls(cls.Parameters(**arm.parameters), context)
