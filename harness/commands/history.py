"""`history`: how one recipe fared from version to version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.compare import Format, emit
from harness.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(history)


def history(
    runs: Annotated[list[Path] | None, typer.Argument(help="Run folders, oldest first.")] = None,
    under: Annotated[
        Path | None, typer.Option(help="Take every finished run below this folder, by the time it ended.")
    ] = None,
    limit: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Growth from first to last that counts as drift.")
    ] = 0.005,
    form: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.text,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Follow runs whose recipes differ only in the code, so that a slow drift shows.

    Every run kept so far:  agentmem-bench history --under results

    Chosen ones, oldest first:  agentmem-bench history runs/v1 runs/v2 runs/v3 --format markdown
    """
    from harness.history import find_runs, tables
    from harness.history import history as follow
    from harness.tables import to_json, to_markdown, to_text

    if bool(runs) == bool(under):
        raise UsageError("name run folders, or one folder with --under")
    found = follow(find_runs(under) if under else runs or [], limit)
    if form is Format.json:
        emit(to_json(found), out)
    else:
        emit(to_markdown(tables(found)) if form is Format.markdown else to_text(tables(found)), out)
