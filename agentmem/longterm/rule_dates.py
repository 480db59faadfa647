"""Dates that a sentence names, absolute or relative to when it was said. English and Chinese, no library: the same
sentence and time give the same days everywhere, and half a million sentences take seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_DAYS = {name: i for i, name in enumerate(_DAY_NAMES.split())}
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name: i + 1 for i, name in enumerate(_MONTH_NAMES.split())}
_MONTHS |= {name[:3]: number for name, number in list(_MONTHS.items())} | {"sept": 9}
_NUMBER_NAMES = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {name: i + 1 for i, name in enumerate(_NUMBER_NAMES.split())}
_NUMBERS |= {"a": 1, "an": 1, "couple": 2, "few": 3}
_HAN_NUMBERS = {char: i for i, char in enumerate("零一二三四五六七八九十")} | {"两": 2, "几": 3}
_HAN_DAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5}

_month = "|".join(sorted(_MONTHS, key=lambda name: -len(name)))
_number = "|".join((*sorted(_NUMBERS, key=lambda name: -len(name)), r"\d{1,3}"))
_day = "|".join(_DAYS)
_ENGLISH = re.compile(
    rf"""\b(?:
    (?P<iso>\d{{4}}-\d{{2}}-\d{{2}})
    | (?P<day1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month1>{_month})\b\.?(?:,?\s+(?P<year1>\d{{4}}))?
    | (?P<month2>{_month})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<year2>\d{{4}}))?
    | (?P<near>the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|today|tonight|tomorrow
      |this\ morning|last\ night)
    | (?:a\s+)?(?P<ago>{_number})(?:\s+of)?\s+(?P<unit1>day|week|month|year)s?\s+ago
    | in\s+(?:a\s+)?(?P<ahead>{_number})(?:\s+of)?\s+(?P<unit2>day|week|month|year)s?
    | (?P<which>last|this|next|this\ past|this\ coming)\s+(?P<named>week|weekend|month|year|{_day})
    | (?:on|by|until|till)\s+(?P<weekday>{_day})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CHINESE = re.compile(
    r"(?P<iso>\d{4}-\d{2}-\d{2})"
    r"|(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]"
    r"|(?P<near>大前天|前天|昨天|昨晚|今天|今晚|今早|明天|明早|后天|大后天)"
    r"|(?P<count>[一二两三四五六七八九十几]|\d{1,3})个?(?P<unit>天|周|星期|月|年)(?P<side>前|后)"
    r"|(?P<which>上上|上|这|本|下)个?(?P<named>周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?"
    r"|(?P<which2>上|这|本|下)个(?P<month_word>月)|(?P<year_word>去年|今年|明年)"
)
_NEAR = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_HAN_NEAR = {"大前天": -3, "前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "今早": 0, "明天": 1, "明早": 1}
_HAN_NEAR |= {"后天": 2, "大后天": 3}


@dataclass(frozen=True, slots=True)
class Named:
    """A stretch of days that a sentence names: ISO dates, equal for one day; ``end`` is the index behind the words."""

    first: str
    last: str
    end: int
    relative: bool


def named_days(sentence: str, said: int, offset: int = 0) -> list[Named]:
    """The days a sentence names, in order. ``said`` is in milliseconds, ``offset`` in minutes ahead of UTC."""
    today = (datetime.fromtimestamp(said / 1000, UTC) + timedelta(minutes=offset)).date()
    found = []
    for pattern, reader in ((_ENGLISH, _english), (_CHINESE, _chinese)):
        for match in pattern.finditer(sentence):
            try:
                days = reader(match, today)
            except (ValueError, OverflowError):  # 31 February, or a year beyond the calendar
                continue
            if days:
                found.append(Named(days[0].isoformat(), days[1].isoformat(), match.end(), days[2]))
    return sorted({(day.first, day.last, day.end): day for day in found}.values(), key=lambda day: day.end)


def with_dates(sentence: str, days: list[Named]) -> str:
    """The sentence with the date put behind each relative word: "yesterday" becomes "yesterday (2026-01-01)"."""
    for day in reversed(days):
        if day.relative:
            shown = day.first if day.first == day.last else f"{day.first} to {day.last}"
            added = f"（{shown}）" if "\u3400" <= sentence[day.end - 1] <= "\u9fff" else f" ({shown})"
            sentence = sentence[: day.end] + added + sentence[day.end :]
    return sentence


Days = tuple[date, date, bool]


def _english(match: re.Match[str], today: date) -> Days | None:
    part = match.groupdict()
    if part["iso"]:
        day = date.fromisoformat(part["iso"])
        return day, day, False
    for n in ("1", "2"):
        if part[f"month{n}"] in ("may", "march"):
            return None  # the verbs
        if part[f"month{n}"]:
            return _calendar(today, part[f"year{n}"], _MONTHS[part[f"month{n}"].lower()], int(part[f"day{n}"]))
    if part["near"]:
        return _one(today + timedelta(days=_NEAR[part["near"].lower()]))
    if part["ago"] or part["ahead"]:
        word, unit = part["ago"] or part["ahead"], part["unit1"] or part["unit2"]
        count = _NUMBERS.get(word.lower()) or int(word)
        return _shift(today, unit.lower(), -count if part["ago"] else count)
    if part["weekday"]:
        ahead = (_DAYS[part["weekday"].lower()] - today.weekday()) % 7
        return _one(today + timedelta(days=ahead))
    step = {"last": -1, "this past": -1, "this": 0, "this coming": 0, "next": 1}[
        " ".join(part["which"].lower().split())
    ]
    return _which(today, step, part["named"].lower())


def _which(today: date, step: int, named: str) -> Days:
    if named in _DAYS:
        ahead = (_DAYS[named] - today.weekday()) % 7
        if step < 0:
            return _one(today - timedelta(days=(today.weekday() - _DAYS[named]) % 7 or 7))
        return _one(today + timedelta(days=ahead + (7 if step > 0 and ahead == 0 else 0)))
    if named == "weekend":
        saturday = today - timedelta(days=today.weekday()) + timedelta(days=5, weeks=step)
        return saturday, saturday + timedelta(days=1), True
    return _period(today, named, step)


def _chinese(match: re.Match[str], today: date) -> Days | None:
    part = match.groupdict()
    if part["iso"]:
        return None  # the English pattern reads it
    if part["month"]:
        return _calendar(today, part["year"], int(part["month"]), int(part["day"]))
    if part["near"]:
        return _one(today + timedelta(days=_HAN_NEAR[part["near"]]))
    if part["count"]:
        count = _HAN_NUMBERS.get(part["count"]) or int(part["count"])
        unit = {"天": "day", "周": "week", "星期": "week", "月": "month", "年": "year"}[part["unit"]]
        return _shift(today, unit, -count if part["side"] == "前" else count)
    steps = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "去年": -1, "今年": 0, "明年": 1}
    if part["year_word"]:
        return _period(today, "year", steps[part["year_word"]])
    if part["month_word"]:
        return _period(today, "month", steps[part["which2"]])
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=steps[part["which"]])
    if part["weekday"]:
        return _one(monday + timedelta(days=_HAN_DAYS[part["weekday"]]))
    return monday, monday + timedelta(days=6), True


def _calendar(today: date, year: str | None, month: int, day: int) -> Days:
    """A date without a year is the one nearest to today."""
    if year:
        exact = date(int(year), month, day)
        return exact, exact, False
    near = min(
        (date(y, month, day) for y in (today.year - 1, today.year, today.year + 1) if _exists(y, month, day)),
        key=lambda candidate: abs(candidate - today),
    )
    return near, near, True


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _one(day: date) -> Days:
    return day, day, True


def _shift(today: date, unit: str, count: int) -> Days:
    if unit == "day":
        return _one(today + timedelta(days=count))
    if unit == "week":
        return _one(today + timedelta(weeks=count))
    return _period(today, unit, count)


def _period(today: date, unit: str, step: int) -> Days:
    """The week, month or year that lies ``step`` of its kind from today's."""
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(days=6), True
    if unit == "year":
        return date(today.year + step, 1, 1), date(today.year + step, 12, 31), True
    months = today.year * 12 + today.month - 1 + step
    first = date(months // 12, months % 12 + 1, 1)
    following = date((months + 1) // 12, (months + 1) % 12 + 1, 1)
    return first, following - timedelta(days=1), True
