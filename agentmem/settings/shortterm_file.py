"""The short-term settings as a TOML file: table ``[short_term]``; what is not in it keeps its default."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from agentmem.errors import ConfigError
from agentmem.settings.explain import explain
from agentmem.settings.shortterm import ShortTermSettings

TABLE = "short_term"


def load_short_term(path: Path) -> ShortTermSettings:
    """Read the file. Raises ``ConfigError`` with the file, the key, its value and what would be right."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {error}") from error
    if set(values) != {TABLE} or not isinstance(values[TABLE], dict):
        raise ConfigError(f"{path}: expected the one table [{TABLE}], found {', '.join(sorted(values)) or 'nothing'}")
    try:
        return ShortTermSettings.model_validate(values[TABLE])
    except ValidationError as error:
        found = "; ".join(explain(ShortTermSettings, item) for item in error.errors())
        raise ConfigError(f"{path}: {TABLE}.{found}") from error


def dump_short_term(settings: ShortTermSettings, comments: Sequence[str] = ()) -> str:
    """The file for these settings, every one of them, under lines of comment; ``load_short_term`` reads it back."""
    lines = [f"# {line}".rstrip() for comment in comments for line in comment.splitlines()]
    lines.append(f"[{TABLE}]")
    for name, value in settings.model_dump().items():
        lines.append(f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}")
    return "\n".join(lines) + "\n"
