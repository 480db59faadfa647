"""Small tables that print the same figures as text, Markdown or JSON. `None` prints as "not measured"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Table:
    """Title, column heads, rows of formatted cells, and notes below. The first column is text, the others figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def to_text(tables: Sequence[Table], width: int | None = None) -> str:
    """The tables for a terminal, without colours, `width` characters wide (default: as wide as they need)."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=width or 240, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        for table in tables:
            console.print(Text(table.title, style="bold"))
            if table.rows:
                drawn = RichTable(box=None, pad_edge=False, show_edge=False)
                for index, column in enumerate(table.columns):
                    drawn.add_column(Text(column), justify="right" if index else "left")
                for row in table.rows:
                    drawn.add_row(*map(Text, row))
                console.print(drawn)
            for note in table.notes:
                console.print(Text(f"  {note}"))
            console.print()
    return "\n".join(line.rstrip() for line in capture.get().rstrip().split("\n")) + "\n"


def to_markdown(tables: Sequence[Table], level: int = 3) -> str:
    """The tables as GitHub Markdown, each under a heading of the given level."""
    parts = []
    for table in tables:
        lines = [f"{'#' * level} {table.title}", ""]
        if table.rows:
            aligns = [":--", *["--:"] * (len(table.columns) - 1)]
            lines += [_line(table.columns), _line(aligns), *map(_line, table.rows), ""]
        lines += [f"- {note}" for note in table.notes]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def to_json(record: DataclassInstance) -> str:
    """A record and everything in it as JSON; a NaN raises instead of being written."""
    return json.dumps(asdict(record), indent=1, allow_nan=False) + "\n"


def count(value: float | None) -> str:
    """1234567 -> "1,234,567"."""
    return NOT_MEASURED if value is None else f"{value:,.0f}"


def percent(value: float | None, digits: int = 1) -> str:
    """0.584 -> "58.4 %"."""
    return NOT_MEASURED if value is None else f"{value * 100:.{digits}f} %"


def points(value: float | None) -> str:
    """0.058 -> "+5.8 points"."""
    return NOT_MEASURED if value is None else f"{value * 100:+.1f} points"


def ratio(value: float | None) -> str:
    """0.7118 -> "0.712"."""
    return NOT_MEASURED if value is None else f"{value:.3f}"


def p_value(value: float | None) -> str:
    """0.00001 -> "< 0.0001"."""
    if value is None:
        return NOT_MEASURED
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def between(interval: tuple[float, float] | None, scale: float = 1.0, digits: int = 3) -> str:
    """(0.1, 0.2) -> "0.100 to 0.200"; `scale` 100 for percent and points."""
    if interval is None:
        return NOT_MEASURED
    low, high = interval
    return f"{low * scale:.{digits}f} to {high * scale:.{digits}f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
