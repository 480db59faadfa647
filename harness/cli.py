"""The command line ``agentmem-bench``. One line for a user's mistake, never a traceback.

Exit codes: 0 fine, 1 regression or failure, 2 invalid run, 3 usage.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import typer

from agentmem.errors import AgentMemError
from harness.errors import DataError, HarnessError, InvalidRun, UsageError

COMMANDS = (
    "replay",
    "bench",
    "run",
    "compare",
    "gate",
    "history",
    "report",
    "sweep",
    "tune",
    "reproduce",
    "recall",
    "data",
    "evidence",
    "serve",
)

# the base of every mistake in what was typed; typer does not export it under a name of its own
TypedWrong: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="agentmem-bench",
    help="Play long consecutive agent sessions through memory policies and see what each costs and loses.",
    epilog="First:  agentmem-bench bench      Your own logs:  agentmem-bench replay runs/*.traj.json",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def build() -> typer.Typer:
    """The application with every command registered."""
    if not app.registered_commands:
        for name in COMMANDS:
            import_module(f"harness.commands.{name}").register(app)
    return app


def main() -> None:
    """Entry point."""
    try:
        sys.exit(build()(sys.argv[1:] or ["--help"], standalone_mode=False) or 0)
    except TypedWrong as error:
        sys.exit(_say("error", error.format_message(), 3))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(_say("stopped", "what is done is kept; run the same command again to continue", 130))
    except InvalidRun as error:
        sys.exit(_say("invalid run", error, 2))
    except (UsageError, DataError) as error:
        sys.exit(_say("error", error, 3))
    except (HarnessError, AgentMemError) as error:
        sys.exit(_say("error", error, 1))


def _say(what: str, error: object, code: int) -> int:
    print(f"agentmem-bench: {what}: {error}", file=sys.stderr)
    return code
