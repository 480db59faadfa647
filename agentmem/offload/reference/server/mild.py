"""The server's mild stage and its re-applying of stored decisions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from agentmem.offload.reference.script import units
from agentmem.offload.reference.server.shape import (
    asked_ids,
    result_blocks,
    result_ids,
    result_length,
    with_result_text,
)
from agentmem.offload.reference.shape import Raw, body, calls, has, is_call, is_canvas, with_body

FLOOR = 4
SCAN = 0.7
MARGIN = 50  # characters by which a summary must be shorter
_ARCHIVED = '原始工具结果已存档，如需查看完整内容请调用 tdai_read_cos(path="{ref}")'


@dataclass(slots=True)
class Replayed:
    """The new list, and how many messages were replaced and removed."""

    messages: list[Raw]
    replaced: int = 0
    deleted: int = 0
    ids: list[str] = field(default_factory=list)


def summary_of(entry: Raw) -> str:
    """What stands for a result; the line about the stored one only where there is one."""
    node = entry.get("node_id")
    lines = [f"[Offloaded Tool Result | node: {'N/A' if node is None else node}]", f"Summary: {entry.get('summary')}"]
    if entry.get("result_ref"):
        lines.append(_ARCHIVED.format(ref=entry["result_ref"]))
    return "\n".join(lines)


def replace_old(
    messages: Sequence[Raw], entries: Iterable[Raw], scan_ratio: float = SCAN, floor: float = FLOOR
) -> Replayed:
    """Replace results of the oldest part whose summary is shorter and scores at least ``floor``, best first."""
    table = {entry["tool_call_id"]: entry for entry in entries}
    done = Replayed(list(messages))
    found: list[tuple[float, int, str]] = []
    for index, message in enumerate(messages[: math.floor(len(messages) * scan_ratio)]):
        call = next(iter(result_ids(message)), None)
        entry = table.get(call or "")
        if call is None or entry is None or message.get("_offloaded") or is_canvas(message):
            continue
        score = entry.get("score")
        if score is None or score >= floor:
            found.append((-(floor if score is None else score), index, call))
    for _, index, call in sorted(found):
        entry = table[call]
        if units(entry.get("summary") or "") + MARGIN >= result_length(messages[index]):
            continue
        done.messages[index] = _replaced(messages[index], entry)
        done.replaced += 1
        done.ids.append(call)
    return done


def reapply(
    messages: Sequence[Raw], entries: Iterable[Raw], confirmed: Collection[str], deleted: Collection[str]
) -> Replayed:
    """Stored decisions on a replayed list, then calls and results without their counterpart taken out."""
    done = Replayed(list(messages))
    if not confirmed and not deleted:
        return done
    table = {entry["tool_call_id"]: entry for entry in entries}
    fresh: list[Raw] = []
    for message in messages:
        kept = _without_results(message, deleted)
        kept = None if kept is None else without_calls(kept, deleted)
        if kept is None:
            done.deleted += 1
            continue
        call = next(iter(result_ids(kept)), None)
        if call and has(confirmed, call) and call in table and not kept.get("_offloaded"):
            kept = _replaced(kept, table[call])
            done.replaced += 1
        fresh.append(kept)
    done.messages = _paired(fresh, done)
    return done


def _paired(messages: Sequence[Raw], done: Replayed) -> list[Raw]:
    answered = {call for message in messages for call in result_ids(message)}
    asked = {call for message in messages for call in asked_ids(message)}
    fresh: list[Raw] = []
    for message in messages:
        kept = _without_results(message, set(result_ids(message)) - asked)
        kept = None if kept is None else without_calls(kept, set(asked_ids(message)) - answered)
        if kept is None:
            done.deleted += 1
        else:
            fresh.append(kept)
    return fresh


def _replaced(message: Raw, entry: Raw) -> Raw:
    return {**with_result_text(message, summary_of(entry)), "_offloaded": True}


def _without_results(message: Raw, gone: Collection[str]) -> Raw | None:
    """The message without the results that are gone; None when nothing is left of it."""
    ids = result_ids(message)
    if not any(has(gone, call) for call in ids):
        return message
    blocks = result_blocks(message)
    if not blocks or all(has(gone, call) for call in ids):
        return None
    left = [
        block
        for block in body(message)["content"]
        if not (block in blocks and has(gone, str(block.get("tool_use_id"))))
    ]
    return with_body(message, {**body(message), "content": left})


def without_calls(message: Raw, gone: Collection[str]) -> Raw | None:
    """The message without the tool-use blocks that are gone; None when nothing is left of it."""
    blocks = [block for block in calls(message) if has(gone, str(block.get("id")))]
    if not blocks:
        return message
    left = [block for block in body(message)["content"] if not (is_call(block) and has(gone, str(block.get("id"))))]
    return with_body(message, {**body(message), "content": left}) if left else None
