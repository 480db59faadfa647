"""When a level runs, as functions of a state and a time: no clock, no store, no thread. memory_core.md B13.

A session's state says when its messages are extracted (L1), a scope's when its scenes (L2) and persona (L3) are
written. Times are seconds since 1970; None is never. ``version`` counts writes of a state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentmem.settings.longterm import Extraction, Pipeline


@dataclass(frozen=True, slots=True)
class SessionTimer:
    """L1 of one session. ``conversation_count`` turns came since the last run; ``warmup_threshold`` is the number that
    triggers one; ``parked`` says why nothing is tried any more until something new is said."""

    conversation_count: int = 0
    warmup_threshold: int = 1
    last_active_time: float = 0.0
    l1_due: float | None = None
    l1_retries: int = 0
    error: str = ""
    parked: str = ""
    last_extraction_time: float = 0.0
    version: int = 0


@dataclass(frozen=True, slots=True)
class ScopeTimer:
    """L2 and L3 of one scope. ``l2_exempt`` says that the timer was set by new atoms, so that it fires for a cold
    scope too; ``l2_pending_l1_count`` extractions wait to be worked into scenes."""

    last_active_time: float = 0.0
    l2_due: float | None = None
    l2_exempt: bool = False
    l2_last_extraction_time: float = 0.0
    l2_pending_l1_count: int = 0
    l3_wanted: bool = False
    l2_error: str = ""
    l3_error: str = ""
    version: int = 0


class Rules:
    """The rules under one configuration."""

    def __init__(self, pipeline: Pipeline, extraction: Extraction) -> None:
        self.pipeline = pipeline
        self.extraction = extraction

    def first(self) -> SessionTimer:
        """The state of a session that nothing is known of."""
        return SessionTimer(warmup_threshold=1 if self.pipeline.enable_warmup else self.pipeline.every_n_conversations)

    def said(self, timer: SessionTimer, now: float, turns: int = 1) -> SessionTimer:
        """Turns were recorded: run now when enough of them wait, else after a silence. Failures are forgiven."""
        timer = replace(
            timer,
            conversation_count=timer.conversation_count + turns,
            last_active_time=now,
            l1_retries=0,
            parked="",
        )
        return replace(timer, l1_due=self._next(timer, now))

    def extracted(self, timer: SessionTimer, now: float, counted: int, waiting: int) -> SessionTimer:
        """An extraction went well. ``counted`` turns had come before it began, ``waiting`` messages are left."""
        timer = replace(
            timer,
            conversation_count=max(0, timer.conversation_count - counted),
            warmup_threshold=min(timer.warmup_threshold * 2, self.pipeline.every_n_conversations),
            l1_retries=0,
            error="",
            parked="",
            last_extraction_time=now,
        )
        if waiting >= self.extraction.batch_messages:
            return replace(timer, l1_due=now)
        if waiting or timer.conversation_count:
            return replace(timer, l1_due=self._next(timer, now))
        return replace(timer, l1_due=None)

    def failed(self, timer: SessionTimer, now: float, error: str, hopeless: bool) -> SessionTimer:
        """An extraction failed: again in 30 seconds, five times, then parked; at once when no retry can help."""
        retries = timer.l1_retries + 1
        if hopeless or retries > self.extraction.max_retries:
            tries = f"{retries} tries: " if retries > 1 else ""
            return replace(timer, l1_due=None, l1_retries=retries, error=error, parked=tries + error)
        return replace(timer, l1_due=now + self.extraction.retry_delay_seconds, l1_retries=retries, error=error)

    def new_atoms(self, scope: ScopeTimer, now: float) -> ScopeTimer:
        """Atoms changed: scenes after a delay and not sooner than the least interval. A timer only moves earlier."""
        wanted = now + self.pipeline.l2_delay_after_l1_seconds
        if scope.l2_last_extraction_time:
            wanted = max(wanted, scope.l2_last_extraction_time + self.pipeline.l2_min_interval_seconds)
        due = wanted if scope.l2_due is None else min(scope.l2_due, wanted)
        return replace(scope, l2_due=due, l2_exempt=True, l2_pending_l1_count=scope.l2_pending_l1_count + 1)

    def is_cold(self, scope: ScopeTimer, now: float) -> bool:
        """True when a timer that new atoms did not set fires for a scope in which nothing was said for long."""
        window = self.pipeline.session_active_window_hours * 3600
        return not scope.l2_exempt and now - scope.last_active_time >= window

    def gone_cold(self, scope: ScopeTimer) -> ScopeTimer:
        """The timer stops until atoms change again."""
        return replace(scope, l2_due=None, l2_exempt=False)

    def scenes_written(self, scope: ScopeTimer, now: float, skipped: bool, counted: int) -> ScopeTimer:
        """A scene run went well. A first run that had nothing to do does not start the least interval."""
        last = scope.l2_last_extraction_time if skipped and not scope.l2_last_extraction_time else now
        return replace(
            scope,
            l2_due=now + self.pipeline.l2_max_interval_seconds,
            l2_exempt=False,
            l2_last_extraction_time=last,
            l2_pending_l1_count=max(0, scope.l2_pending_l1_count - counted),
            l3_wanted=True,
            l2_error="",
        )

    def scenes_failed(self, scope: ScopeTimer, now: float, error: str) -> ScopeTimer:
        """A scene run failed: again after the longest interval, whatever the scope does meanwhile."""
        due = now + self.pipeline.l2_max_interval_seconds
        return replace(scope, l2_due=due, l2_exempt=True, l2_error=error)

    def _next(self, timer: SessionTimer, now: float) -> float:
        if timer.conversation_count >= timer.warmup_threshold:
            return now
        return now + self.pipeline.l1_idle_timeout_seconds
