"""The default canvas builder: no model. Runs of calls for the same purpose become one node; what failed and was left
behind stays as ``blocked``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentmem.offload.canvas import SUMMARY, Canvas, Node, fits
from agentmem.offload.canvas_build import Deed, Update, checked
from agentmem.offload.intents import intent, subject

FAILED = "failed: "
SPARE = 10  # characters by which a summary is cut when a canvas at its limit is closed
SUBJECTS = 3  # things a node's title names


class RulesBuilder:
    """Same deeds, same canvas."""

    name = "rules"

    def update(self, canvas: Canvas, deeds: Sequence[Deed]) -> Update:
        """Put deeds on the canvas, one after the other."""
        mapping: dict[str, str] = {}
        for deed in deeds:
            canvas, node = _put(canvas, deed)
            mapping[deed.key] = node
        return checked(canvas, mapping, deeds)


def close(canvas: Canvas, finished: bool) -> Canvas:
    """The canvas of a task that is over (``finished``) or set aside: its open node is done, blocked or paused."""
    if not canvas.nodes or canvas.nodes[-1].status != "doing":
        return canvas
    last = canvas.nodes[-1]
    status = _closed(last).status if finished else "paused"
    closed = replace(canvas, nodes=(*canvas.nodes[:-1], replace(last, status=status)))
    if fits(closed):
        return closed
    # the word for the new status is a little longer than the old one; no node may move now
    short = replace(last, status=status, summary=last.summary[: max(0, len(last.summary) - SPARE)])
    return replace(canvas, nodes=(*canvas.nodes[:-1], short))


def _put(canvas: Canvas, deed: Deed) -> tuple[Canvas, str]:
    purpose, about = intent(deed.call), subject(deed.call)
    summary = _line((FAILED if deed.failed else "") + deed.summary)
    last = canvas.nodes[-1] if canvas.nodes else None
    if last is not None and last.status in ("doing", "paused") and last.title.split(":")[0] == purpose:
        title = _with_subject(last.title, about)
        node = replace(last, title=title, status="doing", summary=summary or last.summary, time=deed.time)
        return replace(canvas, nodes=(*canvas.nodes[:-1], node)), node.id
    node = Node(canvas.next_id(), f"{purpose}: {about}", "doing", summary, deed.time)
    earlier = (*canvas.nodes[:-1], _closed(last)) if last is not None else ()
    return replace(canvas, nodes=(*earlier, node), created=canvas.created or deed.time), node.id


def _closed(node: Node) -> Node:
    if node.status != "doing":
        return node
    return replace(node, status="blocked" if node.summary.startswith(FAILED) else "done")


def _with_subject(title: str, about: str) -> str:
    purpose, _, named = title.partition(": ")
    subjects = named.split(", ")
    if about in subjects or len(subjects) > SUBJECTS:
        return title
    return f"{purpose}: {named}, {about if len(subjects) < SUBJECTS else '...'}"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY else line[: SUMMARY - 1] + "…"
