"""A memory in a temporary folder with a clock that tests move: real SQLite, real files, real rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentmem.config import Config
from agentmem.llm.protocol import LanguageModel
from agentmem.longterm.candidates import TextEmbedder
from agentmem.longterm.capture import Captured, Recorder
from agentmem.longterm.clock import ManualClock
from agentmem.longterm.journal import Journal
from agentmem.longterm.pipeline import Pipeline
from agentmem.longterm.profile import Profile
from agentmem.longterm.scheduler import Ran, Scheduler
from agentmem.longterm.transcript import read_messages
from agentmem.offload.evidence import EvidenceStore
from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn

ANA = Scope("ana")
EVERYTHING = 2**62


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


class World:
    """The parts of a memory, put together as the facade does it, without its thread."""

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any] | None = None,
        model: LanguageModel | None = None,
        embedder: TextEmbedder | None = None,
        clock: ManualClock | None = None,
    ) -> None:
        self.folder = folder
        self.config = Config.parse(config or {})
        self.clock = clock or ManualClock()
        self.store = Store(folder / "memory.db", clock=self.clock.now, synchronous="OFF")
        self.evidence = EvidenceStore(folder, durable=False)
        self.recorder = Recorder(self.store, self.config.capture, self.now, self.evidence)
        self.journal = Journal(folder, self.store, self.now)
        self.pipeline = Pipeline(folder, self.store, self.config, self.clock, model, embedder=embedder)
        self.scheduler = Scheduler(self.store, self.config.pipeline, self.config.extraction, self.clock, self.pipeline)

    def now(self) -> int:
        return int(self.clock.now() * 1000)

    def capture(
        self, messages: Sequence[Mapping[str, Any]], session: str = "s", scope: Scope = ANA, **more: Any
    ) -> Captured:
        def notify(captured: Captured) -> None:
            if captured.new or captured.replaced:
                self.scheduler.notify(scope, session)

        captured = self.recorder.capture(scope, session, read_messages(messages), then=notify, **more)
        self.scheduler.committed(scope, session)
        self.journal.follow(scope)
        return captured

    def say(self, *texts: str, session: str = "s", scope: Scope = ANA) -> None:
        """One turn: something said and an answer to it, for each text."""
        for text in texts:
            self.capture([user(text), assistant(f"Noted at {self.clock.now():.0f}.")], session, scope)
            self.clock.advance(1)

    def pass_time(self, seconds: float, step: float = 10.0) -> list[Ran]:
        """Let time pass and do what becomes due on the way."""
        ran: list[Ran] = []
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            due = self.scheduler.next_due()
            ahead = step if due is None else max(0.0, due - self.clock.now())
            self.clock.advance(min(max(ahead, 0.001), end - self.clock.now()))
            ran += self.scheduler.run_due()
        return ran

    def turns(self, scope: Scope = ANA) -> list[Turn]:
        return self.store.turns_before(scope, EVERYTHING, EVERYTHING)

    def atoms(self, scope: Scope = ANA, superseded: bool = False) -> list[Atom]:
        return self.store.atoms(scope, superseded=superseded)

    def profile(self, scope: Scope = ANA) -> Profile:
        return self.pipeline.profile(scope)

    def close(self) -> None:
        self.store.close()
