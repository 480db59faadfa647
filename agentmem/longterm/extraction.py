"""What an extractor is given and gives back (L1). Two stand behind the protocol: ``rules`` and ``llm``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentmem.settings.longterm import PromptMode
from agentmem.store.records import Turn


@dataclass(frozen=True, slots=True)
class Window:
    """The messages of one extraction. ``background`` is context only; ``scene`` is the name of the scene before."""

    new: tuple[Turn, ...]
    background: tuple[Turn, ...] = ()
    scene: str = ""
    mode: PromptMode = "chat"
    limit: int = 20


@dataclass(frozen=True, slots=True)
class Draft:
    """An atom before it is compared with others. ``timestamps`` are ISO texts; ``sources`` are ids of the window."""

    content: str
    type: str
    priority: int
    scene: str
    sources: tuple[str, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    timestamps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extracted:
    """Drafts in order of importance of their scenes, the name of the last scene, and what was left out and why."""

    drafts: tuple[Draft, ...]
    scene: str
    dropped: Mapping[str, int] = field(default_factory=dict)


class Extractor(Protocol):
    """Turns messages into drafts."""

    name: str

    def extract(self, window: Window) -> Extracted:
        """Raises ``ModelError`` when no usable answer can be had; nothing to remember is no error."""
        ...


def tally(reasons: Iterable[str]) -> dict[str, int]:
    """How often each reason occurs, by name."""
    counts: dict[str, int] = {}
    for reason in reasons:
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items()))
