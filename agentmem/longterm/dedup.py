"""Decides which new atoms are stored, skipped, or replace old ones. memory_core.md B9, without its defects.

Candidates come from keyword and vector search over the whole scope; new atoms of one batch are candidates for those
behind them. ``llm`` asks once for the batch, ``rules`` compares words; when the model fails the rules decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentmem.errors import ModelError
from agentmem.llm.protocol import Ask, LanguageModel
from agentmem.longterm.dedup_answer import Decision, read_decisions, settle
from agentmem.longterm.extraction import Draft
from agentmem.longterm.prompts import DEDUP, dedup_message
from agentmem.longterm.similarity import Statement, statement
from agentmem.messages import Message
from agentmem.store.records import Atom

CORRECTED = 0.25  # likeness above which a correction replaces what it is about
# slots that hold one value at a time even when nobody says that it changed
SINGLE = ("name", "age", "address", "language", "contact", "favourite")
CHANGES = ("now", "moved", "new", "changed", "no longer", "started", "joined", "现在", "搬", "换", "改", "不再")


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision for every new atom, who made them, and why not the one who should have."""

    decisions: Mapping[str, Decision]
    by: str
    degraded: str = ""


class Decider(Protocol):
    """Decides for a batch. ``candidates`` holds, per new id, old atoms and earlier new ones, nearest first."""

    def decide(self, new: Mapping[str, Draft], candidates: Mapping[str, Sequence[Atom]]) -> Decided:
        """Never raises for a model that fails."""
        ...


class RulesDecider:
    """Compares words. The same batch gives the same decisions."""

    def decide(self, new: Mapping[str, Draft], candidates: Mapping[str, Sequence[Atom]]) -> Decided:
        """See ``Decider``."""
        parts = {atom.id: statement(atom.content) for atoms in candidates.values() for atom in atoms}
        taken: set[str] = set()
        decisions: dict[str, Decision] = {}
        for id, draft in new.items():
            decision = self._one(id, draft, [a for a in candidates.get(id, ()) if a.id not in taken], parts)
            taken.update(decision.targets if decision.action in ("update", "merge") else ())
            if decision.action == "skip":
                taken.add(id)  # it will not be there for those behind it
            decisions[id] = decision
        return Decided(decisions, "rules")

    def _one(self, id: str, draft: Draft, old: Sequence[Atom], parts: Mapping[str, Statement]) -> Decision:
        said = statement(draft.content)
        replaced: list[str] = []
        for atom in old:
            if atom.type != draft.type:
                continue
            before = parts[atom.id]
            if said.says_the_same(before) or before.covers(said):
                return Decision(id, "skip", (atom.id,))
            if said.covers(before) or self._same_slot(draft, atom, said, before):
                replaced.append(atom.id)
        if not replaced and draft.metadata.get("correction"):
            replaced = self._corrected(draft, old, said, parts)
        if not replaced:
            return Decision(id)
        return Decision(id, "update", tuple(replaced), draft.content, draft.type, draft.priority)

    @staticmethod
    def _same_slot(draft: Draft, atom: Atom, said: Statement, before: Statement) -> bool:
        slot = str(draft.metadata.get("slot", ""))
        if not slot or slot != atom.metadata.get("slot") or said.subject != before.subject:
            return False
        changed = bool(draft.metadata.get("correction")) or any(word in said.text for word in CHANGES)
        return changed or slot.split(" ")[0] in SINGLE

    @staticmethod
    def _corrected(draft: Draft, old: Sequence[Atom], said: Statement, parts: Mapping[str, Statement]) -> list[str]:
        alike = [(said.likeness(parts[atom.id]), atom.id) for atom in old if atom.type == draft.type]
        best = max(alike, default=(0.0, ""), key=lambda pair: pair[0])
        return [best[1]] if best[0] >= CORRECTED else []


class LlmDecider:
    """Asks a model once for the whole batch. ``timeout`` is in seconds."""

    def __init__(self, model: LanguageModel, timeout: float = 180.0) -> None:
        self.model = model
        self.timeout = timeout
        self.rules = RulesDecider()

    def decide(self, new: Mapping[str, Draft], candidates: Mapping[str, Sequence[Atom]]) -> Decided:
        """See ``Decider``. Nothing to compare with: no call."""
        pool = {atom.id: atom for atoms in candidates.values() for atom in atoms if atom.id not in new}
        if not any(candidates.values()):
            return Decided({id: Decision(id) for id in new}, "nothing to compare with")
        ids = {id: [atom.id for atom in atoms] for id, atoms in candidates.items()}
        shown = {
            id: {"content": d.content, "type": d.type, "priority": d.priority, "timestamps": list(d.timestamps)}
            for id, d in new.items()
        }
        user = dedup_message(shown, list(pool.values()), ids)
        ask = Ask((Message("system", DEDUP), Message("user", user)), task="l1-conflict-detection", timeout=self.timeout)
        try:
            reply = self.model.ask(ask)
        except ModelError as error:
            return self._fallback(new, candidates, str(error))
        decisions = read_decisions(reply.text)
        if decisions is None:
            return self._fallback(new, candidates, "the answer holds no list of decisions")
        return Decided(settle(decisions, list(new), ids), "llm")

    def _fallback(self, new: Mapping[str, Draft], candidates: Mapping[str, Sequence[Atom]], why: str) -> Decided:
        return Decided(self.rules.decide(new, candidates).decisions, "rules", why)
