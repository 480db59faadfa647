"""One extraction run (L1): the next messages of a session become atoms, and the cursor moves with them or not at all.

The cursor is the number of the last row that was shown; it is written in the transaction that writes the atoms.
memory_core.md B7, B10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentmem.errors import StoreConflict
from agentmem.longterm.candidates import TextEmbedder, find_candidates
from agentmem.longterm.clock import Clock
from agentmem.longterm.dedup import Decided, Decider
from agentmem.longterm.dedup_answer import Decision
from agentmem.longterm.extraction import Draft, Extracted, Extractor, Window
from agentmem.longterm.gates import should_extract
from agentmem.longterm.keys import state_key
from agentmem.longterm.writing import Writing, as_atom, fold, write_up
from agentmem.settings.longterm import Extraction, PromptMode
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Atom, Scope, Turn

CONFLICT_TRIES = 3


@dataclass(frozen=True, slots=True)
class L1Result:
    """What a run did. ``shown`` messages were looked at, ``passed`` held nothing to look at; ``more`` says that rows
    wait behind the cursor; ``notes`` name what did not work as meant."""

    shown: int = 0
    passed: int = 0
    stored: tuple[str, ...] = ()
    superseded: int = 0
    skipped: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    notes: tuple[str, ...] = ()


class L1Runner:
    """Runs extractions of one store. Calls for one scope must not overlap in a process; another process that was
    faster is noticed, and then nothing is written."""

    def __init__(
        self,
        store: MemoryStore,
        settings: Extraction,
        mode: PromptMode,
        extractor: Extractor,
        decider: Decider,
        clock: Clock,
        conflict_count: int = 5,
        embedder: TextEmbedder | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.mode = mode
        self.extractor = extractor
        self.decider = decider
        self.clock = clock
        self.conflict_count = conflict_count
        self.embedder = embedder

    def waiting(self, scope: Scope, session: str) -> int:
        """Rows of a session behind the cursor."""
        return self.store.count_turns(scope, self._cursor(scope, session), session)

    def run(self, scope: Scope, session: str) -> L1Result:
        """Look at the next batch. Raises ``ModelError`` when the extractor failed; the cursor stays then."""
        state = self.store.state(state_key("l1", scope, session)) or {}
        cursor = int(state.get("cursor", 0))
        shown, reached, passed = self._next(scope, session, cursor)
        if reached == cursor:
            return L1Result()
        if not shown:
            self._commit(scope, session, cursor, reached, str(state.get("scene", "")), None)
            return L1Result(passed=passed, more=self.waiting(scope, session) > 0)
        background = self.store.turns_before(scope, cursor, self.settings.background_messages, session)
        window = Window(
            new=tuple(shown),
            background=tuple(background),
            scene=str(state.get("scene", "")),
            mode=self.mode,
            limit=self.settings.max_memories_per_session,
        )
        extracted = self.extractor.extract(window)
        for attempt in range(1, CONFLICT_TRIES + 1):
            try:
                return self._store(scope, session, cursor, reached, passed, window, extracted)
            except StoreConflict:  # somebody replaced a candidate meanwhile: compare again with what is there now
                if attempt == CONFLICT_TRIES:
                    raise
        raise AssertionError("unreachable: the last try returns or raises")

    def _cursor(self, scope: Scope, session: str) -> int:
        return int((self.store.state(state_key("l1", scope, session)) or {}).get("cursor", 0))

    def _next(self, scope: Scope, session: str, cursor: int) -> tuple[list[Turn], int, int]:
        """Rows to show, the number of the last row they reach, and how many rows in between hold nothing."""
        shown: list[Turn] = []
        passed = 0
        limit = self.settings.batch_messages
        while len(shown) < limit:
            page = self.store.turns_after(scope, cursor, limit * 5, session)
            for turn in page:
                if len(shown) == limit:
                    return shown, cursor, passed
                cursor = turn.seq
                if self._worth(turn):
                    shown.append(turn)
                else:
                    passed += 1
            if len(page) < limit * 5:
                break
        return shown, cursor, passed

    def _worth(self, turn: Turn) -> bool:
        if turn.role == "tool":
            return self.mode == "code"
        return should_extract(turn.content)

    def _store(
        self, scope: Scope, session: str, cursor: int, reached: int, passed: int, window: Window, extracted: Extracted
    ) -> L1Result:
        drafts, dropped = _trusted(extracted.drafts, window)
        now = int(self.clock.now() * 1000)
        folded = fold(drafts)
        new = {atom.id: atom for atom in (as_atom(scope, session, draft, now) for draft in folded)}
        stale = self._stale(scope, window)
        writing, decided, note = self._decide(scope, new, dict(zip(new, folded, strict=True)), stale)
        retired = self._retire(stale, window, writing, decided)
        if not self._commit(scope, session, cursor, reached, extracted.scene, (writing, retired)):
            return L1Result(more=True, notes=("another process extracted these messages first",))
        return L1Result(
            shown=len(window.new),
            passed=passed,
            stored=tuple(atom.id for atom in writing.atoms),
            superseded=sum(map(len, writing.supersedes.values())) + len(retired),
            skipped=writing.skipped,
            dropped={**extracted.dropped, **dropped},
            more=self.waiting(scope, session) > 0,
            notes=tuple(note for note in (note, decided.degraded) if note),
        )

    def _decide(
        self, scope: Scope, new: Mapping[str, Atom], drafts: Mapping[str, Draft], stale: Sequence[Atom]
    ) -> tuple[Writing, Decided, str]:
        """Compare the batch with the store and with itself."""
        if not self.settings.enable_dedup:
            return write_up(scope, list(new.values()), {}, {}), Decided({}, "off"), ""
        found, note = find_candidates(self.store, scope, drafts, self.conflict_count, self.embedder)
        earlier: list[Atom] = []
        for id, atom in new.items():
            extra = [old for old in stale if set(old.sources) & set(atom.sources) and old.id not in new]
            known = {old.id for old in found[id]}
            found[id] = [*found[id], *(old for old in extra if old.id not in known), *earlier]
            earlier.append(atom)
        decided = self.decider.decide(drafts, found)
        old = {atom.id: atom for atoms in found.values() for atom in atoms}
        decisions = {id: self._checked(id, decided.decisions.get(id, Decision(id)), old) for id in new}
        return write_up(scope, list(new.values()), decisions, old), decided, note

    @staticmethod
    def _checked(id: str, decision: Decision, old: Mapping[str, Atom]) -> Decision:
        return replace(decision, id=id, targets=tuple(target for target in decision.targets if target in old))

    def _stale(self, scope: Scope, window: Window) -> list[Atom]:
        """Live atoms that already rest on a message of the window: it was edited since they were made."""
        ids = [turn.id for turn in window.new]
        return [atom for atom in self.store.atoms_resting_on(scope, ids) if atom.superseded_by is None]

    @staticmethod
    def _retire(stale: Sequence[Atom], window: Window, writing: Writing, decided: Decided) -> tuple[str, ...]:
        """Stale atoms that rest on edited messages alone, and that the edited text neither says nor replaces."""
        kept = {atom.id for atom in writing.atoms} | {id for ids in writing.supersedes.values() for id in ids}
        kept |= {id for decision in decided.decisions.values() if decision.action == "skip" for id in decision.targets}
        shown = {turn.id for turn in window.new}
        return tuple(atom.id for atom in stale if atom.id not in kept and set(atom.sources) <= shown)

    def _commit(
        self,
        scope: Scope,
        session: str,
        cursor: int,
        reached: int,
        scene: str,
        written: tuple[Writing, tuple[str, ...]] | None,
    ) -> bool:
        """Write atoms and cursor together; False, and nothing written, when the cursor has moved meanwhile."""
        key = state_key("l1", scope, session)
        with self.store.transaction():
            state = self.store.state(key) or {}
            if int(state.get("cursor", 0)) != cursor:
                return False
            if written is not None:
                writing, retired = written
                self.store.put_atoms(scope, writing.atoms, writing.supersedes)
                self.store.delete_atoms(scope, retired)
                self._count(scope, len(writing.atoms))
            self.store.set_state(key, {**state, "cursor": reached, "scene": scene})
        return True

    def _count(self, scope: Scope, stored: int) -> None:
        def change(counters: dict[str, Any]) -> dict[str, Any]:
            for name in ("memories_since_last_persona", "total_memories_extracted"):
                counters[name] = int(counters.get(name, 0)) + stored
            return counters

        self.store.update_state(state_key("profile", scope), change)


def _trusted(drafts: Sequence[Draft], window: Window) -> tuple[list[Draft], dict[str, int]]:
    """Drafts without rules that come from text which reads like an injection; other drafts of it are marked."""
    flagged = {turn.id for turn in window.new if turn.metadata.get("flagged")}
    kept = []
    dropped = 0
    for draft in drafts:
        if not set(draft.sources) <= flagged:
            kept.append(draft)
        elif draft.type == "instruction":
            dropped += 1
        else:
            kept.append(replace(draft, metadata={**draft.metadata, "flagged": True}))
    return kept, {"reads like an injection": dropped} if dropped else {}
