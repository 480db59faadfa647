"""What people see while and after something runs: a progress bar on a terminal, plain lines elsewhere, tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Progress = Callable[[int, int, str], None]


@contextmanager
def progress(quiet: bool = False) -> Iterator[Progress]:
    """A function (done, total, what) that shows how far the work is, on standard error."""
    if quiet:
        yield lambda _done, _total, _what: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield lambda done, total, what: print(f"{done}/{total} {what}", file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """One line on standard error."""
    print(f"warning: {message}", file=sys.stderr)


def print_arms(summary: Mapping[str, Any]) -> None:
    """The table of arms with its notes, on standard output."""
    from rich.console import Console
    from rich.table import Table

    from harness.report.arms import arm_rows, headers, notes

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, header in enumerate(headers(summary)):
        table.add_column(header, justify="left" if number == 0 else "right", overflow="fold")
    for row in arm_rows(summary):
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(table)
    for note in notes(summary):
        console.print(note, style="dim", markup=False)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)
