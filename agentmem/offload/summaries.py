"""What a summariser is given, what it gives back, and the protocol of the two that ship: extractive and llm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

CALL_WIDTH = 150  # characters of a short description of a call


@dataclass(frozen=True, slots=True)
class Result:
    """One tool result to be summarised. ``key`` names its entry, ``call`` is the call as plain text."""

    key: str
    call: str
    text: str
    timestamp: float = 0.0
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """What stays visible of a result. ``score`` 0 to 10: how well it can stand for the result."""

    call: str
    text: str
    score: float


class Summariser(Protocol):
    """Turns results into summaries."""

    name: str

    def summarise(self, results: Sequence[Result], context: str = "") -> Mapping[str, Summary]:
        """Summaries by key. A key that is missing stays pending. Raises ``ModelError`` when there is no answer."""
        ...


def short_call(call: str, width: int = CALL_WIDTH) -> str:
    """A call on one line, at most ``width`` characters, the end cut off."""
    line = " ".join(call.split())
    return line if len(line) <= width else line[: width - 1] + "…"
