"""The aggressive stage: the head of the list goes in one cut (A14 and its corrections in K)."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.offload.reference.counting import Count, snapshot
from agentmem.offload.reference.head_cut import MOST_IDS, Deleted, ids_of, size, slice_size
from agentmem.offload.reference.insertion import put_back, take_out
from agentmem.offload.reference.shape import Raw, is_result, last_user


def cut_head(messages: Sequence[Raw], threshold: int, system: str | None, prompt: str | None, count: Count) -> Deleted:
    """Delete from the head until the total would be below ``threshold``; one pass.

    Canvases are taken out and put back; results at the new head go as well; the last request stays.
    """
    total = snapshot(messages, system, prompt, count).total
    if total < threshold or len(messages) <= 2:
        return Deleted(list(messages), tokens=total)
    rest, canvases = take_out(messages)
    cut = _cut(rest, total - threshold, count)
    if cut <= 0:
        return Deleted(put_back(rest, canvases), rounds=1, tokens=total, stalled=True)
    gone = rest[:cut]
    return Deleted(put_back(rest[cut:], canvases), cut, 1, total - slice_size(gone, count), ids_of(gone)[:MOST_IDS])


def _cut(rest: Sequence[Raw], need: int, count: Count) -> int:
    cut = tokens = 0
    while cut < len(rest) - 2 and tokens < need:
        tokens += size(rest[cut], count)
        cut += 1
    while cut and cut < len(rest) and is_result(rest[cut]):
        cut += 1
    user = last_user(rest)
    return cut if user < 0 else min(cut, user)
