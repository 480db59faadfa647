"""Writes messages back. What is unchanged goes out as the object it came in; what changed keeps its other fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from agentmem.errors import MessageError
from agentmem.messages import Message, ToolCall, openai_calls
from agentmem.wire.forms import CALL_BLOCKS, Form, form_of, inner
from agentmem.wire.reading import read_one, text_of

Raw = Mapping[str, Any]


def write(messages: Sequence[Message], form: Form | None = None) -> list[Raw]:
    """Host messages. ``form`` is that of new messages; by default that of the ones that came from a host.

    Consecutive Anthropic results are put into one user message, as the provider wants them.
    """
    if form is None:
        form = form_of([message.raw for message in messages if message.raw is not None])
    written: list[Raw] = []
    for _, run in groupby(messages, key=_origin):
        group = list(run)
        raw = group[0].raw
        if raw is None:
            for message in group:
                _add(written, _new(message, form), form)
            continue
        came = read_one(raw)
        parts = len(came) if len(group) % len(came) == 0 else len(group)  # a host may give one object twice
        for start in range(0, len(group), parts):
            part = group[start : start + parts]
            written.append(raw if _unchanged(part, came) else _changed(part, came, raw))
    return written


def _origin(message: Message) -> int:
    return 0 if message.raw is None else id(message.raw)


def _unchanged(group: Sequence[Message], came: Sequence[Message]) -> bool:
    return len(came) == len(group) and all(old == _as_read(new, old) for old, new in zip(came, group, strict=True))


def _as_read(message: Message, old: Message) -> Message:
    # kind and refs are book-keeping that the host never sent
    if (message.kind, message.refs) == (old.kind, old.refs):
        return message
    return Message(
        message.role, message.content, message.tool_calls, message.tool_call_id, message.name, old.kind,
        message.is_error, old.refs,
    )  # fmt: skip


def _changed(group: Sequence[Message], came: Sequence[Message], raw: Raw) -> Raw:
    body = dict(inner(raw))
    message, old = group[0], came[0]
    if len(came) > 1 or (old.role == "tool" and body.get("role") == "user"):
        body["content"] = _result_blocks(group, body["content"])
        return _wrapped(body, raw)
    if message.content != old.content:
        body["content"] = _content(body.get("content"), message.content)
    if message.tool_calls != old.tool_calls:
        _put_calls(body, message.tool_calls)
    return _wrapped(body, raw)


def _wrapped(body: dict[str, Any], raw: Raw) -> Raw:
    return body if inner(raw) is raw else {**raw, "message": body}


def _content(old: Any, text: str) -> Any:
    """A text in the place of an old content: a string stays a string, blocks that are no text stay."""
    if not isinstance(old, list):
        return text
    others = [block for block in old if not _is_text(block)]
    at = next((index for index, block in enumerate(old) if _is_text(block)), 0)
    at = len([block for block in old[:at] if not _is_text(block)])
    return [*others[:at], *([{"type": "text", "text": text}] if text else []), *others[at:]]


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or (isinstance(block, Mapping) and block.get("type", "text") == "text")


def _result_blocks(group: Sequence[Message], old: Sequence[Any]) -> list[Any]:
    by_id = {
        block.get("tool_use_id"): block
        for block in old
        if isinstance(block, Mapping) and block.get("type") == "tool_result"
    }
    others = [block for block in old if not (isinstance(block, Mapping) and block.get("type") == "tool_result")]
    blocks: list[Any] = []
    rest: list[Any] = []
    for message in group:
        if message.role == "tool":
            block = by_id.get(message.tool_call_id)
            blocks.append(_result_block(message) if block is None else _with_text(block, message.content))
        else:
            rest += _content(others, message.content) if text_of(others) != message.content else others
    return [*blocks, *rest]


def _with_text(block: Raw, text: str) -> Raw:
    old = block.get("content")
    if text_of(old) == text:
        return block
    content = [{"type": "text", "text": text}] if isinstance(old, list) else text
    return {**block, "content": content}


def _put_calls(body: dict[str, Any], calls: Sequence[ToolCall]) -> None:
    """Keep the calls that are left; their arguments may have changed."""
    left = {call.id: call for call in calls}
    if "tool_calls" in body:
        kept = [_openai_call(old, left[old["id"]]) for old in body["tool_calls"] if old.get("id") in left]
        if kept:
            body["tool_calls"] = kept
        else:
            del body["tool_calls"]
    content = body.get("content")
    if isinstance(content, list):
        body["content"] = [
            _call_block(block, left[block["id"]]) if _is_call(block) else block
            for block in content
            if not _is_call(block) or block.get("id") in left
        ]


def _is_call(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") in CALL_BLOCKS


def _openai_call(old: Raw, call: ToolCall) -> Raw:
    function = old["function"]
    if function.get("arguments") == call.arguments and function.get("name") == call.name:
        return old
    return {**old, "function": {**function, "name": call.name, "arguments": call.arguments}}


def _call_block(block: Raw, call: ToolCall) -> Raw:
    name = "input" if "input" in block or block.get("type") == "tool_use" else "arguments"
    given = block.get(name)
    values = call.arguments if isinstance(given, str) else _values(call)
    return block if given == values else {**block, name: values}


def _values(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:  # a model's broken JSON must still reach the provider as an object
        return {"arguments": call.arguments}


def _result_block(message: Message) -> Raw:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}
    return {**block, "is_error": True} if message.is_error else block


def _add(written: list[Raw], raw: Raw, form: Form) -> None:
    last = written[-1] if written else None
    if form is Form.ANTHROPIC and last is not None and _only_results(raw) and _only_results(last):
        written[-1] = {**last, "content": [*last["content"], *raw["content"]]}
    else:
        written.append(raw)


def _only_results(raw: Raw) -> bool:
    content = raw.get("content")
    return isinstance(content, list) and all(
        isinstance(block, Mapping) and block.get("type") == "tool_result" for block in content
    )


def _new(message: Message, form: Form) -> Raw:
    if form is Form.OPENAI:
        return _new_openai(message)
    if form is Form.ANTHROPIC:
        return _new_anthropic(message)
    body = _new_flat(message)
    return body if form is Form.FLAT else {"type": "message", "message": body}


def _new_openai(message: Message) -> Raw:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = openai_calls(message.tool_calls)
    if message.role == "tool":
        body["tool_call_id"] = message.tool_call_id
    return body


def _new_anthropic(message: Message) -> Raw:
    if message.role == "system":
        raise MessageError("Anthropic has no system message in the list: send it as the field `system`")
    if message.role == "tool":
        return {"role": "user", "content": [_result_block(message)]}
    if not message.tool_calls:
        return {"role": message.role, "content": message.content}
    text = [{"type": "text", "text": message.content}] if message.content else []
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _values(call)} for call in message.tool_calls
    ]
    return {"role": "assistant", "content": [*text, *calls]}


def _new_flat(message: Message) -> dict[str, Any]:
    text = [{"type": "text", "text": message.content}] if message.content or not message.tool_calls else []
    if message.role == "tool":
        body: dict[str, Any] = {"role": "toolResult", "toolCallId": message.tool_call_id}
        if message.name:
            body["toolName"] = message.name
        return {**body, "content": text, "isError": message.is_error}
    if message.role != "assistant":
        return {"role": message.role, "content": message.content}
    calls = [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": _values(call)}
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": [*text, *calls]}
