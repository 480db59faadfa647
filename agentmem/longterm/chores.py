"""Work that no turn triggers: vectors for new rows, and the daily cleanup."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from agentmem.embed.protocol import Embedder
from agentmem.embed.worker import embed_pending
from agentmem.errors import ModelUnavailable
from agentmem.longterm.clock import Clock
from agentmem.longterm.worker import Chore
from agentmem.store.protocol import MemoryStore

SLICE = 1_024  # rows embedded before somebody else gets a turn


def embedding_chore(store: MemoryStore, embedder: Embedder) -> Chore:
    """Embeds what has no vector yet; fails by name when the embedder is down, and the rows stay pending."""

    def run(stop: Callable[[], bool]) -> float | None:
        done = embed_pending(store, embedder, SLICE, stop)
        if done.error:
            raise ModelUnavailable(done.error)
        return 0.0 if done.done >= SLICE else None

    return Chore("embedding", run)


def cleaning_chore(
    name: str, clean: Callable[[], object], clock: Clock, time_of_day: str, zone: tzinfo | None
) -> Chore:
    """Cleans once a day at that local time."""
    started = [False]

    def run(stop: Callable[[], bool]) -> float | None:
        if started[0]:
            clean()
        started[0] = True  # the first call only finds out when the time is
        return seconds_until(clock.now(), time_of_day, zone)

    return Chore(name, run)


def seconds_until(now: float, time_of_day: str, zone: tzinfo | None) -> float:
    """Seconds from now until the next ``HH:MM`` in a zone; a whole day when it is that time now."""
    hours, _, minutes = time_of_day.partition(":")
    local = datetime.fromtimestamp(now, UTC).astimezone(zone)
    then = local.replace(hour=int(hours), minute=int(minutes), second=0, microsecond=0)
    if then <= local:
        then += timedelta(days=1)
    return (then - local).total_seconds()
