"""Finds the table in an answer.

``reference`` follows the published extraction, line by line. ``guarded`` reads Markdown as Markdown: reasoning is
left out, escaped pipes and pipes in code stay in their cell, rows need no outer pipes, and cells keep their text.
"""

from __future__ import annotations

import re

from suites.outcomes import Mode
from suites.widesearch.csvread import Table, read_csv
from suites.widesearch.errors import EmptyTable
from suites.widesearch.infer import MISSING, MISSING_WORDS

_FENCE = re.compile(r"```markdown(.*?)```", re.DOTALL)
_PIPE_LINES = re.compile(r"((?:\|.*\n?)+)")
_FEWEST_PIPES = 4
_RULE = frozenset("|- :")

_REASONING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_ANY_FENCE = re.compile(r"^[ \t]*```[ \t]*([\w-]*)[ \t]*$\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_SEPARATOR = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELL_PARTS = re.compile(r"\\\||`[^`]*`|\||[^|`\\]+|.", re.DOTALL)


def extract_table(answer: str, mode: Mode = "reference") -> Table | None:
    """The table of an answer, columns named as written but for case and spaces, or ``None`` without one.

    Raises ``TableError`` when something that looks like a table cannot be read as one.
    """
    return _guarded(answer) if mode == "guarded" else _reference(answer)


def _reference(answer: str) -> Table | None:
    block = _find_block(answer)
    if block is None:
        return None
    lines = block.strip().split("\n")
    lines[0] = lines[0].replace(" ", "").lower()
    rows = [
        "|".join(cell.strip() for cell in line.strip().split("|"))
        for line in lines
        if "|" in line and not _RULE.issuperset(line.strip())
    ]
    table = read_csv("\n".join(rows), "|")
    return table.select([i for i, name in enumerate(table.columns) if not name.startswith("Unnamed")])


def _find_block(answer: str) -> str | None:
    """The first fenced block named ``markdown``, else the first run of lines from the first pipe on."""
    fenced = _FENCE.search(answer)
    if fenced is not None:
        return fenced.group(1)
    if answer.count("|") < _FEWEST_PIPES:
        return None
    first, last = answer.index("|"), answer.rindex("|")
    start = max(answer.rfind("\n", 0, first), 0)
    end = answer.find("\n", last)
    run = _PIPE_LINES.search(answer[start : len(answer) if end == -1 else end])
    return None if run is None else run.group(1)


def _guarded(answer: str) -> Table | None:
    text = _REASONING.sub("", answer)
    fences = [(name.lower(), body) for name, body in _ANY_FENCE.findall(text)]
    named = [body for name, body in fences if name in ("markdown", "md")]
    for candidate in [*named, *(body for name, body in fences if name not in ("markdown", "md")), text]:
        rows = _markdown_rows(candidate)
        if rows:
            return _table(rows)
    return None


def _markdown_rows(text: str) -> list[list[str]]:
    """Header and rows of the first Markdown table: a line with a pipe above a separator line, and what follows."""
    lines = text.split("\n")
    for i in range(1, len(lines)):
        if "|" not in lines[i] or not _SEPARATOR.fullmatch(lines[i].strip()):
            continue
        header = split_cells(lines[i - 1])
        if "|" not in lines[i - 1] or len(header) != len(split_cells(lines[i])):
            continue
        rows = [header]
        for line in lines[i + 1 :]:
            if "|" not in line:
                if line.strip():
                    break
                continue
            rows.append(split_cells(line))
        return rows
    return []


def split_cells(line: str) -> list[str]:
    """The cells of one Markdown row, trimmed; ``\\|`` and pipes inside backticks do not end a cell."""
    line = line.strip()
    cells, parts = [], ""
    for match in _CELL_PARTS.finditer(line):
        if match.group() == "|":
            cells.append(parts.strip())
            parts = ""
        else:
            parts += "|" if match.group() == "\\|" else match.group()
    cells.append(parts.strip())
    if line.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and cells[-1] == "" and line.endswith("|"):
        cells = cells[:-1]
    return cells


def _table(rows: list[list[str]]) -> Table:
    """The rows as a table of the header's width; surplus cells are dropped, missing ones are missing values."""
    header = [name.replace(" ", "").lower() for name in rows[0]]
    keep = [i for i, name in enumerate(header) if name]
    if not keep:
        raise EmptyTable("the header of the table is blank")
    width = len(header)
    body = [(row + [""] * width)[:width] for row in rows[1:] if any(cell.strip(" -:") for cell in row)]
    cells = tuple(tuple(missing_word(cell) for cell in row) for row in body)
    return Table(tuple(header), cells).select(keep)


def missing_word(cell: str) -> str:
    """The one text for a missing value, for the words that stand for one; any other cell unchanged."""
    return MISSING if cell in MISSING_WORDS else cell
