"""Recall and the search tool as upstream has them (memory_core.md B15, B16), quirks included. For parity tests only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentmem.longterm.recall_candidates import fuse
from agentmem.longterm.recall_lines import LEAST, clock_text
from agentmem.longterm.sanitize import sanitize_text
from agentmem.text.reference import fts_query

Row = Mapping[str, Any]
Search = Callable[[int], Sequence[Row]]
"""Ranked rows with ``id`` and ``score`` for a limit; raises when the side fails. None in its place: no such side."""

_BRACKET = re.compile(r"^\[[\w\-:+ ]+\]\s*", re.MULTILINE | re.ASCII)  # meant for times, takes [INFO] too
CUT = "…（已截断；可用 tdai_memory_search 或 tdai_conversation_search 查看详情）"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to: the strategy that acted, the rows, the number asked of each side (None: not asked)."""

    strategy: str
    rows: tuple[Row, ...]
    fts_limit: int | None = None
    vector_limit: int | None = None
    fts_query: str | None = None
    message: bool = False


def recall_search(
    query: str,
    strategy: Literal["keyword", "embedding", "hybrid"],
    fts: Search | None,
    vector: Search | None,
    max_results: int = 5,
    threshold: float = 0.3,
) -> Found:
    """The rows that automatic recall would inject. A side that raises counts as empty; hybrid ignores the threshold."""
    clean = _BRACKET.sub("", sanitize_text(query)).strip()
    if len(clean) < 2:
        return Found(strategy, ())
    words = fts_query(clean, "regex")
    count = {"keyword": 2, "embedding": 2, "hybrid": 3}[strategy] * max_results
    asks_words = strategy != "embedding" and fts is not None and words is not None
    found_words = _asked(fts, count) if asks_words else []
    asks_vector = strategy != "keyword" and vector is not None
    found_near = _asked(vector, count) if asks_vector else []
    if strategy == "keyword":
        good = [row for row in found_words if row["score"] >= threshold]
        rows = (good or (found_words if len(found_words) <= max_results else []))[:max_results]
    elif strategy == "embedding":
        rows = [row for row in found_near if row["score"] >= threshold][:max_results]
    else:
        rows = _fused([found_words, found_near])[:max_results]
    return Found(
        strategy,
        tuple(rows),
        count if asks_words else None,
        count if asks_vector else None,
        words if asks_words else None,
    )


def memory_search(
    query: str,
    limit: int,
    fts: Search | None,
    vector: Search | None,
    type: str | None = None,
    scene: str | None = None,
) -> Found:
    """The search tool: 3 x ``limit`` candidates a side, fused when both found something, filters after that."""
    if not query.strip():
        return Found("none", ())
    if fts is None and vector is None:
        return Found("none", (), message=True)
    count = 3 * limit
    words = fts_query(query, "regex") if fts is not None else None
    found_words = _asked(fts, count) if words is not None else []
    found_near = _asked(vector, count)
    if found_words and found_near:
        strategy, rows = "hybrid", _fused([found_words, found_near])
    elif found_words or vector is None:
        strategy, rows = "fts", found_words
    else:
        strategy, rows = "embedding", found_near
    if type:
        rows = [row for row in rows if row.get("type", "episodic") == type]
    if scene:
        rows = [row for row in rows if scene.lower() in str(row.get("scene_name", "")).lower()]
    return Found(
        strategy,
        tuple(rows[:limit]),
        count if words is not None else None,
        count if vector is not None else None,
        words,
    )


def recall_line(row: Row) -> str:
    """``- [type|scene] content (活动时间: ...)``; a range wins over the point time."""
    start, end = clock_text(row.get("activity_start_time")), clock_text(row.get("activity_end_time"))
    point = clock_text(row.get("timestamp"))
    if start and end:
        time = f"{start} ~ {end}"
    else:
        time = f"{start}起" if start else f"至{end}" if end else point
    scene = row.get("scene_name")
    head = f"{row['type']}|{scene}" if scene else row["type"]
    return f"- [{head}] {row['content']}" + (f" (活动时间: {time})" if time else "")


def recall_budget(lines: Sequence[str], each: float | None, total: float | None) -> list[str]:
    """Lines cut to the limits. The total counts UTF-16 units, the cuts code points; a limit that is missing, negative
    or not finite is none."""
    per_line, in_all = _limit(each), _limit(total)
    cut = [_shorten(line, per_line) if per_line else line for line in lines]
    if not in_all:
        return cut
    kept: list[str] = []
    used = 0
    for line in cut:
        room = in_all - used - (1 if kept else 0)
        size = _units(line)
        if size > room:
            if room >= LEAST:
                kept.append(_shorten(line, room))
            break
        kept.append(line)
        used = in_all - room + size
    return kept


def _asked(search: Search | None, count: int) -> list[Row]:
    if search is None:
        return []
    try:
        return list(search(count))[:count]
    except RuntimeError:  # the stub's word for a side that fails
        return []


def _fused(lists: Sequence[Sequence[Row]]) -> list[Row]:
    rows = {row["id"]: row for side in reversed(lists) for row in reversed(side)}
    return [{**rows[id], "score": score} for id, score in fuse([[row["id"] for row in side] for side in lists])]


def _limit(value: float | None) -> int:
    return math.floor(value) if value is not None and math.isfinite(value) and value > 0 else 0


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _shorten(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    if limit <= _units(CUT):
        return line[:limit]
    return line[: limit - _units(CUT)].rstrip() + CUT
