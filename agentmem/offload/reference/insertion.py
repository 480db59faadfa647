"""Where upstream puts canvas messages, and how it takes them out before it deletes (A17)."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.offload.reference.shape import Raw, is_active_canvas, is_canvas, is_result, last_user, role

FURTHEST = 30  # messages from the end


def active_point(messages: Sequence[Raw]) -> int:
    """Index at which the canvas of the current task goes: behind the latest request, or in front of the tool loop."""
    count = len(messages)
    if count <= 2:
        return 0
    user = last_user(messages)
    if user >= count // 2:
        point = user + 1
    else:
        point = count - 1
        for index in range(count - 1, -1, -1):
            if role(messages[index]) not in ("assistant", "toolResult", "tool") and not is_canvas(messages[index]):
                break
            point = index
        point = max(point, count - FURTHEST)
    while 0 < point < count and (is_result(messages[point]) or is_canvas(messages[point])):
        point -= 1
    return point


def history_point(messages: Sequence[Raw]) -> int:
    """Index at which canvases of earlier tasks go: in front of the active one, else as the active one."""
    active = next((i for i, message in enumerate(messages) if is_active_canvas(message)), None)
    return active_point(messages) if active is None else active


def take_out(messages: Sequence[Raw]) -> tuple[list[Raw], list[Raw]]:
    """The messages without canvases, and the canvases."""
    return [m for m in messages if not is_canvas(m)], [m for m in messages if is_canvas(m)]


def put_back(messages: Sequence[Raw], canvases: Sequence[Raw]) -> list[Raw]:
    """The canvases at their points again, one after the other in the order in which they were taken out."""
    fresh = list(messages)
    for canvas in canvases:
        fresh.insert(active_point(fresh) if is_active_canvas(canvas) else history_point(fresh), canvas)
    return fresh
