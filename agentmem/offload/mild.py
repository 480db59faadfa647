"""Mild: results of the oldest part give way to their summaries, best scores first, only where that saves tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass

from agentmem.messages import ToolCall
from agentmem.offload.decisions import Decision, mark
from agentmem.offload.prompt import Item, Prompt

SCAN = 0.7
FIRST, LAST = 7, 1
BATCH = 10


@dataclass(frozen=True, slots=True)
class StandIn:
    """What may stand for a result: the text shown, the tokens of the message with it, its pointer and score, the key
    of its entry, and for its call a node and a short description."""

    text: str
    tokens: int
    ref: str
    score: float
    key: str
    node: str | None = None
    call: str = ""


Find = Callable[[Item], StandIn | None]


@dataclass(frozen=True, slots=True)
class MildRules:
    """``scan`` is the part of the list that is looked at, oldest first; ``first`` the score the cascade begins at;
    ``batch`` the number of replacements at which the falling score stops, or None to go on until the target is met.
    ``guard`` leaves alone what would not get shorter."""

    scan: float = SCAN
    first: int = FIRST
    batch: int | None = None
    guard: bool = True


def mild(prompt: Prompt, find: Find, target: float, rules: MildRules) -> list[Decision]:
    """Decisions that bring the prompt to ``target`` tokens, or as near as replacing gets.

    With ``rules.batch`` the target only says whether anything is done, as upstream has it.
    """
    if prompt.tokens <= target:
        return []
    candidates = _candidates(prompt, find, rules)
    decisions: list[Decision] = []
    left: float = prompt.tokens
    for threshold in range(rules.first, LAST - 1, -1):
        band = [pair for pair in candidates if pair[1].score >= threshold]
        candidates = candidates[len(band) :]
        for item, stand_in in band:
            if rules.batch is None and left <= target:
                break
            decisions.append(
                Decision(item.index, mark(item.whole), "show", stand_in.text, (stand_in.ref,), key=stand_in.key)
            )
            left -= item.tokens - stand_in.tokens
        if left <= target if rules.batch is None else len(decisions) >= rules.batch:
            break
    return decisions + _short_calls(prompt, {decision.at for decision in decisions}, find)


def _candidates(prompt: Prompt, find: Find, rules: MildRules) -> list[tuple[Item, StandIn]]:
    scanned = math.floor(len(prompt.items) * rules.scan)
    if not scanned:
        return []
    last = prompt.items[scanned - 1].index
    found = []
    for index, item in prompt.results.items():
        if index > last:
            break
        stand_in = find(item)
        if stand_in is not None and not (rules.guard and stand_in.tokens >= item.tokens):
            found.append((item, stand_in))
    return sorted(found, key=lambda pair: -pair[1].score)  # stable: equal scores by age


def _short_calls(prompt: Prompt, replaced: set[int], find: Find) -> list[Decision]:
    """Arguments of messages that are nothing but calls, once all their results were replaced, where that is shorter."""
    leaders = {item.leader for index in replaced if (item := prompt.results.get(index)) is not None}
    short = []
    for leader in sorted(leaders):
        caller, *answers = prompt.groups[leader]
        calls = caller.whole.tool_calls
        if caller.index != leader or not calls or caller.whole.content or not caller.is_whole:
            continue
        if len(answers) != len(calls) or any(item.is_whole and item.index not in replaced for item in answers):
            continue
        stand_ins = {answer.whole.tool_call_id: find(answer) for answer in answers}
        arguments = tuple(_pointer(call, stand_ins.get(call.id)) for call in calls)
        decision = Decision(caller.index, mark(caller.whole), "show", arguments=arguments)
        if arguments != tuple(call.arguments for call in calls) and prompt.cost(caller, decision) < caller.tokens:
            short.append(decision)
    return short


def _pointer(call: ToolCall, stand_in: StandIn | None) -> str:
    if stand_in is None:
        return call.arguments
    short = {"_offloaded": True, "node_id": stand_in.node or "N/A", "tool_call": stand_in.call}
    text = json.dumps(short, ensure_ascii=False)
    return text if len(text) < len(call.arguments) else call.arguments
