"""What a host must offer, and the four places in its loop where a memory is called. memory_core.md C1, C2.

A host is any program that talks with a model. It hands over finished turns and takes back two texts for its prompt;
``Hooks`` does the book-keeping in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from agentmem.longterm.capture import Captured, Outcome
from agentmem.longterm.sanitize import sanitize_text
from agentmem.messages import Message
from agentmem.store.records import Scope

if TYPE_CHECKING:
    from agentmem.core import Memory
    from agentmem.longterm.recall import Recalled

COUNTS_KEPT, COUNT_SECONDS = 10_000, 600.0  # memory_core.md C2


@dataclass(frozen=True, slots=True)
class CompletedTurn:
    """One finished turn.

    ``messages`` is the history so far or only what is new; ``start`` the index of the first new message, if the host
    counted before the turn; ``whole`` says that ``messages`` is always the full history. ``outcome`` tells failed and
    aborted turns apart, which are remembered too. ``trigger`` says who began it ("user", "cron", "heartbeat").
    """

    session: str
    messages: Sequence[Message | Mapping[str, Any]]
    start: int | None = None
    whole: bool | None = None
    outcome: Outcome = "ok"
    trigger: str = ""


class Host(Protocol):
    """What the memory needs of a host: whose turn it is, and where to put what it recalls."""

    def scope(self) -> Scope:
        """User, agent and team of the present turn."""
        ...

    def add_to_system(self, text: str) -> None:
        """Put the stable part at the end of the system prompt."""
        ...

    def add_to_user_message(self, text: str) -> None:
        """Put the dynamic part in front of the user's message of this call only; it must not be stored."""
        ...


class Hooks:
    """Calls a memory at the right places of a host's loop. Safe for many sessions at once."""

    def __init__(self, memory: Memory, host: Host) -> None:
        self.memory = memory
        self.host = host
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = Lock()

    def before_prompt(self, session: str, text: str, messages: Sequence[object]) -> Recalled:
        """Recall for what the user said; ``messages`` is the history before this turn, whose length is kept."""
        now = self.memory.clock.now()
        with self._lock:
            self._counts[session] = (len(messages), now)
            self._counts.move_to_end(session)
            while len(self._counts) > COUNTS_KEPT or next(iter(self._counts.values()))[1] < now - COUNT_SECONDS:
                self._counts.popitem(last=False)
        recalled = self.memory.recall(text, scope=self.host.scope())
        if recalled.stable:
            self.host.add_to_system(recalled.stable)
        if recalled.dynamic:
            self.host.add_to_user_message(recalled.dynamic)
        return recalled

    def before_message_is_stored(self, text: str) -> str:
        """A user's message without what was recalled into it, so that the host's history does not grow by it."""
        return sanitize_text(text)

    def turn_is_done(self, turn: CompletedTurn) -> Captured:
        """Record a turn, finished or not."""
        with self._lock:
            count, _ = self._counts.pop(turn.session, (None, 0.0))
        start = turn.start if turn.start is not None else count
        return self.memory.capture(
            turn.messages,
            session=turn.session,
            scope=self.host.scope(),
            start=start,
            whole=turn.whole,
            outcome=turn.outcome,
            trigger=turn.trigger,
        )

    def host_is_closing(self) -> None:
        """Close the memory; what is pending is done at the next start."""
        self.memory.close()
