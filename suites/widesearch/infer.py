"""Renders a column of cells the way the reference sees it: typed by its content, then turned into text again.

Rules of ``pandas.read_csv`` 2.3.1 followed by ``astype(str)``. A column is, in this order, integer, float, boolean
or text; missing values become ``nan`` and turn an integer column into floats. One text cell keeps the whole
column as typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MISSING = "nan"
MISSING_WORDS = frozenset(
    [
        "-1.#IND",
        "1.#QNAN",
        "1.#IND",
        "-1.#QNAN",
        "#N/A",
        "N/A",
        "n/a",
        "NA",
        "<NA>",
        "#NA",
        "NULL",
        "null",
        "NaN",
        "-NaN",
        "nan",
        "-nan",
        "None",
    ]
) | {"", "#N/A N/A"}

_SPACE = r"[ \t\n\r\x0b\x0c]*"
_INTEGER = re.compile(rf"{_SPACE}([+-]?)([0-9]+)({_SPACE})")
_FLOAT = re.compile(rf"{_SPACE}([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?)([0-9]{{1,17}}))?{_SPACE}")
_INFINITY = re.compile(r"([+-]?)(?:inf|infinity)", re.IGNORECASE)
_INT64 = range(-(2**63), 2**63)
_UINT64_END = 2**64
_MOST_DIGITS = 20  # of 2**64
_MAX_DIGITS = 17
_MAX_EXPONENT = 308


class _TooBig(Exception):
    """A number fits neither a signed nor an unsigned 64-bit integer; the column stays text."""


class _Conflict(Exception):
    """An unsigned number beside a sign or a gap; the column stays text, and its gaps stay as typed."""


def typed_text(cells: Sequence[str]) -> list[str]:
    """The cells of one column as the reference compares them."""
    try:
        integers = _integers(cells)
    except _TooBig:
        return [MISSING if cell in MISSING_WORDS else cell for cell in cells]
    except _Conflict:
        return list(cells)
    if integers is not None:
        if None not in integers:
            return [str(value) for value in integers]
        # The lowest integer is the reader's own mark for a gap, so it becomes one as soon as there is another.
        return [MISSING if value is None or value == _INT64.start else str(float(value)) for value in integers]
    for convert in (_floats, _booleans):
        converted = convert(cells)
        if converted is not None:
            return [MISSING if value is None else str(value) for value in converted]
    return [MISSING if cell in MISSING_WORDS else cell for cell in cells]


def _integers(cells: Sequence[str]) -> list[int | None] | None:
    """The column as integers, ``None`` for missing ones; ``None`` for all when some cell is no integer."""
    values: list[int | None] = []
    for cell in cells:
        if cell in MISSING_WORDS:
            values.append(None)
            continue
        match = _INTEGER.match(cell)
        if match is None:
            return None
        value = _whole(match)
        if value not in _INT64:
            return _unsigned(cells)
        if match.end() != len(cell):
            return None
        values.append(value)
    return values


def _whole(match: re.Match[str]) -> int:
    """The integer of a match; of one with very many digits (Python refuses to read those) one that fits nowhere."""
    digits = match.group(2).lstrip("0") or "0"
    value = int(digits) if len(digits) <= _MOST_DIGITS else _UINT64_END
    return -value if match.group(1) == "-" else value


def _unsigned(cells: Sequence[str]) -> list[int | None] | None:
    """The same for a column with a number beyond the signed range; a sign or a gap in it makes it text."""
    values: list[int | None] = []
    negative = missing = False
    for cell in cells:
        if cell in MISSING_WORDS:
            missing = True
            continue
        if cell.lstrip(" \t\n\r\x0b\x0c").startswith("-"):
            negative = True
            continue
        match = _INTEGER.match(cell)
        if match is None:
            return None
        value = _whole(match)
        if value >= _UINT64_END:
            raise _TooBig
        if match.end() != len(cell):
            return None
        values.append(value)
    if any(value is not None and value not in _INT64 for value in values) and (negative or missing):
        raise _Conflict
    if negative:
        raise _TooBig
    return values


def _floats(cells: Sequence[str]) -> list[float | None] | None:
    values: list[float | None] = []
    for cell in cells:
        if cell in MISSING_WORDS:
            values.append(None)
            continue
        value = _float(cell)
        if value is None:
            return None
        values.append(value)
    return values


def _float(cell: str) -> float | None:
    """One number, by the reader's own decimal arithmetic: 17 digits, then one scaling by a power of ten.

    It differs from ``float(cell)`` in the last bit for long numbers; published scores carry that.
    """
    infinity = _INFINITY.fullmatch(cell)
    if infinity is not None:
        return float(infinity.group(1) + "inf")
    match = _FLOAT.fullmatch(cell)
    if match is None:
        return None
    sign, whole, decimals, exponent_sign, exponent_digits = match.groups()
    decimals = decimals or ""
    if not whole and not decimals:
        return None
    kept = (whole + decimals)[:_MAX_DIGITS]
    number = 0.0
    for digit in kept:
        number = number * 10.0 + int(digit)
    exponent = max(0, len(whole) - _MAX_DIGITS) - max(0, len(kept) - len(whole))
    if exponent_digits:
        exponent += -int(exponent_digits) if exponent_sign == "-" else int(exponent_digits)
    return _scale(-number if sign == "-" else number, exponent)


def _scale(number: float, exponent: int) -> float | None:
    """``number`` times ten to the ``exponent``; ``None`` beyond the range of a double."""
    if exponent > _MAX_EXPONENT:
        return None
    if exponent > 0:
        number *= float(f"1e{exponent}")
    elif exponent < -_MAX_EXPONENT:
        below = -_MAX_EXPONENT - exponent
        number = number / float(f"1e{below}") / 1e308 if below <= _MAX_EXPONENT else 0.0
    else:
        number /= float(f"1e{-exponent}")
    return None if number in (float("inf"), float("-inf")) else number


def _booleans(cells: Sequence[str]) -> list[bool | None] | None:
    values: list[bool | None] = []
    for cell in cells:
        if cell in MISSING_WORDS:
            values.append(None)
        elif cell.upper() in ("TRUE", "FALSE") and cell.isascii():
            values.append(cell.upper() == "TRUE")
        else:
            return None
    return values
