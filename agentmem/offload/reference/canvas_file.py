"""Canvas files of upstream (A7, A8, A9): header and node summaries, line blocks applied to a file's text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentmem.offload.reference.script import cut, parse, trim

SUMMARY = 100  # characters of a node summary
NODES = 2  # newest nodes that are told
_HEADER = re.compile(r"%%\{\s*([^\n\r\u2028\u2029]*?)\s*\}%%")
_NODE = re.compile(r'(\d{3}-N\d+)\["([^"]*)"\]')
_STATUS = re.compile(r"status:\s*(\w+)", re.IGNORECASE)
_SUMMARY = re.compile(r"summary:\s*(.*?)\s*(?:<br\s*/?>|$)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Patched:
    """A patched text; ``ok`` is False when a block was out of range or there was no file."""

    ok: bool
    content: str | None


def describe(filename: str, path: str, content: str) -> dict[str, Any]:
    """What the task judge is told of a canvas."""
    header = _header(content)
    nodes = []
    for node, label in _NODE.findall(content):
        summary = _SUMMARY.search(label)
        if summary and trim(summary[1]):
            status = _STATUS.search(label)
            text = cut(trim(summary[1]), SUMMARY)
            nodes.append({"node_id": node, "status": status[1] if status else "unknown", "summary": text})
    counts = {word: len(re.findall(rf"status:\s*{word}", content, re.IGNORECASE)) for word in ("done", "doing", "todo")}
    return {
        "filename": filename,
        "path": path,
        "task_goal": header.get("taskGoal") or "",
        "created_time": header.get("createdTime"),
        "updated_time": header.get("updatedTime"),
        **counts,
        "node_summaries": nodes[-NODES:],
    }


def patch(content: str | None, blocks: Sequence[Mapping[str, Any]]) -> Patched:
    """Apply line blocks from the bottom up. ``end_line`` below ``start_line`` inserts before that line."""
    if content is None:
        return Patched(False, None)
    lines = content.split("\n")
    ok = True
    for block in sorted(blocks, key=lambda block: -block["start_line"]):  # stable, as upstream's sort is
        start, end = int(block["start_line"]), int(block["end_line"])
        if start < 1 or start > len(lines) + 1:
            ok = False
            continue
        fresh = block["content"].split("\n") if block["content"] else []
        lines[start - 1 : max(start - 1, min(end, len(lines)))] = fresh
    return Patched(ok, "\n".join(lines))


def _header(content: str) -> dict[str, Any]:
    found = _HEADER.match(content)
    if not found:
        return {}
    try:
        value = parse("{" + found[1] + "}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
