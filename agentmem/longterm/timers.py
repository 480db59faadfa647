"""The timers of all sessions and scopes: states of the store, and the same in memory for whoever asks what is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from threading import RLock
from typing import Any, TypeVar

from agentmem.longterm.keys import state_key
from agentmem.longterm.schedule import ScopeTimer, SessionTimer
from agentmem.store.protocol import MemoryStore
from agentmem.store.records import Scope

Timer = TypeVar("Timer", SessionTimer, ScopeTimer)
Session = tuple[Scope, str]


class Timers:
    """``change_*`` writes and remembers. ``write_*`` only writes, for use inside a transaction that may yet fail;
    ``load_*`` remembers what was written. A newer version is never replaced by an older one."""

    def __init__(self, store: MemoryStore, first: Callable[[], SessionTimer]) -> None:
        self.store = store
        self.first = first
        self._sessions: dict[Session, SessionTimer] = {}
        self._scopes: dict[Scope, ScopeTimer] = {}
        self._lock = RLock()

    def sessions(self) -> dict[Session, SessionTimer]:
        """All sessions that are known."""
        with self._lock:
            return dict(self._sessions)

    def scopes(self) -> dict[Scope, ScopeTimer]:
        """All scopes that are known."""
        with self._lock:
            return dict(self._scopes)

    def session(self, scope: Scope, session: str) -> SessionTimer:
        """The timer of a session."""
        return self.sessions().get((scope, session)) or self.load_session(scope, session)

    def scope(self, scope: Scope) -> ScopeTimer:
        """The timer of a scope."""
        return self.scopes().get(scope) or ScopeTimer()

    def change_session(self, scope: Scope, session: str, change: Callable[[SessionTimer], SessionTimer]) -> None:
        """Write and remember a session's timer."""
        self._remember_session(scope, session, self.write_session(scope, session, change))

    def change_scope(self, scope: Scope, change: Callable[[ScopeTimer], ScopeTimer]) -> None:
        """Write and remember a scope's timer."""
        self._remember_scope(scope, self.write_scope(scope, change))

    def write_session(self, scope: Scope, session: str, change: Callable[[SessionTimer], SessionTimer]) -> SessionTimer:
        """Write a session's timer."""

        def write(state: dict[str, Any]) -> dict[str, Any]:
            timer = _timer(SessionTimer, state) if state else self.first()
            return asdict(replace(change(timer), version=timer.version + 1))

        return _timer(SessionTimer, self.store.update_state(state_key("pipeline", scope, session), write))

    def write_scope(self, scope: Scope, change: Callable[[ScopeTimer], ScopeTimer]) -> ScopeTimer:
        """Write a scope's timer."""

        def write(state: dict[str, Any]) -> dict[str, Any]:
            timer = _timer(ScopeTimer, state)
            return asdict(replace(change(timer), version=timer.version + 1))

        return _timer(ScopeTimer, self.store.update_state(state_key("timers", scope), write))

    def load_session(self, scope: Scope, session: str) -> SessionTimer:
        """Remember what the store holds of a session."""
        state = self.store.state(state_key("pipeline", scope, session))
        timer = _timer(SessionTimer, state) if state else self.first()
        self._remember_session(scope, session, timer)
        return timer

    def load_scope(self, scope: Scope) -> ScopeTimer:
        """Remember what the store holds of a scope."""
        timer = _timer(ScopeTimer, self.store.state(state_key("timers", scope)) or {})
        self._remember_scope(scope, timer)
        return timer

    def forget(self, scope: Scope) -> None:
        """Drop everything of a scope from memory."""
        with self._lock:
            self._sessions = {key: timer for key, timer in self._sessions.items() if key[0] != scope}
            self._scopes.pop(scope, None)

    def _remember_session(self, scope: Scope, session: str, timer: SessionTimer) -> None:
        with self._lock:
            known = self._sessions.get((scope, session))
            if known is None or known.version <= timer.version:  # another thread may have been faster
                self._sessions[scope, session] = timer

    def _remember_scope(self, scope: Scope, timer: ScopeTimer) -> None:
        with self._lock:
            known = self._scopes.get(scope)
            if known is None or known.version <= timer.version:
                self._scopes[scope] = timer


def _timer(kind: type[Timer], state: dict[str, Any]) -> Timer:
    names = {field.name for field in fields(kind)}
    return kind(**{key: value for key, value in state.items() if key in names})
