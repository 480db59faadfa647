"""A canvas builder that asks a model. Whatever shape it draws, the canvas is written in ours; whatever it maps, every
call ends at a node there is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentmem.errors import BadAnswer, CanvasError
from agentmem.llm.jsonrepair import find_json
from agentmem.llm.protocol import Ask, LanguageModel
from agentmem.messages import Message
from agentmem.offload.canvas import LIMIT, STATUSES, Canvas, Node, replace_lines, unescape
from agentmem.offload.canvas_build import Deed, Update, checked
from agentmem.offload.prompts import CANVAS

BATCH = 30  # calls one answer has to place
NOTICE = 2_000  # characters from which the model is told that the canvas is getting large
_FENCE = re.compile(r"```(?:mermaid)?\s*\n?(.*?)```", re.DOTALL)
_NODE = re.compile(r"(?P<id>(?:\d{3}-)?N\d+)\s*(?:\[+|\(+|\{+|>)+/?\"?(?P<label>.*?)\"?/?(?:\]+|\)+|\}+)+\s*$")
_BREAK = re.compile(r"<br\s*/?>|\\n", re.IGNORECASE)
_EDGE = re.compile(r"^\s*\S+\s*(?:-->|---|-\.->|==>)")


class LlmBuilder:
    """Asks a model for each batch of deeds."""

    name = "llm"

    def __init__(self, model: LanguageModel, temperature: float = 0.2, timeout: float = 120.0) -> None:
        self._model = model
        self._temperature = temperature
        self._timeout = timeout

    def update(self, canvas: Canvas, deeds: Sequence[Deed]) -> Update:
        """See ``CanvasBuilder``; at most ``BATCH`` deeds at once."""
        if len(deeds) > BATCH:
            raise CanvasError(f"at most {BATCH} tool calls at once, got {len(deeds)}")
        text = canvas.text() if canvas.nodes else ""
        messages = (Message("system", CANVAS), Message("user", _told(canvas, text, deeds)))
        answer = self._model.ask(Ask(messages, "offload-l2", self._timeout, temperature=self._temperature)).text
        value, drawn = _read(answer, text)
        nodes = _nodes(drawn, canvas)
        if not nodes:
            raise BadAnswer(f"no node of canvas {canvas.file} in the answer, which begins {answer[:60]!r}")
        given = value.get("node_mapping")
        mapping = given if isinstance(given, Mapping) else {}
        placed = {str(key): _own_id(str(node), canvas.number) for key, node in mapping.items()}
        lost = {node.id for node in canvas.nodes} - {node.id for node in nodes}
        update = checked(replace(canvas, nodes=nodes), placed, deeds)
        return replace(update, moved={**dict.fromkeys(sorted(lost), update.canvas.nodes[0].id), **update.moved})


def _read(answer: str, text: str) -> tuple[Mapping[str, Any], str]:
    """The answer's object and the canvas text it leads to."""
    try:
        value = find_json(answer, want="object").value
    except BadAnswer:
        value = {}
    if not isinstance(value, dict):
        value = {}
    blocks = value.get("replace_blocks")
    if value.get("file_action") == "replace" and isinstance(blocks, list):
        good = [
            {**block, "content": _unfenced(str(block.get("content") or ""))}
            for block in blocks
            if isinstance(block, dict)
        ]
        try:
            return value, replace_lines(text, good)
        except CanvasError as error:
            if not isinstance(value.get("mmd_content"), str):
                raise BadAnswer(f"the line blocks do not fit the canvas: {error}") from error
    content = value.get("mmd_content")
    if isinstance(content, str) and content.strip():
        return value, _unfenced(content)
    found = _FENCE.search(answer)
    return value, found[1] if found and "flowchart" in found[1] else text


def _told(canvas: Canvas, text: str, deeds: Sequence[Deed]) -> str:
    numbered = (
        "\n".join(f"L{number}: {line}" for number, line in enumerate(text.split("\n"), 1)) if text else "(none yet)"
    )
    size = (
        f"\nThe canvas has {len(text)} of {LIMIT} characters: merge nodes that are done." if len(text) > NOTICE else ""
    )
    listed = "\n".join(f"[{deed.key}] {deed.call} -> {deed.summary} ({deed.time})" for deed in deeds)
    return (
        f"Task: {canvas.goal or canvas.label}\n"
        f"Prefix of ids: {canvas.number:03d}-N (next: {canvas.next_id()}){size}\n\n"
        f"Canvas:\n{numbered}\n\nNew tool calls:\n{listed}"
    )


def _unfenced(text: str) -> str:
    found = _FENCE.search(text)
    return found[1] if found else text


def _nodes(text: str, canvas: Canvas) -> tuple[Node, ...]:
    """Every node of a drawn canvas, whatever brackets it has, in order; the first of several with one id."""
    old = {node.id: node for node in canvas.nodes}
    nodes: dict[str, Node] = {}
    for line in text.split("\n"):
        found = None if _EDGE.match(line) else _NODE.search(line.rstrip(" ;"))
        if not found:
            continue
        node_id = _own_id(found["id"], canvas.number)
        title, *rest = _BREAK.split(found["label"])
        fields = {}
        for part in rest:
            name, colon, inner = part.partition(":")
            if colon:
                fields[name.strip().lower()] = unescape(inner.strip())
        status = fields.get("status", "").lower()
        before = old.get(node_id)
        nodes.setdefault(
            node_id,
            Node(
                node_id,
                unescape(title.strip()),
                status if status in STATUSES else "done",  # type: ignore[arg-type]  # one of the four
                fields.get("summary", ""),
                fields.get("timestamp", before.time if before else ""),
            ),
        )
    return tuple(node for node in nodes.values() if node.id.startswith(f"{canvas.number:03d}-"))


def _own_id(node: str, number: int) -> str:
    """An id with the canvas's prefix; models leave it out."""
    return node if re.match(r"\d{3}-", node) else f"{number:03d}-{node}"
