"""The known formats, in the order in which they are tried: those that name themselves first."""

from __future__ import annotations

from harness.errors import UnknownName
from harness.trajectories import (
    anthropic_blocks,
    atif,
    mini_swe_agent,
    openai_chat,
    openhands,
    replay,
    swe_agent,
    vorflux,
)
from harness.trajectories.draft import Format

FORMATS: tuple[Format, ...] = (
    replay.FORMAT,
    atif.FORMAT,
    mini_swe_agent.FORMAT,
    vorflux.FORMAT,
    swe_agent.FORMAT,
    openhands.FORMAT,
    anthropic_blocks.FORMAT,
    openai_chat.FORMAT,
)


def format_names() -> list[str]:
    """The names that ``--format`` takes."""
    return [known.name for known in FORMATS]


def by_name(name: str) -> Format:
    """The format of that name. Raises ``UnknownName``."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise UnknownName("format", name, format_names())


def recognise(record: object) -> Format | None:
    """The first format that recognises a record by its content."""
    return next((known for known in FORMATS if known.matches(record)), None)
