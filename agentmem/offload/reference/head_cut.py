"""What the two deleting stages share: totals, the ids a deletion records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentmem.offload.reference.counting import Count, visible
from agentmem.offload.reference.script import stringify
from agentmem.offload.reference.shape import Raw, call_ids, is_result, result_id

MOST_IDS = 200  # ids one deletion records


@dataclass(slots=True)
class Deleted:
    """The new list and what went. ``ids`` repeats an id that went as a call and as a result."""

    messages: list[Raw]
    count: int = 0
    rounds: int = 0
    tokens: int = 0
    ids: list[str] = field(default_factory=list)
    stalled: bool = False


def size(message: Raw, count: Count) -> int:
    """Tokens of a message as the walk counts it: its whole JSON, internal keys included."""
    return count(stringify(message))


def slice_size(messages: Sequence[Raw], count: Count) -> int:
    """Tokens of a deleted run: its JSON as one list, internal keys left out."""
    return count(visible(list(messages)))


def ids_of(messages: Sequence[Raw]) -> list[str]:
    """Ids a deletion records: of an assistant the first call only, of a result its own."""
    ids: list[str] = []
    for message in messages:
        call = result_id(message) if is_result(message) else next(iter(call_ids(message)), None)
        if call:
            ids.append(call)
    return ids
