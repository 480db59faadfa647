"""The facade a host talks to: ``Memory``. One folder, one open memory, any number of users and threads.

    memory = Memory("memory", user="ana")
    memory.capture([{"role": "user", "content": "I live in Lisbon."}, ...], session="chat-1")
    recalled = memory.recall("Where do I live?")
    memory.close()

Everything works without a model and without a network; see docs/longterm.md.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from agentmem.config import Config
from agentmem.embed.choose import make_embedder
from agentmem.embed.protocol import Embedder
from agentmem.errors import ConfigError
from agentmem.llm.client import OpenAIModel
from agentmem.llm.protocol import Attempt, LanguageModel
from agentmem.longterm import search_tools
from agentmem.longterm.capture import Captured, Outcome, Recorder
from agentmem.longterm.chores import cleaning_chore, embedding_chore
from agentmem.longterm.clock import Clock, SystemClock, zone_of
from agentmem.longterm.gates import is_skipped_session
from agentmem.longterm.journal import Journal
from agentmem.longterm.pipeline import Pipeline
from agentmem.longterm.profile import PromptTexts
from agentmem.longterm.recall import Recalled, Recaller, Searched
from agentmem.longterm.scheduler import Pending, Ran, Scheduler
from agentmem.longterm.status import MemoryStatus
from agentmem.longterm.transcript import read_messages
from agentmem.longterm.upkeep import Upkeep
from agentmem.longterm.worker import Chore, Worker, in_time
from agentmem.messages import Message
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.retention import sweep
from agentmem.store.database import Store
from agentmem.store.records import Scope

DATABASE = "memory.db"
Given = Sequence[Message | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Flushed:
    """What a flush did. ``done`` is True when no message waits for extraction any more; else ``pending`` says what
    does, and why."""

    done: bool
    ran: tuple[Ran, ...] = ()
    pending: tuple[Pending, ...] = ()


class Memory(Upkeep):
    """An open memory. ``user``, ``agent`` and ``team`` are the scope of calls that name none; without a ``user`` every
    call must name one. Methods may be called from any thread, and have asynchronous twins (``acapture`` ...).

    ``model`` extracts and merges, ``writer`` writes scenes and persona (else ``model``), ``embedder`` makes vectors;
    each is made from the configuration when it is not given. With ``background`` a thread does what is due; without,
    ``run_due`` does. Raises ``ConfigError``, ``StoreError``, or ``ModelRejected`` when an embedder is not installed.
    """

    def __init__(
        self,
        folder: Path | str,
        user: str | None = None,
        agent: str = "default",
        team: str = "default",
        config: Config | Mapping[str, Any] | None = None,
        model: LanguageModel | None = None,
        writer: LanguageModel | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        background: bool = True,
    ) -> None:
        self.folder = Path(folder)
        self.config = config if isinstance(config, Config) else Config.parse(config or {})
        if self.config.store_backend != "sqlite":
            raise ConfigError(f"storeBackend: got {self.config.store_backend!r}, only 'sqlite' is implemented here")
        self.scope = Scope(user, agent, team) if user else None
        self.clock = clock or SystemClock()
        self._zone = zone_of(self.config.timezone)
        self._models = _models(self.config, model, writer)
        self._embedder = embedder or make_embedder(self.config)
        self.store = Store(self.folder / DATABASE, clock=self.clock.now)
        self.evidence = EvidenceStore(self.folder)
        self.journal = Journal(self.folder, self.store, self._now, self._zone)
        self._recorder = Recorder(self.store, self.config.capture, self._now, self.evidence, self._zone)
        self.pipeline = Pipeline(self.folder, self.store, self.config, self.clock, *self._models, self._embedder)
        self.scheduler = Scheduler(self.store, self.config.pipeline, self.config.extraction, self.clock, self.pipeline)
        self._recaller = Recaller(
            self.store, self.config.recall, self._embedder, lambda owner: PromptTexts(self.pipeline.profile(owner))
        )
        self._worker = Worker(self.scheduler, self.clock, self._chores(), self._followed)
        self._troubles: dict[str, str] = {}
        self._closed = False
        self._background = background
        if background:
            self._worker.start()
        else:
            self.scheduler.recover(parked=False)

    # --- what a host calls in every turn

    def capture(
        self,
        messages: Given,
        session: str,
        scope: Scope | None = None,
        start: int | None = None,
        whole: bool | None = None,
        outcome: Outcome = "ok",
        trigger: str = "",
    ) -> Captured:
        """Record what is new in ``messages``: the history so far, or only the last turn. See ``host.CompletedTurn``.

        Raises ``StoreError``, ``EvidenceWriteFailed`` or ``MessageError``; nothing was recorded then, and the same
        call may be made again.
        """
        owner = self._scope(scope)
        if not self.config.capture.enabled:
            return Captured(skipped="capture.enabled is false")
        if is_skipped_session(session, trigger, self.config.capture.exclude_agents):
            return Captured(skipped=f"session {session!r} is automatic, internal or excluded")

        def notify(captured: Captured) -> None:
            if captured.new or captured.replaced:
                self.scheduler.notify(owner, session)

        said = read_messages(messages)
        captured = self._recorder.capture(owner, session, said, start, whole, outcome, notify)
        self.scheduler.committed(owner, session)
        self._follow(owner)
        self._worker.wake()
        return captured

    def recall(self, query: str, session: str | None = None, scope: Scope | None = None) -> Recalled:
        """What is known about a message: ``stable`` for the end of the system prompt, ``dynamic`` for the front of the
        user's message. It works with what there is: ``degraded`` says what was missing. All sessions of the scope
        are looked at, whichever ``session`` asks."""
        return self._recaller.recall(self._scope(scope), query)

    def search(
        self,
        query: str,
        limit: int = 5,
        type: str | None = None,
        scene: str | None = None,
        scope: Scope | None = None,
    ) -> Searched:
        """Atoms by words and meaning; only of a type, or of scenes whose name holds a text."""
        return self._recaller.search(self._scope(scope), query, limit, type, scene)

    def search_conversations(
        self, query: str, limit: int = 5, session: str | None = None, scope: Scope | None = None
    ) -> Searched:
        """Messages by words, meaning, speaker and date; of one session when it is named."""
        return self._recaller.search_conversations(self._scope(scope), query, limit, session)

    @staticmethod
    def tools() -> list[dict[str, Any]]:
        """``memory_search`` and ``conversation_search`` in OpenAI's schema, for the host's own model."""
        return search_tools.tools()

    def call_tool(self, name: str, arguments: str, scope: Scope | None = None) -> str:
        """Run one of them with the arguments as the model wrote them; mistakes are answered in words."""
        return search_tools.call(self._recaller, self._scope(scope), name, arguments)

    # --- what happens in between

    def run_due(self) -> list[Ran]:
        """Do what is due now, in this thread. Only for a memory without ``background``."""
        return self._worker.run_due()

    def flush(self, session: str | None = None, scope: Scope | None = None, timeout: float | None = None) -> Flushed:
        """Extract everything that waits, then write the scenes and personas that changed; of one session, of one
        scope, or of all.

        ``timeout`` is in seconds; work that is still going on then goes on, and ``done`` is False.
        """
        owner = self._scope(scope) if session is not None else scope or self.scope
        ran: list[Ran] = []
        ended = threading.Event()

        def work() -> None:
            ran.extend(self.scheduler.drain(owner, session, lambda: not self._closed and not ended.is_set()))
            self._followed(ran)

        if timeout is None:
            work()
        else:
            in_time(work, timeout)
            ended.set()
        waits = tuple(p for p in self.scheduler.pending() if owner in (None, p.scope) and session in (None, p.session))
        return Flushed(not any(p.level == "l1" and p.messages for p in waits), tuple(ran), waits)

    def status(self, scope: Scope | None = None) -> MemoryStatus:
        """What is there, what works, what waits and why."""
        owner = scope or self.scope
        store = self.store.status(owner)
        pending = self.scheduler.pending()
        troubles = {chore.name: chore.error for chore in self._worker.chores} | self._troubles
        troubles["background work"] = self._worker.error
        degraded = sorted(f"{part}: {why}" for part, why in troubles.items() if why)
        if self._embedder is not None and store.vector_path == "off" and store.turns:
            degraded.append(f"vectors: {store.vector_reason}")
        degraded += [f"{p.level} of {p.session}: {p.why}" for p in pending if p.due is None]
        profile = self.pipeline.profile(owner) if owner else None
        return MemoryStatus(
            store=store,
            extractor=self.pipeline.l1.extractor.name,
            builder="rules" if self.pipeline.writer is None else "llm",
            embedder=self._embedder.name if self._embedder else None,
            pending=tuple(p for p in pending if owner in (None, p.scope)),
            degraded=tuple(degraded),
            notes=self.config.notes,
            scenes=len(profile.scenes()) if profile else None,
            persona=bool(profile.persona()) if profile else None,
            background=self._background,
        )

    def spent(self) -> list[Attempt]:
        """Every model and embedding request since the last time somebody asked, failed ones included."""
        sources = {id(each): each for each in (*self._models, self._embedder) if each is not None}
        return [attempt for source in sources.values() for attempt in source.spent()]

    def close(self) -> None:
        """Stop within ``pipeline.shutdownSeconds``. What is pending is done after the next start."""
        if self._closed:
            return
        self._closed = True
        self._worker.stop(self.config.pipeline.shutdown_seconds)
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # --- the same for asynchronous hosts: each runs in a thread, so that the loop goes on

    async def acapture(self, messages: Given, session: str, **more: Any) -> Captured:
        """See ``capture``."""
        return await asyncio.to_thread(self.capture, messages, session, **more)

    async def arecall(self, query: str, session: str | None = None, scope: Scope | None = None) -> Recalled:
        """See ``recall``."""
        return await asyncio.to_thread(self.recall, query, session, scope)

    async def asearch(self, query: str, **more: Any) -> Searched:
        """See ``search``."""
        return await asyncio.to_thread(self.search, query, **more)

    async def aflush(
        self, session: str | None = None, scope: Scope | None = None, timeout: float | None = None
    ) -> Flushed:
        """See ``flush``."""
        return await asyncio.to_thread(self.flush, session, scope, timeout)

    async def aclose(self) -> None:
        """See ``close``."""
        await asyncio.to_thread(self.close)

    # --- inside

    def _followed(self, ran: Sequence[Ran]) -> None:
        for scope in dict.fromkeys(each.scope for each in ran):
            self._follow(scope)

    def _now(self) -> int:
        return int(self.clock.now() * 1000)

    def _chores(self) -> list[Chore]:
        chores = [embedding_chore(self.store, self._embedder)] if self._embedder else []
        cleaned: dict[str, Callable[[], object]] = {}
        if self.config.retention_days:
            cleaned["cleanup"] = self._cleaner().clean
        if self.config.evidence_days and self.config.offload.data_dir:
            root = Path(self.config.offload.data_dir)
            cleaned["cleanup of evidence"] = lambda: sweep(root, self.config.evidence_days, self.clock.now())
        time_of_day = self.config.capture.clean_time
        return chores + [
            cleaning_chore(name, clean, self.clock, time_of_day, self._zone) for name, clean in cleaned.items()
        ]


def _models(
    config: Config, model: LanguageModel | None, writer: LanguageModel | None
) -> tuple[LanguageModel | None, LanguageModel | None]:
    """The models given, else those of the configuration, when it allows any."""
    if model is None and config.llm.enabled:
        model = OpenAIModel(config.llm, config.extraction.model)
    if writer is None and config.llm.enabled and config.persona.model:
        writer = OpenAIModel(config.llm, config.persona.model)
    return model, writer or model
