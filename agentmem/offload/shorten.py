"""Shorter forms of single messages: a result as its extract, a long command as its head, both with a pointer."""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import replace

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message, ToolCall, sent_text
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.tokens import Counter

FENCE = re.compile(r"(```[^\n`]*\n)(.*?)(\n?```)", re.DOTALL)
HEAD, TAIL = 0.7, 0.3  # of what stays of a command


def shorten_result(
    message: Message, ref: str, extractive: Extractive, most: int, counter: Counter, known: Set[str] = frozenset()
) -> tuple[Message, float] | None:
    """The result as an extract under its pointer with the score of that extract, or None where it is not shorter.

    Results of at most ``most`` tokens are left alone. The extract need not repeat identifiers that are ``known``.
    """
    size = counter.message(message)
    if size <= most:
        return None
    extract = extractive.extract(message.content, known)
    text = f"[offloaded: {ref}, {size} tokens]\n{extract.text}"
    short = replace(message, content=text, refs=(ref,), raw=None)
    return (short, extract.score) if counter.message(short) < size else None


def shorten_call(message: Message, store: EvidenceStore, most: int, counter: Counter) -> Message | None:
    """The model's message with its long commands cut to about ``most`` tokens, or None where none is long."""
    size = counter.message(message)
    if size <= most:
        return None
    limit = most * 4
    if message.tool_calls:
        cut = _cut_arguments(message, store, limit)
    else:
        cut = _cut_fences(message, store, limit)
    return cut if cut is not None and counter.message(cut) < size else None


def _cut_fences(message: Message, store: EvidenceStore, limit: int) -> Message | None:
    bodies = [found for found in FENCE.finditer(message.content) if len(found[2]) > limit]
    if not bodies:
        return None
    try:
        ref = store.put(message.content)
    except EvidenceWriteFailed:
        return None
    content = message.content
    for found in reversed(bodies):
        content = content[: found.start(2)] + _middle_out(found[2], limit, ref) + content[found.end(2) :]
    return replace(message, content=content, refs=(ref,), raw=None)


def _cut_arguments(message: Message, store: EvidenceStore, limit: int) -> Message | None:
    if all(len(call.arguments) <= limit for call in message.tool_calls):
        return None
    try:
        ref = store.put(sent_text(message))
    except EvidenceWriteFailed:
        return None
    calls = tuple(_cut_call(call, limit, ref) for call in message.tool_calls)
    return replace(message, tool_calls=calls, raw=None)


def _cut_call(call: ToolCall, limit: int, ref: str) -> ToolCall:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return call
    if not isinstance(arguments, dict):
        return call
    short = {
        key: _middle_out(value, limit, ref) if isinstance(value, str) and len(value) > limit else value
        for key, value in arguments.items()
    }
    return replace(call, arguments=json.dumps(short, ensure_ascii=False))


def _middle_out(text: str, limit: int, ref: str) -> str:
    """Head and tail of a text at line ends, with a note in between that says where the rest is."""
    head = text[: int(limit * HEAD)]
    tail = text[len(text) - int(limit * TAIL) :]
    head = head[: head.rfind("\n")] if "\n" in head else head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail
    left = len(text) - len(head) - len(tail)
    return f"{head}\n[... {left} characters left out: {ref}]\n{tail}"
