"""Reads delimited text into columns of cells exactly as the reference scorer's reader does.

The reference reads tables with ``pandas.read_csv`` of pandas 2.3.1 and its defaults. This module keeps those
rules without pandas: quotes, ragged rows, blank lines, repeated and blank header cells. Types are guessed in
``suites.widesearch.infer``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from suites.widesearch.errors import EmptyTable, TableError
from suites.widesearch.infer import typed_text

_BLANK_LINE = re.compile(r"[ \t]*(?:\r\n?|\n|\Z)")
_NEWLINE = re.compile(r"\r\n?|\n")
UNNAMED = "Unnamed: {}"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns in order and rows of text, one cell a column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def select(self, keep: list[int]) -> Table:
        """The table with only the columns at the given positions."""
        return Table(tuple(self.columns[i] for i in keep), tuple(tuple(row[i] for i in keep) for row in self.rows))


def read_csv(text: str, delimiter: str = ",", *, infer: bool = True) -> Table:
    """The table in a delimited text; ``infer`` renders typed columns as text again (``007`` becomes ``7``).

    Raises ``EmptyTable`` without a header line and ``TableError`` for a row with too many fields or a quote that
    never closes. A byte order mark at the start is dropped, as is everything in a cell behind a NUL.
    """
    records = _records(text.removeprefix("\ufeff"), delimiter)
    if not records:
        raise EmptyTable("No columns to parse from file")
    header, body = records[0], records[1:]
    leading = max(0, len(body[0]) - len(header)) if body else 0
    names = _column_names(header)
    cells = [[row[leading + i] for row in body] for i in range(len(names))]
    columns = [typed_text(column) if infer else column for column in cells]
    return Table(tuple(names), tuple(zip(*columns, strict=True)))


def _records(text: str, delimiter: str) -> list[list[str]]:
    """Rows of fields; short rows are padded, and a row longer than the one before it is an error.

    The first data row is the exception: it may be longer than the header. The surplus fields in front of it then
    are row labels, so that every column moves by as many places.
    """
    plain = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    records: list[list[str]] = []
    position = line = 0
    while position < len(text):
        blank = _BLANK_LINE.match(text, position)
        if blank is not None:
            position, line = blank.end(), line + 1
            continue
        fields, position = _one_record(text, position, delimiter, plain, line)
        line += 1
        expected = len(records[-1]) if records else 0
        if len(records) > 1 and len(fields) > expected:
            raise TableError(
                f"Error tokenizing data. C error: Expected {expected} fields in line {line}, saw {len(fields)}"
            )
        records.append(fields + [""] * (expected - len(fields)))
    return records


def _one_record(text: str, position: int, delimiter: str, plain: re.Pattern[str], line: int) -> tuple[list[str], int]:
    """The fields of the record at ``position`` and the position behind its line end."""
    fields: list[str] = []
    while True:
        field = ""
        if text.startswith('"', position):
            field, position = _quoted(text, position + 1, line)
        rest = plain.match(text, position)
        assert rest is not None  # the pattern matches the empty text
        fields.append((field + rest.group()).partition("\0")[0])
        position = rest.end()
        if not text.startswith(delimiter, position):
            newline = _NEWLINE.match(text, position)
            return fields, newline.end() if newline else position
        position += len(delimiter)


def _quoted(text: str, position: int, line: int) -> tuple[str, int]:
    """The content of a quoted field that opened just before ``position``; a doubled quote is one quote."""
    parts: list[str] = []
    while True:
        end = text.find('"', position)
        if end < 0:
            raise TableError(f"Error tokenizing data. C error: EOF inside string starting at row {line}")
        parts.append(text[position:end])
        position = end + 1
        if not text.startswith('"', position):
            return "".join(parts), position
        parts.append('"')
        position += 1


def _column_names(header: list[str]) -> list[str]:
    """Blank names become ``Unnamed: <position>``; a repeated name gets ``.1``, ``.2`` ..., real names first."""
    blank = [i for i, name in enumerate(header) if name == ""]
    names = [name or UNNAMED.format(i) for i, name in enumerate(header)]
    seen: defaultdict[str, int] = defaultdict(int)
    for i in [i for i in range(len(names)) if header[i] != ""] + blank:
        name = original = names[i]
        count = seen[name]
        while count > 0:
            seen[original] = count + 1
            name = f"{original}.{count}"
            count = count + 1 if name in names else seen[name]
        names[i] = name
        seen[name] = count + 1
    return names
