"""Calls the command `run` from another command, with its options as words, so that no option is declared twice."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from harness.errors import UsageError


def run_live(words: Sequence[str], what: str) -> None:
    """Run `agentmem-bench run` with these words; what it prints is left out.

    Raises ``UsageError``, beginning with ``what``, for a word it does not know, and whatever the run raises.
    """
    import typer

    from harness.commands import run

    # the base of every mistake in what was typed; typer does not export it under a name of its own
    typed_wrong: Any = typer.BadParameter.__mro__[1]
    app = typer.Typer()
    run.register(app)
    with redirect_stdout(io.StringIO()):
        try:
            typer.main.get_command(app).main(list(words), prog_name="agentmem-bench run", standalone_mode=False)
        except typed_wrong as error:
            raise UsageError(f"{what}: {error.format_message()}") from error


def command_text(words: Sequence[str]) -> str:
    """The same call as somebody would type it."""
    return shlex.join(["agentmem-bench", "run", *words])
