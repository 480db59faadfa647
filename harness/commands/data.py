"""`data`: which data sets there are, what a folder holds of them, and whether it is what it says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

VARIABLE = "AGENTMEM_DATA"
Folder = Annotated[Path | None, typer.Option("--data", help=f"Folder with the data (default: ${VARIABLE}).")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="List, fetch and verify data sets.", no_args_is_help=True)
    group.command("list")(list_sets)
    group.command()(fetch)
    group.command()(verify)
    app.add_typer(group, name="data")


def list_sets(data: Folder = None) -> None:
    """What the suites can use, and what the folder holds of it.

    Example:  agentmem-bench data list --data ~/data
    """
    from harness.tables import NOT_MEASURED, Table, to_text
    from suites.catalog import listing

    root = _root(data)
    rows = []
    for found in listing(root):
        held = found.problem or (f"{found.tasks} tasks" if found.tasks is not None else NOT_MEASURED)
        rows.append((found.entry.name, found.entry.title, held, found.entry.source, found.entry.licence))
    typer.echo(to_text([Table("Data sets", ("name", "what", "in the folder", "source", "licence"), tuple(rows))]))


def fetch(
    name: Annotated[str, typer.Argument(help="A name that `data list` shows.")],
    data: Folder = None,
    revision: Annotated[
        str | None, typer.Option(help="Revision of the set (default: the one it was written for).")
    ] = None,
) -> None:
    """Download a set from the hub into the folder, with a manifest of what came.

    Example:  agentmem-bench data fetch aalcr --data ~/data      (needs the extra: pip install 'agentmem-bench[hf]')
    """
    from suites.catalog import fetch as download

    found = download(name, _needed(data), revision)
    typer.echo(f"{found.entry.name}: {found.tasks} tasks")


def verify(data: Folder = None) -> None:
    """Compare every file of the folder with its manifest; exit code 1 when one differs.

    Example:  agentmem-bench data verify --data ~/data
    """
    from suites.catalog import verify as check

    checked, problems = check(_needed(data))
    for problem in problems:
        typer.echo(problem, err=True)
    typer.echo(f"{checked} files checked, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)


def _root(data: Path | None) -> Path | None:
    named = os.environ.get(VARIABLE)
    return data or (Path(named) if named else None)


def _needed(data: Path | None) -> Path:
    from harness.errors import UsageError

    root = _root(data)
    if root is None:
        raise UsageError(f"no data folder: give --data DIR or set {VARIABLE}")
    return root
