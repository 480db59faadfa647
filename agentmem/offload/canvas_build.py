"""Builders of canvases: the protocol, what it is given, and what every builder's work is checked against."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentmem.errors import CanvasError
from agentmem.offload.canvas import Canvas, fitted


@dataclass(frozen=True, slots=True)
class Deed:
    """One tool call for a canvas: the key of its entry, the call, its summary, whether it failed, its time as text."""

    key: str
    call: str
    summary: str
    failed: bool
    time: str


@dataclass(frozen=True, slots=True)
class Update:
    """A new canvas and the node of every deed, by key. ``moved`` says where nodes went that had to be merged."""

    canvas: Canvas
    mapping: Mapping[str, str]
    moved: Mapping[str, str]


class CanvasBuilder(Protocol):
    """Puts deeds on a canvas."""

    name: str

    def update(self, canvas: Canvas, deeds: Sequence[Deed]) -> Update:
        """The canvas with the deeds on it. Raises ``ModelError`` or ``CanvasError``; the deeds wait then."""
        ...


def checked(canvas: Canvas, mapping: Mapping[str, str], deeds: Sequence[Deed]) -> Update:
    """An update in which the canvas fits its limit, every deed has a node, and every node named exists.

    A deed without a node goes to the node most of the others have, else to the last one. Raises ``CanvasError`` for a
    canvas without nodes.
    """
    if not canvas.nodes:
        raise CanvasError(f"canvas {canvas.file} has no node for {len(deeds)} tool calls")
    good = {deed.key: mapping[deed.key] for deed in deeds if canvas.has(mapping.get(deed.key, ""))}
    common = Tally(good.values()).most_common(1)
    fallback = common[0][0] if common else canvas.nodes[-1].id
    small, moved = fitted(canvas)
    final = {deed.key: good.get(deed.key, fallback) for deed in deeds}
    return Update(small, {key: moved.get(node, node) for key, node in final.items()}, moved)
