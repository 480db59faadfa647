"""Turns drafts and decisions into atoms and what they replace: sources united, times sorted, nothing lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentmem.longterm.atom_types import rank
from agentmem.longterm.dedup_answer import Decision
from agentmem.longterm.extraction import Draft
from agentmem.longterm.keys import atom_id
from agentmem.longterm.similarity import statement
from agentmem.store.records import Atom, Scope


@dataclass(frozen=True, slots=True)
class Writing:
    """Atoms to store, which old ones each replaces, and how many new ones an old one already said."""

    atoms: tuple[Atom, ...]
    supersedes: Mapping[str, tuple[str, ...]]
    skipped: int


def fold(drafts: Iterable[Draft]) -> list[Draft]:
    """Drafts that say the same become one, which rests on the sources of all and has the highest priority."""
    kept: list[Draft] = []
    for draft in drafts:
        said = statement(draft.content)
        for i, other in enumerate(kept):
            if other.type == draft.type and said.says_the_same(statement(other.content)):
                kept[i] = replace(
                    other,
                    sources=_united(other.sources, draft.sources),
                    priority=max(other.priority, draft.priority, key=rank),
                    timestamps=tuple(sorted({*other.timestamps, *draft.timestamps})),
                    metadata={**draft.metadata, **other.metadata},
                )
                break
        else:
            kept.append(draft)
    return kept


def as_atom(scope: Scope, session: str, draft: Draft, now: int) -> Atom:
    """A draft as a new atom; its id follows from what it says and what it rests on."""
    return Atom(
        id=atom_id(scope, draft.type, draft.content, draft.sources),
        type=draft.type,
        content=draft.content,
        priority=draft.priority,
        scene=draft.scene,
        session=session,
        sources=draft.sources,
        metadata=dict(draft.metadata),
        timestamps=draft.timestamps,
        created=now,
        updated=now,
    )


def write_up(scope: Scope, new: Sequence[Atom], decisions: Mapping[str, Decision], old: Mapping[str, Atom]) -> Writing:
    """Apply decisions to a batch. ``old`` holds every candidate by id.

    A new atom that another new one replaces is not stored: what it would have replaced goes to the other one, and its
    sources too.
    """
    known = {**old, **{atom.id: atom for atom in new}}
    fresh = {atom.id for atom in new}
    gone = {t for d in decisions.values() if d.action in ("update", "merge") for t in d.targets if t in fresh}
    atoms: list[Atom] = []
    supersedes: dict[str, tuple[str, ...]] = {}
    skipped = 0
    for atom in new:
        decision = decisions.get(atom.id, Decision(atom.id))
        if decision.action == "skip":
            skipped += 1
        elif atom.id not in gone:
            targets = _all_targets(decision, decisions, fresh)
            merged = _merged(scope, atom, decision, [known[target] for target in targets])
            replaced = tuple(target for target in targets if target not in fresh and target != merged.id)
            atoms.append(merged)
            if replaced:
                supersedes[merged.id] = replaced
    return Writing(tuple(atoms), supersedes, skipped)


def _all_targets(decision: Decision, decisions: Mapping[str, Decision], fresh: set[str]) -> list[str]:
    if decision.action not in ("update", "merge"):
        return []
    found: list[str] = []
    waiting = list(decision.targets)
    while waiting:
        target = waiting.pop(0)
        if target in found or target == decision.id:
            continue
        found.append(target)
        if target in fresh and target in decisions and decisions[target].action in ("update", "merge"):
            waiting.extend(decisions[target].targets)
    return found


def _merged(scope: Scope, atom: Atom, decision: Decision, targets: Sequence[Atom]) -> Atom:
    if not targets:
        return atom
    sources = _united(*(target.sources for target in targets), atom.sources)
    kind, content = decision.type or atom.type, (decision.content or atom.content).strip()
    metadata: dict[str, object] = {}
    for target in targets:
        metadata.update(target.metadata)
    metadata.update(atom.metadata)
    times = {*atom.timestamps, *(decision.timestamps or ())}
    for target in targets:
        times.update(target.timestamps)
    return replace(
        atom,
        id=atom_id(scope, kind, content, sources),
        type=kind,
        content=content,
        priority=atom.priority if decision.priority is None else decision.priority,
        scene=atom.scene or targets[0].scene,
        sources=sources,
        metadata=metadata,
        timestamps=tuple(sorted(times)),
        created=min(target.created for target in targets),
        version=max(target.version for target in targets) + 1,
    )


def _united(*groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for group in groups for id in group))
