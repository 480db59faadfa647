"""Compares one cell of the answer with one of the gold table. Each metric returns (score, message).

``reference`` keeps the published behaviour, ``guarded`` mends what the README of this folder lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from suites.outcomes import Mode
from suites.widesearch.dates import parse_date
from suites.widesearch.errors import GradingError
from suites.widesearch.infer import MISSING
from suites.widesearch.normalize import norm_str

Score = tuple[float, str]
Metric = Callable[[str, str], Score]
NEAR_DAYS = 31

# The range from "$" to "_" is the published one: it lets brackets, commas, dots and ">" into a host.
_URL = re.compile(r"https?://(?:[a-zA-Z0-9$-_@.&+!*\\(),]|%[0-9a-fA-F]{2})+")
_URL_GUARDED = re.compile(r"https?://[^\s<>\"'|)\]}，。；、]+", re.IGNORECASE)


def exact_match(answer: str, gold: str) -> Score:
    """Equal after lower-casing."""
    same = answer.lower() == gold.lower()
    return float(same), f"exact {'' if same else 'not '}match, response: {answer}, target: {gold}"


def in_match(answer: str, gold: str) -> Score:
    """The answer is part of the gold text."""
    inside = answer in gold
    return float(inside), f"response {'' if inside else 'not '}in target, response: {answer}, target: {gold}"


def url_match(answer: str, gold: str) -> Score:
    """The same set of hosts; no address on either side is a match.

    Raises ``ValueError`` for an address with an unpaired square bracket in its host.
    """
    hosts = [{urlsplit(url).netloc for url in _URL.findall(text)} for text in (answer, gold)]
    same = hosts[0] == hosts[1]
    return float(same), f"url {'' if same else 'not '}match, response: {answer}, target: {gold}"


def number_near(answer: str, gold: str, criterion: Any) -> Score:
    """Within ``criterion`` of the gold number, both ends included; a percent sign divides by 100.

    Raises ``TypeError`` when both are numbers and the criterion is none.
    """
    numbers = _number(answer), _number(gold)
    if numbers[0] is None or numbers[1] is None:
        if numbers == (None, None) and answer == gold:
            return 1.0, f"number equal, response: {answer}, target: {gold}"
        return 0.0, f"number not convertable, response: {numbers[0]}, target: {numbers[1]}"
    if abs(numbers[0] - numbers[1]) <= abs(numbers[1]) * criterion:
        return (
            1.0,
            f"number near in range {criterion * 100}%, response: {numbers[0]}, target: {numbers[1]}",
        )
    return 0.0, f"number not near, response: {numbers[0]}, target: {numbers[1]}"


def date_near(answer: str, gold: str, now: datetime) -> Score:
    """At most 31 whole days apart, counted downwards; both no dates is near.

    Raises ``TypeError`` when only one of the two has a time zone.
    """
    dates = _date(answer, now), _date(gold, now)
    if dates[0] is None or dates[1] is None:
        if dates == (None, None):
            return 1.0, f"date near, response: {answer}, target: {gold}"
        return 0.0, f"date not convertable, response: {answer}, target: {gold}"
    near = abs((dates[0] - dates[1]).days) <= NEAR_DAYS
    return float(near), f"date {'' if near else 'not '}near, response: {dates[0]}, target: {dates[1]}"


def metric(name: str, criterion: Any, mode: Mode, now: datetime) -> Metric:
    """The metric a pipeline names, with its criterion bound. Raises ``GradingError`` for an unknown name."""
    reference: dict[str, Metric] = {
        "exact_match": exact_match,
        "in_match": in_match,
        "url_match": url_match,
        "number_near": lambda answer, gold: number_near(answer, gold, criterion),
        "date_near": lambda answer, gold: date_near(answer, gold, now),
    }
    guarded: dict[str, Metric] = reference | {
        "in_match": _in_match_guarded,
        "url_match": _url_match_guarded,
        "date_near": lambda answer, gold: _date_near_guarded(answer, gold, now),
    }
    known = guarded if mode == "guarded" else reference
    if name not in known:
        raise GradingError(f"unknown metric {name!r}: expected llm_judge or one of {', '.join(sorted(known))}")
    return known[name]


def _number(text: str) -> float | None:
    try:
        return float(text.replace("%", "")) / 100.0 if "%" in text else float(text)
    except ValueError:
        return None


def _date(text: str, now: datetime) -> datetime | None:
    try:
        return parse_date(text, now)
    except Exception:  # noqa: BLE001 - the reference takes any failure of the date library for "no date"
        return None


def _in_match_guarded(answer: str, gold: str) -> Score:
    """A missing answer is part of nothing but a missing gold."""
    if MISSING in (answer, gold) or not answer:
        return exact_match(answer, gold)
    return in_match(answer, gold)


def _url_match_guarded(answer: str, gold: str) -> Score:
    """Hosts without case, port and user; without any address the texts must be equal."""
    hosts = [
        {(urlsplit(_tidy(url)).hostname or "") for url in _URL_GUARDED.findall(text)} - {""} for text in (answer, gold)
    ]
    same = hosts[0] == hosts[1] if hosts[0] or hosts[1] else norm_str(answer) == norm_str(gold)
    return float(same), f"url {'' if same else 'not '}match, response: {answer}, target: {gold}"


def _tidy(url: str) -> str:
    """The address without punctuation at its end and without characters that would break its host apart."""
    return url.rstrip(".,;:!?*").replace("[", "")


def _date_near_guarded(answer: str, gold: str, now: datetime) -> Score:
    """Days between the calendar dates; a missing or unreadable date only equals the same text."""
    dates = [None if text == MISSING else _date(text, now) for text in (answer, gold)]
    if dates[0] is None or dates[1] is None:
        same = dates[0] is None and dates[1] is None and norm_str(answer) == norm_str(gold)
        return float(same), f"date {'equal' if same else 'not convertable'}, response: {answer}, target: {gold}"
    near = abs((dates[0].date() - dates[1].date()).days) <= NEAR_DAYS
    return float(near), f"date {'' if near else 'not '}near, response: {dates[0]}, target: {dates[1]}"
