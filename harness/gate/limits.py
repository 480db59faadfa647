"""How much worse a run may get, from `[tool.agentmem-bench.gate]` of a pyproject.toml and from flags."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from harness.errors import UnknownName, UnreadableInput, UsageError

TABLE = "tool.agentmem-bench.gate"


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits are shares: 0.005 is half a percent, or half a point of a rate."""

    tokens: float = 0.005
    """Exact runs: growth of the tokens an arm may show."""
    support_adjusted: float = 0.005
    """Exact runs: growth of tokens + repairs."""
    cost: float = 0.005
    """Exact runs: growth of the price, cached tokens being cheaper: an engine that rewrites history pays here."""
    needs_not_visible: float = 0.005
    """Exact runs: growth of the needs the prompt no longer held. One more lost need always fails."""
    pass_rate: float = 0.02
    """Sampled runs: a drop of the pass rate must be larger than this to count."""
    sampled_tokens: float = 0.05
    """Sampled runs: growth of the tokens must be larger than this to count."""
    alpha: float = 0.01
    """Sampled runs: two-sided level at which a drop is significant, in both runs."""
    failure_rate: float = 0.05
    """A run with a larger share of errored tasks is invalid."""


def load_limits(config: Path | None, flags: Sequence[str] = ()) -> Limits:
    """Read limits from a pyproject.toml (`None`: defaults) and put flags of the form NAME=SHARE on top.

    Raises `UnknownName` for a key that does not exist, `UsageError` for a value that is no share between 0 and 1.
    """
    limits = _checked(Limits(), _table(config), f"{config}: {TABLE}") if config else Limits()
    return _checked(limits, dict(map(_flag, flags)), "--limit")


def _checked(limits: Limits, given: Mapping[str, Any], where: str) -> Limits:
    valid = [field.name for field in fields(Limits)]
    for name, value in given.items():
        if name not in valid:
            raise UnknownName(f"key in {where}:", name, valid)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
            raise UsageError(
                f"{where}: {name} must be a share between 0 and 1 (0.005 is half a percent), got {value!r}"
            )
    return replace(limits, **given)


def _flag(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise UsageError(f"--limit: expected NAME=SHARE such as tokens=0.01, got {text!r}") from error


def _table(config: Path) -> Mapping[str, Any]:
    try:
        data: Any = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnreadableInput(f"{config}: cannot be read as TOML: {error}") from error
    for part in TABLE.split("."):
        data = data.get(part, {}) if isinstance(data, dict) else {}
    if not isinstance(data, dict):
        raise UsageError(f"{config}: {TABLE} must be a table of limits, got {data!r}")
    return data
