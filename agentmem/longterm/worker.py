"""The thread that does what is due: extraction, scenes, persona, vectors, the daily cleanup.

Without a thread (``start`` is never called) the same work is done by ``run_due`` in whoever calls it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from agentmem.errors import AgentMemError
from agentmem.longterm.clock import Clock
from agentmem.longterm.scheduler import Ran, Scheduler

log = logging.getLogger("agentmem")
LATER = 60.0  # seconds until something that failed outside of the scheduler is tried again


class Chore:
    """Work beside the scheduler's. ``run`` is told how to find out that it should stop, and returns the seconds until
    it wants to run again; None for "whenever there is something else to do"."""

    def __init__(self, name: str, run: Callable[[Callable[[], bool]], float | None]) -> None:
        self.name = name
        self.run = run
        self.due: float | None = None
        self.error = ""


class Worker:
    """One per open memory. ``after`` is told what ran; ``error`` is what ended the last round, else empty."""

    def __init__(
        self, scheduler: Scheduler, clock: Clock, chores: list[Chore], after: Callable[[list[Ran]], None]
    ) -> None:
        self.scheduler = scheduler
        self.clock = clock
        self.chores = chores
        self.after = after
        self.error = ""
        self._condition = threading.Condition()
        self._woken = False
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to work in the background; what was left by an earlier process is done first."""
        self._thread = threading.Thread(target=self._loop, name="agentmem", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something new is there."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()

    def stop(self, seconds: float) -> bool:
        """Stop and wait for work under way, at most that long on a wall clock; False when it is still going on.

        What was not done stays pending in the store.
        """
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def run_due(self) -> list[Ran]:
        """Do everything that is due now."""
        ran = self.scheduler.run_due(self._goes_on)
        self.after(ran)
        for chore in self.chores:
            self._run(chore)
        return ran

    def _goes_on(self) -> bool:
        return not self._stopping

    def _loop(self) -> None:
        try:
            self.scheduler.recover()
        except AgentMemError as error:
            log.warning("timers could not be loaded, work goes on from new turns: %s", error)
        while not self._stopping:
            with self._condition:
                self._woken = False
            try:
                self.run_due()
                self.error = ""
            except Exception as error:  # a fault must not end the thread unseen: status shows it
                if self._stopping:
                    return
                self.error = f"{type(error).__name__}: {error}"
                log.warning("background work failed and is tried again", exc_info=error)
                self._wait(LATER)
                continue
            self._wait(self._idle())

    def _run(self, chore: Chore) -> None:
        if self._stopping or (chore.due is not None and chore.due > self.clock.now()):
            return
        try:
            wait = chore.run(lambda: self._stopping)
            chore.error = ""
        except (AgentMemError, OSError) as error:
            chore.error = str(error)
            wait = LATER
        chore.due = None if wait is None else self.clock.now() + wait

    def _idle(self) -> float | None:
        """Seconds until something is due, None when nothing is."""
        times = [chore.due for chore in self.chores if chore.due is not None]
        due = self.scheduler.next_due()
        times += [due] if due is not None else []
        return max(0.0, min(times) - self.clock.now()) if times else None

    def _wait(self, seconds: float | None) -> None:
        with self._condition:
            if not self._woken and not self._stopping and seconds != 0.0:
                self.clock.wait(self._condition, seconds)


def in_time(work: Callable[[], None], seconds: float) -> bool:
    """Do something in a thread and wait for it at most that long; False when it goes on. Raises what it raised in
    time; what it raises later is logged, since nobody waits any more."""
    failed: list[AgentMemError] = []
    late = threading.Event()

    def run() -> None:
        try:
            work()
        except AgentMemError as error:
            failed.append(error)
            if late.is_set():
                log.warning("work that took too long failed in the end: %s", error)

    thread = threading.Thread(target=run, name="agentmem-flush", daemon=True)
    thread.start()
    thread.join(seconds)
    late.set()
    if failed:
        raise failed[0]
    return not thread.is_alive()
