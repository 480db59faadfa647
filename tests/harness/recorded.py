"""What the tests of the readers share."""

from __future__ import annotations

from pathlib import Path

from harness import lint
from harness.trajectories import read
from harness.types import Trajectory

FIXTURES = Path(__file__).parent.parent / "fixtures" / "trajectories"
OUTSIDE = ("submission", "judge")


def one(path: Path, format: str | None = None, warnings: list[str] | None = None) -> Trajectory:
    """The only run of a file."""
    (run,) = read([path], format, (warnings if warnings is not None else []).append)
    return run


def ignore(_: str) -> None:
    """Take a warning nobody asks about."""


def shape(run: Trajectory) -> list[tuple[str, str | None]]:
    """Role and kind of every message."""
    return [(message.role, message.kind) for message in run.messages]


def outputs(run: Trajectory) -> list[str]:
    """The text of every tool output, of either protocol."""
    return [message.content for message in run.messages if message.is_result]


def assert_legal(run: Trajectory, prompts: int | None = None) -> None:
    """Every prompt in front of an answer passes the lint, and so does the whole run with the next task behind it."""
    sent = [message for message in run.messages if message.kind not in OUTSIDE]
    ends = [index for index, message in enumerate(sent) if message.role == "assistant"]
    for end in ends[:prompts]:
        assert lint.problems(sent[:end]) == []
    assert [found for found in lint.problems(sent) if "the assistant's own" not in found] == []
