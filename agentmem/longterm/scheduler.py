"""Runs what is due, one thing at a time, and remembers when the rest is. memory_core.md B13, without its defects.

Timers are states of the store, so they survive a restart. ``run_due`` does the work of one moment; who calls it (a
thread, a test with a clock that it moves) is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import Protocol

from agentmem.errors import AgentMemError, ModelRejected
from agentmem.longterm.clock import Clock
from agentmem.longterm.l1 import L1Result
from agentmem.longterm.persona import PersonaResult
from agentmem.longterm.scenes import SceneResult
from agentmem.longterm.schedule import Rules, ScopeTimer, SessionTimer
from agentmem.longterm.timers import Timers
from agentmem.settings.longterm import Extraction, Pipeline
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Scope


class Tasks(Protocol):
    """The work itself. Each raises ``AgentMemError`` or ``OSError`` when it failed."""

    def extract(self, scope: Scope, session: str) -> L1Result:
        """Extract the next batch of a session."""
        ...

    def waiting(self, scope: Scope, session: str) -> int:
        """Messages of a session that nobody extracted."""
        ...

    def write_scenes(self, scope: Scope) -> SceneResult:
        """Work changed atoms into scenes."""
        ...

    def write_persona(self, scope: Scope) -> PersonaResult:
        """Write the persona, if a trigger fires."""
        ...


@dataclass(frozen=True, slots=True)
class Ran:
    """One piece of work: "l1", "l2" or "l3", for whom, and the error if it failed."""

    level: str
    scope: Scope
    session: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """Something that waits. ``due`` is None when it waits for something other than time; ``why`` says for what."""

    level: str
    scope: Scope
    session: str
    messages: int | None
    due: float | None
    why: str


class Scheduler:
    """One per open memory. Threads may call it; work never overlaps."""

    def __init__(
        self, store: MemoryStore, pipeline: Pipeline, extraction: Extraction, clock: Clock, tasks: Tasks
    ) -> None:
        self.store = store
        self.clock = clock
        self.tasks = tasks
        self.rules = Rules(pipeline, extraction)
        self.timers = Timers(store, self.rules.first)
        self._working = RLock()  # held while a task runs

    # --- what happens

    def notify(self, scope: Scope, session: str, turns: int = 1) -> None:
        """Turns of a session are being recorded: to be called inside the transaction that records them, so that both
        happen or neither. Nothing runs for them before ``committed``, since nothing could see them."""
        now = self.clock.now()
        self.timers.write_session(scope, session, lambda timer: self.rules.said(timer, now, turns))
        self.timers.write_scope(scope, lambda timer: replace(timer, last_active_time=now))

    def committed(self, scope: Scope, session: str) -> None:
        """The transaction of ``notify`` is over."""
        self.timers.load_session(scope, session)
        self.timers.load_scope(scope)

    def recover(self, parked: bool = True) -> None:
        """Load all timers; every session with messages that nobody extracted is due at once. What was ``parked`` gets
        another try, unless somebody only wants to look."""
        now = self.clock.now()
        for scope in self.store.scopes():
            self.timers.load_scope(scope)
            for session in self.store.sessions(scope):
                timer = self.timers.load_session(scope, session)
                if self.tasks.waiting(scope, session) and (parked or not timer.parked):
                    self.timers.change_session(
                        scope, session, lambda timer: replace(timer, l1_due=now, l1_retries=0, parked="")
                    )

    def forget(self, scope: Scope) -> None:
        """Drop the timers of a scope."""
        self.timers.forget(scope)

    # --- what is done about it

    def next_due(self) -> float | None:
        """When there will be something to do, or None."""
        scopes = self.timers.scopes().values()
        times = [timer.l1_due for timer in self.timers.sessions().values()]
        times += [timer.l2_due for timer in scopes]
        times += [0.0 for timer in scopes if timer.l3_wanted]
        return min((time for time in times if time is not None), default=None)

    def run_due(self, goes_on: Callable[[], bool] = lambda: True) -> list[Ran]:
        """Do everything that is due now, extraction first; ``goes_on`` is asked before each piece."""
        done: list[Ran] = []
        while goes_on():
            piece = self._piece()
            if piece is None:
                return done
            done.append(piece())
        return done

    def drain(
        self, scope: Scope | None = None, session: str | None = None, goes_on: Callable[[], bool] = lambda: True
    ) -> list[Ran]:
        """Extract until no message is left, then write the scenes and personas that changed, whatever the timers say.

        A parked session gets one more try; one that fails is left for its timer.
        """
        done: list[Ran] = []
        touched: dict[Scope, None] = {}
        for key in self._matching(scope, session):
            touched[key[0]] = None
            while goes_on() and self.tasks.waiting(*key):
                before = self.tasks.waiting(*key)
                done.append(self._extract(*key))
                if done[-1].error or self.tasks.waiting(*key) >= before:
                    break
        for each in touched:
            if goes_on():
                done.append(self._write_scenes(each, force=True))
            if goes_on():
                done.append(self._write_persona(each))
        return done

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing runs inside; waits for what is running."""
        with self._working:
            yield

    def pending(self) -> list[Pending]:
        """What waits, and why."""
        found = [self._pending_session(*key, timer) for key, timer in self.timers.sessions().items()]
        found += [self._pending_scope(scope, timer) for scope, timer in self.timers.scopes().items()]
        return [each for each in found if each is not None]

    # --- pieces of work

    def _piece(self) -> Callable[[], Ran] | None:
        now = self.clock.now()
        sessions, scopes = self.timers.sessions(), self.timers.scopes()
        due = [(t.l1_due, key) for key, t in sessions.items() if t.l1_due is not None and t.l1_due <= now]
        if due:
            scope, session = min(due, key=lambda pair: (pair[0], pair[1][1]))[1]
            return partial(self._extract, scope, session)
        for scope, timer in scopes.items():
            if timer.l2_due is not None and timer.l2_due <= now:
                return partial(self._write_scenes, scope)
        for scope, timer in scopes.items():
            if timer.l3_wanted:
                return partial(self._write_persona, scope)
        return None

    def _extract(self, scope: Scope, session: str) -> Ran:
        with self._working:
            counted = self.timers.session(scope, session).conversation_count
            try:
                result = self.tasks.extract(scope, session)
                waiting = self.tasks.waiting(scope, session)
            except (AgentMemError, OSError) as error:
                now, text, hopeless = self.clock.now(), str(error), isinstance(error, ModelRejected)
                self.timers.change_session(scope, session, lambda timer: self.rules.failed(timer, now, text, hopeless))
                return Ran("l1", scope, session, text)
            now = self.clock.now()
            self.timers.change_session(scope, session, lambda timer: self.rules.extracted(timer, now, counted, waiting))
            if result.stored or result.superseded:
                self.timers.change_scope(scope, lambda timer: self.rules.new_atoms(timer, now))
            return Ran("l1", scope, session)

    def _write_scenes(self, scope: Scope, force: bool = False) -> Ran:
        with self._working:
            timer = self.timers.scope(scope)
            if not force and self.rules.is_cold(timer, self.clock.now()):
                self.timers.change_scope(scope, self.rules.gone_cold)
                return Ran("l2", scope)
            try:
                result = self.tasks.write_scenes(scope)
            except (AgentMemError, OSError) as error:
                now, text = self.clock.now(), str(error)
                self.timers.change_scope(scope, lambda timer: self.rules.scenes_failed(timer, now, text))
                return Ran("l2", scope, error=text)
            now, counted = self.clock.now(), timer.l2_pending_l1_count
            self.timers.change_scope(scope, lambda t: self.rules.scenes_written(t, now, result.skipped, counted))
            return Ran("l2", scope)

    def _write_persona(self, scope: Scope) -> Ran:
        with self._working:
            # several wishes become one run; a wish that comes while it runs leads to another
            self.timers.change_scope(scope, lambda timer: replace(timer, l3_wanted=False))
            try:
                self.tasks.write_persona(scope)
            except (AgentMemError, OSError) as error:
                text = str(error)
                self.timers.change_scope(scope, lambda timer: replace(timer, l3_error=text))
                return Ran("l3", scope, error=text)
            self.timers.change_scope(scope, lambda timer: replace(timer, l3_error=""))
            return Ran("l3", scope)

    def _matching(self, scope: Scope | None, session: str | None) -> Iterable[tuple[Scope, str]]:
        scopes = self.store.scopes() if scope is None else [scope]
        for each in scopes:
            for name in self.store.sessions(each):
                if session in (None, name):
                    yield each, name

    def _pending_session(self, scope: Scope, session: str, timer: SessionTimer) -> Pending | None:
        messages = self.tasks.waiting(scope, session)
        if not messages and timer.l1_due is None:
            return None
        if timer.parked:
            why = f"parked: {timer.parked}"
        elif timer.l1_retries:
            why = f"try {timer.l1_retries + 1} after: {timer.error}"
        elif timer.conversation_count >= timer.warmup_threshold:
            why = "due"
        else:
            why = f"waits for silence, or for {timer.warmup_threshold - timer.conversation_count} more turns"
        return Pending("l1", scope, session, messages, timer.l1_due, why)

    def _pending_scope(self, scope: Scope, timer: ScopeTimer) -> Pending | None:
        if not timer.l2_pending_l1_count and not timer.l2_error and not timer.l3_error:
            return None
        why = f"{timer.l2_pending_l1_count} extractions to work into scenes"
        if timer.l2_error:
            why += f"; the last scene run failed: {timer.l2_error}"
        if timer.l3_error:
            why += f"; the last persona run failed: {timer.l3_error}"
        return Pending("l2", scope, "", None, timer.l2_due, why)
