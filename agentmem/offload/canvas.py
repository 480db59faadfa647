"""A task's canvas: a Mermaid flowchart of what was done, at most 4,000 characters, the same bytes for the same nodes.

%%{ "taskGoal": "...", "progress (0-100)": "50", "createdTime": "...", "updatedTime": "..." }%%
flowchart TD
    012-N1["read: settings<br/>status: done<br/>summary: ...<br/>Timestamp: ..."]
    012-N1 --> 012-N2
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, get_args

from agentmem.errors import CanvasError

LIMIT = 4_000  # characters of a canvas
SUMMARY = 150  # characters of a node's summary
Status = Literal["done", "doing", "paused", "blocked"]
STATUSES: tuple[str, ...] = get_args(Status)
NODE_ID = re.compile(r"(\d{3})-N([1-9]\d*)")
_NODE = re.compile(r'^\s*(?P<id>\d{3}-N[1-9]\d*)\["(?P<label>[^"]*)"\]\s*$')
_EDGE = re.compile(r"^\s*(?P<a>\d{3}-N[1-9]\d*) --> ?(?:\|(?P<label>[^|]*)\| ?)?(?P<b>\d{3}-N[1-9]\d*)\s*$")
_HEADER = re.compile(r"%%\{(.*)\}%%\s*")
_ESCAPES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "|": "#124;", "%": "#37;"}
_CONTROLS = [chr(code) for code in [*range(32), 127] if not chr(code).isspace()]
_TABLE = str.maketrans({**_ESCAPES, **dict.fromkeys(_CONTROLS)})
_ENTITY = re.compile(r"#(35|quot|lt|gt|96|124|37);")
_PLAIN = {entity[1:-1]: char for char, entity in _ESCAPES.items()}


@dataclass(frozen=True, slots=True)
class Node:
    """One stage of a task. ``time`` is the newest time of what it stands for, as text."""

    id: str
    title: str
    status: Status
    summary: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Canvas:
    """A task's map. ``number`` is that of its file; nodes stand in order; an edge runs from each to the next."""

    number: int
    label: str
    goal: str = ""
    nodes: tuple[Node, ...] = ()
    created: str = ""

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.number:03d}-{self.label}.mmd"

    def text(self) -> str:
        """The Mermaid text. Raises ``CanvasError`` where it would be longer than ``LIMIT``: see ``fitted``."""
        text = _render(self)
        if len(text) > LIMIT:
            raise CanvasError(f"canvas {self.file} has {len(text)} characters; at most {LIMIT} are allowed")
        return text

    def next_id(self) -> str:
        """The id of a new node."""
        last = max((int(found[2]) for node in self.nodes if (found := NODE_ID.fullmatch(node.id))), default=0)
        return f"{self.number:03d}-N{last + 1}"

    def has(self, node_id: str) -> bool:
        """Whether a node of that id is on it."""
        return any(node.id == node_id for node in self.nodes)


def escape(text: str) -> str:
    """A text as it may stand between quotes in a label: one line, entities for what Mermaid reads."""
    return " ".join(_whole_characters(text).translate(_TABLE).split())


def one_line(goal: str) -> str:
    """A goal as the header holds it: one line, without what would end the header."""
    return " ".join(_whole_characters(goal).replace("}%%", "} %%").split())


