"""One clock for everything that waits, and the zone in which days begin. Times are seconds since 1970 or integer
milliseconds, always UTC; a zone only matters for day shards and for what people read."""

from __future__ import annotations

import re
import threading
import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

_OFFSET = re.compile(r"(?:UTC)?([+-])(\d{1,2})(?::?(\d{2}))?")


class Clock(Protocol):
    """Time and waiting."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        ...

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Wait on a condition that the caller holds, at most that long on this clock; None is without end."""
        ...


class SystemClock:
    """The computer's clock."""

    def now(self) -> float:
        """See ``Clock``."""
        return time.time()

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """See ``Clock``."""
        condition.wait(seconds)


class ManualClock:
    """A clock that stands still until it is told to go on; hours pass in no time. For tests and for replays."""

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._now = start

    def now(self) -> float:
        """See ``Clock``."""
        return self._now

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Wait until somebody notifies; time passes only through ``advance``."""
        condition.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ``ValueError`` for a negative step."""
        if seconds < 0:
            raise ValueError(f"time does not go back: got {seconds}")
        self._now += seconds


def zone_of(name: str) -> tzinfo | None:
    """The zone of a ``timezone`` setting: None for ``system``, else an IANA name or an offset such as ``+08:00``."""
    if name == "system":
        return None
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo(name)
    minutes = int(offset[2]) * 60 + int(offset[3] or 0)
    return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))


def iso(milliseconds: int) -> str:
    """``2026-01-01T00:00:00Z``; with milliseconds only when there are any."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    rest = milliseconds % 1000
    return f"{moment}.{rest:03}Z" if rest else f"{moment}Z"


def local_day(milliseconds: int, zone: tzinfo | None) -> str:
    """The date in a zone, ``2026-01-01``."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone(zone).strftime("%Y-%m-%d")


def milliseconds_of(value: object) -> int | None:
    """Milliseconds of a host's timestamp: a number (seconds or milliseconds) or an ISO text; None when it is neither.

    A text without a zone is UTC.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        if value != value or abs(value) > 1e15:
            return None
        return int(value) if abs(value) >= 1e11 else round(value * 1000)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    return None


def midnight_before(seconds: float, days: int, zone: tzinfo | None) -> int:
    """Milliseconds of the local midnight that began the day ``days`` - 1 before today (1 is today's)."""
    today = datetime.fromtimestamp(seconds, UTC).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    day = today.date() - timedelta(days=days - 1)
    return int(datetime(day.year, day.month, day.day, tzinfo=today.tzinfo).timestamp() * 1000)
