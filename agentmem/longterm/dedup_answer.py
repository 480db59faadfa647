"""Reads a model's decisions on duplicates and checks them against what it was shown. memory_core.md B9."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentmem.errors import BadAnswer
from agentmem.llm.jsonrepair import find_json
from agentmem.longterm.atom_types import TYPES
from agentmem.longterm.extraction_answer import scalar_text

Action = Literal["store", "skip", "update", "merge"]
ACTIONS: tuple[Action, ...] = ("store", "skip", "update", "merge")


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a new atom. ``targets`` are old atoms it replaces; merged fields are None when not given."""

    id: str
    action: Action = "store"
    targets: tuple[str, ...] = ()
    content: str | None = None
    type: str | None = None
    priority: int | None = None
    timestamps: tuple[str, ...] | None = None


def parse_decisions(answer: str, ids: Sequence[str]) -> list[Decision]:
    """The decisions as the model wrote them, then ``store`` for every id it left out.

    An answer without a list decides nothing: everything is stored.
    """
    found = read_decisions(answer) or []
    decided = {decision.id for decision in found}
    return found + [Decision(id) for id in ids if id not in decided]


def read_decisions(answer: str) -> list[Decision] | None:
    """The decisions as the model wrote them; None when the answer holds no list."""
    try:
        value = find_json(answer, want="list").value
    except BadAnswer:
        return None
    if not isinstance(value, list):
        return None
    decisions = (_decision(item) for item in value if isinstance(item, dict))
    return [decision for decision in decisions if decision is not None]


def settle(
    decisions: Sequence[Decision], ids: Sequence[str], candidates: Mapping[str, Collection[str]]
) -> dict[str, Decision]:
    """One decision an id, checked: the first one counts, unknown ids are ignored, targets must be candidates of that
    id and are replaced by one decision only. An update or merge without a target or a text stores, and so does a skip
    of something that had nothing to be compared with."""
    settled: dict[str, Decision] = {}
    taken: set[str] = set()
    known = set(ids)
    for decision in decisions:
        if decision.id not in known or decision.id in settled:
            continue
        allowed = set(candidates.get(decision.id, ()))
        if decision.action == "skip":
            targets = tuple(target for target in dict.fromkeys(decision.targets) if target in allowed)
            settled[decision.id] = Decision(decision.id, "skip", targets) if allowed else Decision(decision.id)
            continue
        if decision.action in ("update", "merge"):
            targets = tuple(t for t in dict.fromkeys(decision.targets) if t in allowed and t not in taken)
            if targets and (decision.content or "").strip():
                taken.update(targets)
                settled[decision.id] = _with_targets(decision, targets)
                continue
        settled[decision.id] = Decision(decision.id)
    return {id: settled.get(id, Decision(id)) for id in ids}


def _with_targets(decision: Decision, targets: tuple[str, ...]) -> Decision:
    return Decision(
        decision.id, decision.action, targets, decision.content, decision.type, decision.priority, decision.timestamps
    )


def _decision(item: Mapping[str, Any]) -> Decision | None:
    id = scalar_text(item.get("record_id"))
    if not id:
        return None
    action, kind, priority = item.get("action"), item.get("merged_type"), item.get("merged_priority")
    content, times, targets = item.get("merged_content"), item.get("merged_timestamps"), item.get("target_ids")
    is_number = isinstance(priority, int | float) and not isinstance(priority, bool)
    return Decision(
        id=id,
        action=action if action in ACTIONS else "store",
        targets=_texts(targets) or (),
        content=content if isinstance(content, str) else None,
        type=kind if kind in TYPES else None,
        priority=round(priority) if is_number else None,  # type: ignore[arg-type]  # a number: just tested
        timestamps=_texts(times),
    )


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(text for text in map(scalar_text, value) if text is not None)