def _whole_characters(text: str) -> str:
    """A text that can be written to a file: half surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unescape(text: str) -> str:
    """The text behind ``escape``."""
    return _ENTITY.sub(lambda found: _PLAIN[found[1]], text)


def fits(canvas: Canvas, limit: int = LIMIT) -> bool:
    """True when the canvas stands within ``limit`` characters."""
    return len(_render(canvas)) <= limit


def fitted(canvas: Canvas, limit: int = LIMIT) -> tuple[Canvas, dict[str, str]]:
    """The canvas within ``limit`` characters, and where the nodes that had to go went: old id -> id it is part of.

    The oldest neighbours that are done become one node; then blocked and paused ones; then summaries go.
    Deterministic. Raises ``CanvasError`` when even a single node does not fit.
    """
    moved: dict[str, str] = {}
    while len(_render(canvas)) > limit:
        pair = _mergeable(canvas.nodes)
        if pair is None:
            return _bare(canvas, limit), moved
        first, second = canvas.nodes[pair], canvas.nodes[pair + 1]
        merged = _merge(first, second)
        nodes = (*canvas.nodes[:pair], merged, *canvas.nodes[pair + 2 :])
        canvas = replace(canvas, nodes=nodes)
        moved = {old: first.id if new == second.id else new for old, new in moved.items()}
        moved[second.id] = first.id
    return canvas, moved


def parse(text: str, number: int, label: str) -> Canvas:
    """Read a canvas file back. Raises ``CanvasError`` with the line for what is no canvas of ours."""
    lines = text.split("\n")
    header: Mapping[str, str] = {}
    found = _HEADER.fullmatch(lines[0]) if lines else None
    if found:
        header = _header(found[1])
        lines = lines[1:]
    if not lines or not lines[0].startswith("flowchart"):
        raise CanvasError(f"canvas {number:03d}-{label}.mmd: line {2 if found else 1} should be 'flowchart TD'")
    nodes: dict[str, Node] = {}
    for offset, line in enumerate(lines[1:], 3 if found else 2):
        node, edge = _NODE.match(line), _EDGE.match(line)
        if node:
            if not node["id"].startswith(f"{number:03d}-") or node["id"] in nodes:
                raise CanvasError(f"canvas {number:03d}-{label}.mmd: line {offset}: id {node['id']} is not its own")
            nodes[node["id"]] = _node(node["id"], node["label"])
        elif edge:
            missing = [end for end in (edge["a"], edge["b"]) if end not in nodes]
            if missing:
                raise CanvasError(f"canvas {number:03d}-{label}.mmd: line {offset}: there is no node {missing[0]}")
        elif line.strip():
            raise CanvasError(f"canvas {number:03d}-{label}.mmd: line {offset} is no node and no edge: {line[:60]!r}")
    return Canvas(number, label, header.get("taskGoal", ""), tuple(nodes.values()), header.get("createdTime", ""))


def replace_lines(text: str, blocks: Iterable[Mapping[str, object]]) -> str:
    """A canvas text with line blocks put in: ``start_line`` to ``end_line``, counted from 1, both included;
    ``end_line = start_line - 1`` inserts in front of that line, several at one line in the order given.

    Raises ``CanvasError`` for blocks out of range or that overlap.
    """
    lines = text.split("\n")
    placed: list[tuple[int, int, int, str]] = []
    for order, block in enumerate(blocks):
        start, end = _line_number(block, "start_line"), _line_number(block, "end_line")
        if not 1 <= start <= len(lines) + 1 or end < start - 1:
            raise CanvasError(f"block {order + 1}: lines {start} to {end} are not in a text of {len(lines)} lines")
        placed.append((start, order, min(end, len(lines)), str(block.get("content") or "")))
    placed.sort()
    for before, after in pairwise(placed):
        if before[2] >= after[0]:
            raise CanvasError(f"blocks overlap: lines {before[0]} to {before[2]} and from {after[0]} on")
    for start, _, end, content in reversed(placed):
        lines[start - 1 : end] = content.split("\n") if content else []
    return "\n".join(lines)


def progress(nodes: Sequence[Node]) -> int:
    """Percent of the nodes that are not open any more."""
    return round(100 * sum(node.status in ("done", "blocked") for node in nodes) / len(nodes)) if nodes else 0


def _line_number(block: Mapping[str, object], name: str) -> int:
    value = block.get(name)
    if isinstance(value, str) and value.strip().isdigit():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise CanvasError(f"{name} should be a line number, got {value!r}")


def _render(canvas: Canvas) -> str:
    header = {
        "taskGoal": one_line(canvas.goal) or canvas.label,
        "progress (0-100)": str(progress(canvas.nodes)),
        "createdTime": canvas.created,
        "updatedTime": max((node.time for node in canvas.nodes), default=canvas.created),
    }
    lines = ["%%" + json.dumps(header, ensure_ascii=False) + "%%", "flowchart TD"]
    lines += map(_node_line, canvas.nodes)
    lines += [f"    {a.id} --> {b.id}" for a, b in pairwise(canvas.nodes)]
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=1_024)  # a canvas is rendered at every change of one node
def _node_line(node: Node) -> str:
    parts = [escape(node.title), f"status: {node.status}"]
    fields = (("summary", escape(node.summary)), ("Timestamp", escape(node.time)))
    parts += [f"{name}: {text}" for name, text in fields if text]
    return f'    {node.id}["{"<br/>".join(parts)}"]'


def _header(body: str) -> Mapping[str, str]:
    try:
        value = json.loads("{" + body + "}")
    except ValueError:
        return {}  # a goal that cannot be read is no reason to lose the nodes
    return {key: inner for key, inner in value.items() if isinstance(inner, str)}


def _node(node_id: str, label: str) -> Node:
    title, *rest = label.split("<br/>")
    fields = dict(part.split(": ", 1) for part in rest if ": " in part)
    status = fields.get("status", "")
    if status not in STATUSES:
        raise CanvasError(f"node {node_id}: status should be one of {', '.join(STATUSES)}, got {status!r}")
    return Node(
        node_id,
        unescape(title),
        status,  # type: ignore[arg-type]  # checked just above
        unescape(fields.get("summary", "")),
        unescape(fields.get("Timestamp", "")),
    )


def _mergeable(nodes: Sequence[Node]) -> int | None:
    """Index of the first of two neighbours to merge: the oldest two done, else the oldest two; never the last node."""
    inner = range(len(nodes) - 2)
    done = (i for i in inner if nodes[i].status == nodes[i + 1].status == "done")
    return next(done, next(iter(inner), None))


def _merge(first: Node, second: Node) -> Node:
    """One node for two. What was blocked stays told."""
    status: Status = "blocked" if "blocked" in (first.status, second.status) else first.status
    title = first.title if first.title.endswith(" ...") else f"{first.title} ..."
    kept = " / ".join(filter(None, (first.summary, second.summary)))
    return Node(first.id, title, status, _short(kept), max(first.time, second.time))


def _bare(canvas: Canvas, limit: int) -> Canvas:
    for width in (60, 20, 0):
        nodes = tuple(
            replace(node, title=_short(node.title, 60), summary=_short(node.summary, width)) for node in canvas.nodes
        )
        canvas = replace(canvas, goal=_short(canvas.goal, max(width, 20)), nodes=nodes)
        if len(_render(canvas)) <= limit:
            return canvas
    raise CanvasError(f"canvas {canvas.file} does not fit {limit} characters even without its summaries")


def _short(text: str, width: int = SUMMARY) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(0, width - 1)] + "…" * (width > 0)
