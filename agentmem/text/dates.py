"""Finds the days, months and years a question names, in English, Chinese, Japanese and ISO notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_NAMES = "|".join([*_MONTHS, *(name[:3] for name in _MONTHS if name != "may"), "sept"])
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})\b",
        rf"\b{_YEAR}/(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})\b",
        rf"(?:{_YEAR}年)?(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})[日号])?",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name>{_NAMES})\b\.?(?:,? {_YEAR})?",
        rf"\b(?P<name>{_NAMES})\b\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? {_YEAR})?",
        rf"\b(?P<name>{_NAMES})\b\.?,? {_YEAR}\b",
        rf"\b(?:in|of|during|since|until|by|early|mid|late|last|this|next) (?:early |mid-?|late )?(?P<name>{_NAMES})\b",
        rf"\b{_YEAR}\b",
        rf"{_YEAR}年",
    )
)


@dataclass(frozen=True, slots=True)
class Named:
    """A date as far as it was named: any part may be None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


def named_dates(text: str) -> list[Named]:
    """The dates of a text, most exact reading first where two readings overlap; impossible ones are left out."""
    taken: list[tuple[int, int]] = []
    found: dict[Named, None] = {}
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            span = match.span()
            if any(span[0] < end and start < span[1] for start, end in taken):
                continue
            taken.append(span)
            found.update(dict.fromkeys(_read(match.groupdict())))
    return list(found)


def _read(parts: dict[str, str | None]) -> Iterator[Named]:
    name = parts.get("name")
    month = _MONTHS.index(next(full for full in _MONTHS if full.startswith(name.lower()[:3]))) + 1 if name else None
    if parts.get("month"):
        month = int(str(parts["month"]))
    day = int(str(parts["day"])) if parts.get("day") else None
    year = int(str(parts["year"])) if parts.get("year") else None
    if (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31):
        yield Named(year, month, day)
