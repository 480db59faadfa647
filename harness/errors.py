"""Every error the harness raises, in one tree.

    HarnessError
    ├── UsageError               the user asked for something that does not exist or does not fit
    │   ├── UnknownName          an arm, key, suite or format; names the nearest valid ones
    │   ├── UnreadableInput      a file that is none of the known formats, or a broken line in it
    │   ├── StatisticsError      numbers a statistic is not defined for (no tasks, k above the attempts)
    │   └── RecipeMismatch       resuming or comparing under another recipe; lists what differs
    ├── InvalidRun               a result that must not be reported
    │   ├── LintError            an engine assembled a prompt no provider accepts
    │   ├── TooManyErrors        more than 5 % of the tasks errored
    │   └── EvidenceLost         evidence read back differs from its source
    ├── DataError                a data set is missing or has another schema
    ├── EnvironmentFailed        a sandbox or a tool could not be started or died
    ├── ModelFailed              a model call failed for good; the task is errored
    │   ├── ModelRefused         wrong key, model or address; the run stops
    │   ├── PromptTooLong        the prompt does not fit the server's window
    │   ├── CostLimit            the run would cost more than it may
    │   └── CassetteMiss         a replayed call is not on the cassette
    └── JudgeFailed              a judge gave no usable verdict; the task is unjudged

The command line prints ``UsageError`` and ``DataError`` as one line and exits with 3, ``InvalidRun`` with 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from agentmem.errors import ContextOverflow


class HarnessError(Exception):
    """Base of every error of the harness."""


class UsageError(HarnessError, ValueError):
    """The user asked for something that does not exist or does not fit."""


class UnknownName(UsageError):
    """An unknown arm, key, suite or format. The message lists the nearest valid names."""

    def __init__(self, what: str, given: str, valid: Iterable[str]) -> None:
        names = sorted(valid)
        near = get_close_matches(given, names, n=3, cutoff=0.5) or names
        super().__init__(f"unknown {what} {given!r}: expected {_either(near)}")


class UnreadableInput(UsageError):
    """A file that is none of the known formats, or a broken line in it."""


class StatisticsError(UsageError):
    """Numbers for which a statistic is not defined: no tasks, unpaired arms, k above the number of attempts."""


class RecipeMismatch(UsageError):
    """Two recipes differ where they must not. ``differences`` maps a field to its two values."""

    def __init__(self, doing: str, differences: dict[str, tuple[object, object]]) -> None:
        self.differences = differences
        listed = "; ".join(f"{name}: {old!r} -> {new!r}" for name, (old, new) in sorted(differences.items()))
        super().__init__(f"{doing} under another recipe is refused; what differs: {listed}")


class InvalidRun(HarnessError):
    """A result that must not be reported as one."""


class LintError(InvalidRun):
    """An engine assembled a prompt that no provider would accept."""


class TooManyErrors(InvalidRun):
    """More than 5 % of the tasks errored."""


class EvidenceLost(InvalidRun):
    """Evidence read back from the store differs from its source."""


class DataError(HarnessError):
    """A data set is missing, or has another schema than the loader was written for."""


class EnvironmentFailed(HarnessError):
    """A sandbox or a tool could not be started, or died."""


class ModelFailed(HarnessError):
    """A model call failed for good; the task is errored. ``failed`` lists every request that was made (``Attempt``)."""

    def __init__(self, message: str, failed: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.failed = tuple(failed)


class ModelRefused(ModelFailed, UsageError):
    """Wrong key, model or address; no task of the run can be played."""


class PromptTooLong(ModelFailed, ContextOverflow):
    """The server says that the prompt does not fit its window."""


class CostLimit(ModelFailed):
    """The run would cost more than it may."""


class CassetteMiss(ModelFailed):
    """A replayed call is not on the cassette."""


class JudgeFailed(HarnessError):
    """A judge gave no usable verdict; the task is unjudged."""


def _either(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return ", ".join(names[:-1]) + f" or {names[-1]}"
