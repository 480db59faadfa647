"""Looking into a memory, taking it along, forgetting: the part of the facade that no turn needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path

from agentmem.config import Config
from agentmem.errors import ScopeRequired
from agentmem.longterm.archive import Archive, Imported
from agentmem.longterm.clock import Clock
from agentmem.longterm.forget import Forgetter, Forgotten
from agentmem.longterm.journal import Journal
from agentmem.longterm.pipeline import Pipeline
from agentmem.longterm.retention import Cleaned, Cleaner
from agentmem.longterm.scheduler import Scheduler
from agentmem.longterm.trace import StatementTrace, Tracer
from agentmem.longterm.worker import Worker
from agentmem.offload.evidence import EvidenceStore
from agentmem.store.database import Store
from agentmem.store.records import Scope


class Upkeep:
    """Base of ``agentmem.core.Memory``, which sets the attributes."""

    folder: Path
    config: Config
    scope: Scope | None
    clock: Clock
    store: Store
    evidence: EvidenceStore
    journal: Journal
    pipeline: Pipeline
    scheduler: Scheduler
    _worker: Worker
    _zone: tzinfo | None
    _troubles: dict[str, str]

    def persona(self, scope: Scope | None = None) -> str | None:
        """The persona without its navigation; None while there is none."""
        return self.pipeline.profile(self._scope(scope)).persona()

    def trace(self, name: str = "persona", scope: Scope | None = None) -> list[StatementTrace]:
        """From ``persona``, a scene's file, an atom or a message to what it rests on. Raises ``RecordNotFound``."""
        owner = self._scope(scope)
        return Tracer(self.store, owner, self.pipeline.profile(owner)).follow(name)

    def export(self, path: Path | str, scope: Scope | None = None) -> dict[str, int]:
        """Write everything of a scope into one archive; returns counts."""
        with self.scheduler.paused():
            return Archive(self.store, self.evidence, self.folder).export(self._scope(scope), Path(path))

    def load(self, path: Path | str, scope: Scope | None = None) -> Imported:
        """Take over an archive, into its own scope or another; what is known already is not added again."""
        with self.scheduler.paused():
            imported = Archive(self.store, self.evidence, self.folder).load(Path(path), scope)
            self.scheduler.recover(parked=False)
        for each in self.store.scopes():
            self._follow(each)
        self._worker.wake()
        return imported

    def forget(self, ids: Sequence[str] | None = None, scope: Scope | None = None, sources: bool = False) -> Forgotten:
        """Forget records, or everything of a scope when ``ids`` is None; the result proves that nothing is left.

        See ``longterm.forget``. ``sources`` also forgets the messages that forgotten atoms rest on.
        """
        owner = self._scope(scope)
        forgetter = Forgetter(self.store, self.journal, self.evidence, self.folder)
        with self.scheduler.paused():
            if ids is not None:
                return forgetter.records(owner, ids, sources)
            self.scheduler.forget(owner)
            return forgetter.scope(owner)

    def clean(self) -> Cleaned:
        """Remove what is older than ``capture.l0l1RetentionDays`` now, not only at its time of day."""
        with self.scheduler.paused():
            return self._cleaner().clean()

    def _cleaner(self) -> Cleaner:
        return Cleaner(self.store, self.journal, self.clock, self.config.retention_days, self._zone)

    def _scope(self, scope: Scope | None) -> Scope:
        owner = scope or self.scope
        if owner is None:
            raise ScopeRequired("no scope: open the memory with a user, or name scope=Scope(user, agent, team)")
        return owner

    def _follow(self, scope: Scope) -> None:
        """Bring the journal up to date. The rows are safe already: a journal that cannot follow is told, not raised."""
        try:
            self.journal.follow(scope)
            self._troubles.pop("journal", None)
        except (OSError, ValueError) as error:
            self._troubles["journal"] = str(error)
