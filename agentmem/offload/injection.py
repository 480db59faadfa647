"""Canvases in the prompt: those of what was left out, in front; the present one behind the last request.

Within a budget in tokens; the same bytes as long as nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentmem.messages import Message
from agentmem.offload.canvas import Canvas
from agentmem.tokens import PER_MESSAGE, Counter

ACTIVE = "current_task_context"
HISTORY = "history_task_context"
NOTE = "Nodes of it lead to the stored results: ask for a node id, a tool call id or a ref."
REMOVED = "Earlier messages were left out to save space."


@dataclass(frozen=True, slots=True)
class Shown:
    """A canvas to be shown, with the nodes of what was left out (all of them when empty), and the pointer to its
    record: which call and which stored result belongs to which node."""

    canvas: Canvas
    nodes: tuple[str, ...]
    ref: str


def active_block(shown: Shown, budget: int, counter: Counter) -> Message | None:
    """The present canvas as a message of at most ``budget`` tokens: whole, else short, else its name and pointer; None
    where not even that fits."""
    for body in (_whole(shown), _short(shown), _line(shown)):
        message = _message(f"<{ACTIVE}>\n{NOTE}\n{body}\n</{ACTIVE}>", [shown.ref])
        if counter.message(message) <= budget:
            return message
    return None


def history_block(
    canvases: Sequence[Shown], budget: int, counter: Counter, store: Callable[[str], str]
) -> Message | None:
    """The canvases of what was left out, newest whole, older ones short or as a line, within ``budget`` tokens.

    What does not fit even as lines shares one line with a pointer to them all, stored by ``store``. None without any.
    """
    if not canvases:
        return None
    frame = counter.text(f"<{HISTORY}>\n{REMOVED} {NOTE}\n\n</{HISTORY}>") + PER_MESSAGE
    reserve = counter.text(_rest(len(canvases), "refs/" + "0" * 20 + ".txt")) + 1
    left = budget - frame
    parts: list[str] = []
    refs: list[str] = []
    for index in range(len(canvases) - 1, -1, -1):
        room = left - (reserve if index else 0)
        body = next((b for b in _forms(canvases[index]) if counter.text(b) + 1 <= room), None)
        if body is None:
            ref = store("\n".join(_line(shown) for shown in canvases[: index + 1]))
            parts.append(_rest(index + 1, ref))
            refs.append(ref)
            break
        parts.append(body)
        refs.append(canvases[index].ref)
        left -= counter.text(body) + 1
    inner = "\n".join([f"{REMOVED} {NOTE}", *reversed(parts)])
    return _message(f"<{HISTORY}>\n{inner}\n</{HISTORY}>", refs[::-1])


def inject(messages: Sequence[Message], history: Message | None, active: Message | None) -> list[Message]:
    """The list with both blocks at their places: the history behind the system prompt, the present canvas behind the
    last request; never between a call and its results."""
    prompt = list(messages)
    if active is not None:
        request = next((i for i in range(len(prompt) - 1, -1, -1) if prompt[i].is_request), -1)
        prompt.insert(_outside_pairs(prompt, request + 1), active)
    if history is not None:
        prompt.insert(1 if prompt and prompt[0].role == "system" else 0, history)
    return prompt


def record(canvas: Canvas, rows: Sequence[tuple[str, str, str]]) -> str:
    """A canvas with what stands behind it, as evidence: a line for each (node, tool call key, ref)."""
    return canvas.text() + "\n".join(f"{node}\t{key}\t{ref}" for node, key, ref in rows) + "\n"


def _outside_pairs(messages: Sequence[Message], index: int) -> int:
    """The nearest place at or behind ``index`` at which no call waits for its result."""
    waiting: set[str] = set()
    for message in messages[:index]:
        waiting.discard(message.tool_call_id or "")
        waiting.update(call.id for call in message.tool_calls)
    while index < len(messages) and (waiting or messages[index].is_result):
        waiting.discard(messages[index].tool_call_id or "")
        waiting.update(call.id for call in messages[index].tool_calls)
        index += 1
    return index


def _forms(shown: Shown) -> list[str]:
    return [_whole(shown), _short(shown), _line(shown)]


def _whole(shown: Shown) -> str:
    return f"{_line(shown)}\n```mermaid\n{shown.canvas.text()}```"


def _short(shown: Shown) -> str:
    nodes = [node for node in shown.canvas.nodes if not shown.nodes or node.id in shown.nodes]
    return "\n".join([_line(shown), *(f"  {node.id} {node.status} {node.title}" for node in nodes)])


def _line(shown: Shown) -> str:
    canvas = shown.canvas
    ids = [node.id for node in canvas.nodes]
    span = f"{ids[0]} to {ids[-1]}" if ids else "no nodes"
    return f"{canvas.file} ({span}): {canvas.goal or canvas.label} -> {shown.ref}"


def _rest(count: int, ref: str) -> str:
    return f"{count} older canvases -> {ref}"


def _message(content: str, refs: Sequence[str]) -> Message:
    return Message("user", content, kind="canvas", refs=tuple(dict.fromkeys(filter(None, refs))))
