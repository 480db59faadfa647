"""Aggressive and emergency: whole groups leave the prompt. What never leaves: the system prompt, the last request,
the newest messages."""

from __future__ import annotations

import json
from collections.abc import Callable

from agentmem.offload.decisions import Decision, mark
from agentmem.offload.prompt import Item, Prompt, drop

NEWEST = 2  # messages that stay whatever happens, with their groups
TRUNCATE = 600  # tokens from which a message is cut short in place

Shorten = Callable[[Item], tuple[str, str] | None]


def aggressive(prompt: Prompt, target: float) -> list[Decision]:
    """Drop groups from the head until at most ``target`` tokens are left; none behind the last request.

    A group goes whole, also where a result stands apart from its call.
    """
    return [drop(item) for item in _from_head(prompt, prompt.tokens - target)]


def emergency(prompt: Prompt, target: float, shorten: Shorten) -> list[Decision]:
    """Drop from the head; then groups behind the last request, the largest first; then cut the largest messages
    short in place.

    ``shorten`` stores the whole text of a message and gives the text to show and its pointer, or None where that
    is not possible (a full disk): the message stays then.
    """
    gone = _from_head(prompt, prompt.tokens - target)
    left = prompt.tokens - sum(item.tokens for item in gone)
    stay = prompt.protected(NEWEST)
    leaders = {item.leader for item in gone}
    groups = [
        group
        for leader, group in prompt.groups.items()
        if leader not in stay and leader not in leaders and not group[0].whole.is_request
    ]
    while groups and left > target:
        largest = max(groups, key=lambda group: sum(item.tokens for item in group))  # the oldest of equal ones
        groups.remove(largest)
        gone += largest
        left -= sum(item.tokens for item in largest)
    decisions = [drop(item) for item in gone]
    if left > target:
        decisions += _cut_short(prompt, {item.index for item in gone}, left - target, shorten)
    return decisions


def _from_head(prompt: Prompt, need: float) -> list[Item]:
    stay = prompt.protected(NEWEST)
    gone: list[Item] = []
    for item in prompt.items:
        if need <= 0 or item is prompt.request:
            break
        if item.index == item.leader and item.leader not in stay:
            group = prompt.groups[item.leader]
            gone += group
            need -= sum(member.tokens for member in group)
    return gone


def _cut_short(prompt: Prompt, gone: set[int], need: float, shorten: Shorten) -> list[Decision]:
    open_ones = [
        item
        for item in prompt.items
        if item.index not in gone
        and item is not prompt.request
        and item.whole.role != "system"
        and item.is_whole
        and item.tokens >= TRUNCATE
    ]
    decisions = []
    for item in sorted(open_ones, key=lambda item: -item.tokens):
        if need <= 0:
            break
        short = shorten(item)
        if short is None:
            continue
        text, ref = short
        calls = tuple(json.dumps({"_truncated": True, "result_ref": ref}) for _ in item.whole.tool_calls) or None
        decision = Decision(item.index, mark(item.whole), "show", text, (ref,), calls)
        saved = item.tokens - prompt.cost(item, decision)
        if saved > 0:
            decisions.append(decision)
            need -= saved
    return decisions
