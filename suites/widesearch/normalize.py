"""The three preprocess functions of a column, and how column names are normalised."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from suites.widesearch.dates import parse_date
from suites.widesearch.errors import GradingError

NO_NUMBER = "NULL"
_NUMBER = re.compile(r"[-+]?\d*\.\d+%?|[-+]?\d+\.?\d*%?")  # \d on purpose: full-width digits count


def norm_column(name: str) -> str:
    """A column name: trimmed, lower case, without ASCII spaces."""
    return name.strip().lower().replace(" ", "")


def norm_str(value: object) -> str:
    """Lower case, trimmed, without ASCII spaces and asterisks; no Unicode folding."""
    return str(value).lower().strip().replace(" ", "").replace("*", "")


def extract_number(value: object) -> str:
    """The first number of the text, with a percent sign that touches it; ``NULL`` when there is none.

    All ASCII commas are deleted first, so ``12.000,50`` becomes ``12.00050``.
    """
    match = _NUMBER.search(str(value).replace(",", ""))
    return match.group() if match else NO_NUMBER


def norm_date(value: object, now: datetime) -> str:
    """The date as ``YYYY-MM-DD``; a text that is no date comes back unchanged. ``now`` is naive UTC."""
    if not isinstance(value, str):
        raise TypeError(f"a date must be text, got {type(value).__name__}")
    found = parse_date(value, now)
    # Not strftime: whether it pads the years before 1000 depends on the platform; the reference did not.
    return value if found is None else f"{found.year}-{found.month:02d}-{found.day:02d}"


def preprocessor(name: str, now: datetime) -> Callable[[object], str]:
    """The function a pipeline names. Raises ``GradingError`` for an unknown name."""
    if name == "norm_str":
        return norm_str
    if name == "extract_number":
        return extract_number
    if name == "norm_date":
        return lambda value: norm_date(value, now)
    raise GradingError(f"unknown preprocess function {name!r}: expected norm_str, extract_number or norm_date")
