"""The emergency stage: head cuts, then the largest groups, then truncation in place, until under the target (A15)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agentmem.offload.reference.counting import Count, snapshot, visible
from agentmem.offload.reference.head_cut import Deleted, ids_of, size, slice_size
from agentmem.offload.reference.insertion import put_back, take_out
from agentmem.offload.reference.script import cut, stringify, units
from agentmem.offload.reference.shape import (
    Raw,
    body,
    call_ids,
    is_call,
    is_result,
    last_user,
    result_id,
    role,
    with_body,
)

HALF = 0.5  # largest share of the messages one round deletes
TRUNCATE = 600  # tokens from which a message is truncated
FIELD = 500  # characters of another field that stays
KEPT = (
    "role",
    "type",
    "id",
    "toolCallId",
    "tool_call_id",
    "toolName",
    "name",
    "isError",
    "status",
    "content",
    "message",
)
TEXT = 200  # characters of a text block that stays


def reduce_to(messages: Sequence[Raw], target: int, system: str | None, prompt: str | None, count: Count) -> Deleted:
    """Delete and truncate until at most ``target`` tokens are left, or nothing more can be done."""
    rest, canvases = take_out(messages)
    run = Deleted(rest, tokens=snapshot(rest, system, prompt, count).total)
    while run.tokens > target and len(run.messages) > 2:
        head = _head(run.messages, (run.tokens - target) / run.tokens)
        if head > 0:
            gone = run.messages[:head]
            run.tokens -= slice_size(gone, count)
            run.ids += ids_of(gone)
            run.messages = run.messages[head:]
            run.count += head
        elif not _delete_group(run, count) and not _truncate(run, count):
            break
    run.messages = put_back(run.messages, canvases)
    run.tokens += sum(count(visible(canvas)) for canvas in canvases)
    return run


def _head(messages: Sequence[Raw], over: float) -> int:
    """How many messages of the head one round deletes."""
    most = len(messages) - 2
    head = min(max(1, math.ceil(len(messages) * min(HALF, over))), most)
    while head < most and is_result(messages[head]):
        head += 1
    user = last_user(messages)
    return head if user < 0 else min(head, user)


def _delete_group(run: Deleted, count: Count) -> bool:
    sizes = [size(message, count) for message in run.messages]
    groups = [group for group in _groups(run.messages) if len(run.messages) - len(group) >= 2]
    if not groups:
        return False
    largest = max(groups, key=lambda group: sum(sizes[index] for index in group))  # the first of equal ones
    gone = [run.messages[index] for index in largest]
    run.tokens -= sum(sizes[index] for index in largest)
    run.ids += dict.fromkeys(call for message in gone for call in _all_ids(message))
    run.messages = [message for index, message in enumerate(run.messages) if index not in set(largest)]
    run.count += len(largest)
    return True


def _groups(messages: Sequence[Raw]) -> list[list[int]]:
    """A call with its results; a result without its call; a plain assistant. Index 0 and the last request stay."""
    user = last_user(messages)
    taken: set[int] = set()
    groups: list[list[int]] = []
    for index in range(1, len(messages)):
        message = messages[index]
        if index == user or index in taken:
            continue
        ids = set(call_ids(message)) if role(message) == "assistant" else set()
        if ids:
            results = [i for i in range(1, len(messages)) if is_result(messages[i]) and result_id(messages[i]) in ids]
            group = sorted({index, *results})
        elif index < len(messages) - 1 and (is_result(message) or role(message) == "assistant"):
            group = [index]
        else:
            continue
        taken.update(group)
        groups.append(group)
    return groups


def _all_ids(message: Raw) -> list[str]:
    if is_result(message):
        return [call] if (call := result_id(message)) else []
    return call_ids(message)


def _truncate(run: Deleted, count: Count) -> bool:
    user = last_user(run.messages)
    sizes = {i: size(message, count) for i, message in enumerate(run.messages) if i != user}
    index = max(sizes, key=lambda i: sizes[i], default=None)
    if index is None or sizes[index] < TRUNCATE:
        return False
    message = run.messages[index]
    shorter = _stub_calls(message, sizes[index]) if call_ids(message) else _stub(message, sizes[index])
    saved = sizes[index] - size(shorter, count)
    if saved <= 0:
        return False
    run.messages = [*run.messages[:index], shorter, *run.messages[index + 1 :]]
    run.tokens -= saved
    run.ids += ids_of([message])
    return True


def _stub(message: Raw, tokens: int) -> Raw:
    inner = body(message)
    text = (
        f"[Tool output truncated for context management. Original ~{tokens} tokens, "
        f"role={role(message)}, id={result_id(message) or 'unknown'}]"
    )
    fresh: Any = [{"type": "text", "text": text}] if isinstance(inner.get("content"), list) else text
    short = {**_small_fields(inner), "content": fresh}
    return short if inner is message else with_body(_small_fields(message), short) | {"message": short}


def _small_fields(message: Raw) -> Raw:
    return {
        key: value
        for key, value in message.items()
        if key in KEPT or units(value if isinstance(value, str) else stringify(value)) <= FIELD
    }


def _stub_calls(message: Raw, tokens: int) -> Raw:
    notice = (
        f"[Assistant message truncated for context management. Original ~{tokens} tokens. "
        "Tool call arguments below replaced with stubs.]"
    )
    inner = body(message)
    blocks = [{"type": "text", "text": notice}, *(_stub_block(block, tokens) for block in inner["content"])]
    return with_body(message, {**inner, "content": blocks})


def _stub_block(block: Any, tokens: int) -> Any:
    if is_call(block):
        name = "arguments" if "arguments" in block and "input" not in block else "input"
        return {**block, name: {"_truncated": True, "_original_tokens": tokens}}
    text = block.get("text") if isinstance(block, dict) else None
    if isinstance(text, str) and units(text) > TEXT:
        return {**block, "text": f"{cut(text, TEXT)}…[truncated]"}
    return block
