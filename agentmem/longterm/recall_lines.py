"""Atoms as lines of a prompt, and the limits of their length. All lengths are code points."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentmem.longterm.sanitize import escape_xml_tags
from agentmem.store.records import Atom
from agentmem.text.scripts import RUN

LEAST = 40  # characters: a shorter rest of a line says nothing (memory_core.md B15)
CUT = "… (cut; memory_search shows it whole)"
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}))?")


def format_line(atom: Atom) -> str:
    """``- [type|scene] content (when: start ~ end)``, with section tags made harmless and line ends as blanks."""
    content = escape_xml_tags(" ".join(atom.content.split()))
    scene = escape_xml_tags(" ".join(atom.scene.split()))
    head = f"{atom.type}|{scene}" if scene else atom.type
    chinese = RUN.search(atom.content) is not None
    return f"- [{head}] {content}{when(atom, '活动时间' if chinese else 'when')}"


def when(atom: Atom, label: str) -> str:
    """The time part of a line: a range from the activity times, else the first timestamp; empty without one."""
    start = clock_text(atom.metadata.get("activity_start_time"))
    end = clock_text(atom.metadata.get("activity_end_time"))
    point = clock_text(atom.timestamps[0]) if atom.timestamps else ""
    if start and end and start != end:
        return f" ({label}: {start} ~ {end})"
    if start and end:
        return f" ({label}: {start})"
    if start:
        return f" ({label}: {start}起)" if label == "活动时间" else f" ({label}: from {start})"
    if end:
        return f" ({label}: 至{end})" if label == "活动时间" else f" ({label}: until {end})"
    return f" ({label}: {point})" if point else ""


def clock_text(value: object) -> str:
    """The date of an ISO text, with hours and minutes unless they are 00:00; empty for anything else."""
    match = _TIME.match(value) if isinstance(value, str) else None
    if match is None:
        return ""
    return match[1] if match[2] in (None, "00:00") else f"{match[1]} {match[2]}"


def within_budget(lines: Sequence[str], each: int = 0, total: int = 0, mark: str = CUT) -> list[str]:
    """Cut lines to ``each`` characters and all of them, with line ends, to ``total``; 0 is no limit.

    The first line that does not fit is cut when at least 40 characters are left, and everything behind it goes. A cut
    line ends with ``mark`` where that leaves room for content.
    """
    cut = [shorten(line, each, mark) if each > 0 else line for line in lines]
    if total <= 0:
        return cut
    kept: list[str] = []
    used = 0
    for line, whole in zip(cut, lines, strict=True):
        room = total - used - (1 if kept else 0)
        if len(line) > room:
            if room >= LEAST:
                kept.append(shorten(whole, room, mark))
            break
        kept.append(line)
        used = total - room + len(line)
    return kept


def shorten(line: str, limit: int, mark: str = CUT) -> str:
    """At most ``limit`` characters, the mark included; a limit that has no room for the mark cuts plainly."""
    if len(line) <= limit:
        return line
    if limit <= len(mark):
        return line[:limit]
    return line[: limit - len(mark)].rstrip() + mark
