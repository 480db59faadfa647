"""Re-applying stored decisions to a replayed history before anything is measured (A12)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from agentmem.offload.reference.script import stringify
from agentmem.offload.reference.shape import (
    HEARTBEAT,
    Raw,
    body,
    by_id,
    call_ids,
    calls,
    find,
    has,
    is_call,
    is_result,
    only_calls,
    result_id,
    with_body,
)
from agentmem.offload.reference.summary_text import replace_result, short_input


def reapply(
    messages: Sequence[Raw], entries: Iterable[Raw], confirmed: Container[str], deleted: Container[str]
) -> list[Raw]:
    """The list with heartbeats and deleted calls taken out and confirmed ones replaced by their summaries."""
    table = by_id(entries)
    fresh: list[Raw] = []
    for message in without_heartbeats(messages):
        ids = call_ids(message)
        call = result_id(message)
        if call and has(deleted, call):
            continue
        if ids and only_calls(message):
            if all(has(deleted, other) for other in ids):
                continue
        elif any(has(deleted, other) for other in ids):
            message = without_calls(message, lambda other: has(deleted, other))
        fresh.append(message if message.get("_offloaded") else _replayed(message, table, confirmed))
    return fresh


def _replayed(message: Raw, table: dict[str, Raw], confirmed: Container[str]) -> Raw:
    call = result_id(message)
    if is_result(message) and call and has(confirmed, call):
        entry = find(table, call)
        return message if entry is None else {**replace_result(message, entry).message, "_offloaded": True}
    ids = call_ids(message)
    if not ids:
        return message
    known = {other: find(table, other) for other in ids if has(confirmed, other)}
    if only_calls(message):
        if len(known) < len(set(ids)) or not all(known.values()):
            return message
        return {**shorten_inputs(message, known), "_offloaded": True}
    return shorten_inputs(message, known)


def shorten_inputs(message: Raw, entries: dict[str, Raw | None]) -> Raw:
    """The message with the inputs of the calls that have an entry replaced by a pointer."""
    inner = body(message)
    if not any(entries.get(call) for call in call_ids(message)):
        return message
    blocks = [_shortened(block, entries) if is_call(block) else block for block in inner["content"]]
    return with_body(message, {**inner, "content": blocks})


def _shortened(block: Raw, entries: dict[str, Raw | None]) -> Raw:
    entry = entries.get(str(block.get("id")))
    return block if entry is None else short_input(block, entry)


def without_calls(message: Raw, gone: Callable[[str], bool]) -> Raw:
    """The message without the tool-use blocks whose id is gone."""
    inner = body(message)
    blocks = [block for block in inner["content"] if not (is_call(block) and gone(str(block.get("id"))))]
    return with_body(message, {**inner, "content": blocks})


def without_heartbeats(messages: Sequence[Raw]) -> list[Raw]:
    """The list without heartbeat calls and their results; an assistant that is left empty goes as well."""
    beats = {str(block.get("id")) for message in messages for block in calls(message) if _is_heartbeat(block)}
    if not beats:
        return list(messages)
    fresh: list[Raw] = []
    for message in messages:
        if is_result(message) and (result_id(message) or "") in beats:
            continue
        if any(call in beats for call in call_ids(message)):
            message = without_calls(message, beats.__contains__)
            if not body(message)["content"]:
                continue
        fresh.append(message)
    return fresh


def _is_heartbeat(block: Raw) -> bool:
    given: Any = block["input"] if "input" in block else block.get("arguments")
    return HEARTBEAT in (given if isinstance(given, str) else stringify(given) if given is not None else "")
