"""What the store keeps and returns: frozen records, without behaviour. Times are integer milliseconds since 1970, UTC.

``seq`` numbers the rows of a table in the order in which they were written; it is the only thing a cursor holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentmem.errors import ScopeRequired

Level = Literal["turn", "atom"]
LEVELS: tuple[Level, ...] = ("turn", "atom")


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is. Every read and write names one; rows of another scope are never returned.

    Raises ``ScopeRequired`` when a part is empty.
    """

    user: str
    agent: str = "default"
    team: str = "default"

    def __post_init__(self) -> None:
        for part in ("user", "agent", "team"):
            if not getattr(self, part):
                raise ScopeRequired(f"the scope has no {part}: name user, agent and team")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation (L0).

    ``id`` is unique within its scope and comes from the host or from the content; ``timestamp`` is when the message was
    said, ``offset`` the minutes its clock was ahead of UTC, ``recorded`` when it was stored. ``position`` is the place
    in its session; a negative one is replaced by the next free place. ``refs`` are pointers to evidence (tool results).
    ``seq`` is 0 before the store has given one.
    """

    id: str
    session: str
    role: str
    content: str
    timestamp: int
    speaker: str = ""
    position: int = -1
    offset: int = 0
    kind: str = "message"
    refs: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    recorded: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Atom:
    """One memory (L1): a sentence that stands alone, and the messages it rests on.

    ``sources`` are ids of turns; ``timestamps`` are ISO texts of when it was true or happened, oldest first;
    ``superseded_by`` is the id of the atom that replaced it, None while it is live. ``change`` grows with every write
    of any atom, so that a reader can ask for what changed since.
    """

    id: str
    type: str
    content: str
    priority: int = 50
    scene: str = ""
    session: str = ""
    sources: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    timestamps: tuple[str, ...] = ()
    created: int = 0
    updated: int = 0
    version: int = 0
    superseded_by: str | None = None
    seq: int = 0
    change: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """What a write did: ids that are new, that replaced an older text, and that were there already."""

    new: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One row that a search found.

    ``score`` is the raw score of that search (higher is better), ``rank`` starts at 1.
    """

    seq: int
    id: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Pending:
    """One row that has no vector of the current embedder yet."""

    level: Level
    seq: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Traces:
    """How often ids or a scope still occur, per place. ``none`` is the proof that nothing is left."""

    counts: Mapping[str, int]

    @property
    def none(self) -> bool:
        """True when every count is 0."""
        return not any(self.counts.values())


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What the store holds and which of its parts work.

    ``vector_path`` is "sqlite-vec", "numpy" or "off" and ``vector_reason`` says why; ``segmenter`` names what cuts
    Chinese and Japanese text; ``pending`` counts rows without a vector of the current embedder, by level.
    """

    path: str
    schema: int
    turns: int
    atoms: int
    superseded: int
    embedder: str | None
    dimensions: int | None
    vector_path: str
    vector_reason: str
    segmenter: str
    pending: Mapping[str, int]
    bytes: int
