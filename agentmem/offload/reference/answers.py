"""Reading of a model's answers (A6, A7, A8), with upstream's own tolerance and its limits."""

from __future__ import annotations

import math
import re
from typing import Any

from agentmem.llm.jsonrepair import extract_reference
from agentmem.offload.reference.script import ordered, trim, truthy

_FENCE = re.compile(r"```mermaid\s*([\s\S]*?)```")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
DEFAULT_SCORE = 5


def mermaid(text: str) -> str | None:
    """The canvas in a text: what stands in a mermaid fence, else the whole text when it names a flowchart."""
    found = _FENCE.search(text)
    if found:
        return trim(found[1])
    return trim(text) if "flowchart" in text or "graph" in text else None


def summaries(raw: str) -> list[dict[str, Any]]:
    """Entries of an L1 answer; items without an id are dropped, a score that is no number becomes 5."""
    items = extract_reference(raw)
    if not isinstance(items, list):
        return []
    return [
        {
            "tool_call_id": item["tool_call_id"],
            "tool_call": _or_empty(item.get("tool_call")),
            "summary": _or_empty(item.get("summary")),
            "timestamp": _or_empty(item.get("timestamp")),
            "score": score if _is_number(score := item.get("score")) else DEFAULT_SCORE,
            "node_id": None,
        }
        for item in items
        if isinstance(item, dict) and truthy(item.get("tool_call_id"))
    ]


def judgment(raw: str) -> dict[str, Any] | None:
    """The task judgement of an L1.5 answer; None when none of its three flags is given."""
    value = extract_reference(raw)
    if not isinstance(value, dict):
        return None
    flags = ("taskCompleted", "isContinuation", "isLongTask")
    if all(value.get(flag) is None for flag in flags):
        return None
    judged: dict[str, Any] = {flag: truthy(value.get(flag)) for flag in flags}
    for name in ("continuationMmdFile", "newTaskLabel"):
        if value.get(name) is not None:
            judged[name] = value[name]
    return judged


def canvas(raw: str) -> dict[str, Any] | None:
    """The change of an L2 answer: action, content or line blocks, mapping; None when there is nothing to use."""
    value = extract_reference(raw)
    if not isinstance(value, dict):
        found = mermaid(raw)
        return _change("write", found, None, {}) if found else None
    mapping = value.get("node_mapping")
    nodes = {key: _word(node) for key, node in ordered(mapping)} if isinstance(mapping, dict) else {}
    if value.get("file_action") == "replace":
        blocks = value.get("replace_blocks")
        return _change("replace", None, _blocks(blocks) if isinstance(blocks, list) else None, nodes)
    content = value.get("mmd_content")
    if isinstance(content, str) and content:
        text = mermaid(content)
        return _change("write", content if text is None else text, None, nodes)
    return _change("write", mermaid(raw), None, nodes)


def _change(action: str, content: str | None, blocks: list[Any] | None, mapping: dict[str, Any]) -> dict[str, Any]:
    return {"file_action": action, "mmd_content": content, "replace_blocks": blocks, "node_mapping": mapping}


def _blocks(blocks: list[Any]) -> list[dict[str, Any]]:
    kept = []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        start, end = _line(block.get("start_line")), _line(block.get("end_line"))
        if start is None or end is None:
            continue
        given = block.get("content")
        text = given if isinstance(given, str) else "" if given is None else _word(given)
        canvas_text = mermaid(text)
        kept.append({"start_line": start, "end_line": end, "content": text if canvas_text is None else canvas_text})
    return kept


def _line(value: Any) -> int | float | None:
    if isinstance(value, str) and _NUMBER.fullmatch(trim(value)):
        value = float(trim(value))
    if not _is_number(value):
        return None
    return int(value) if value == int(value) else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _or_empty(value: Any) -> Any:
    return "" if value is None else value


def _word(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)
