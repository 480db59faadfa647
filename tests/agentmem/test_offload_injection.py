"""Canvases in the prompt: within the budget, never between a call and its result, every pointer in the text."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.messages import Message, ToolCall
from agentmem.offload.canvas import Canvas, Node
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.groups import is_closed
from agentmem.offload.injection import Shown, active_block, history_block, inject, record
from agentmem.tokens import TokenCounter
from tests.agentmem.histories import histories

COUNTER = TokenCounter()


def shown(number: int, nodes: int = 8) -> Shown:
    made = tuple(
        Node(f"{number:03d}-N{n}", f"read: file{n}.py", "done", "found something of note " * 4)
        for n in range(1, nodes + 1)
    )
    return Shown(
        Canvas(number, f"task-{number}", f"goal of task {number}", made),
        (f"{number:03d}-N1",),
        f"refs/{number:020x}.txt",
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 30), st.integers(150, 6_000))
def test_history_fits_its_budget_and_leads_to_every_canvas(count: int, budget: int) -> None:
    stored: list[str] = []

    def store(text: str) -> str:
        stored.append(text)
        return "refs/" + "f" * 20 + ".txt"

    canvases = [shown(number) for number in range(1, count + 1)]
    block = history_block(canvases, budget, COUNTER, store)
    if block is None:
        assert count == 0
        return
    assert COUNTER.message(block) <= budget
    assert all(ref in block.content for ref in block.refs)
    reachable = block.content + "".join(stored)
    assert all(one.canvas.file in reachable and one.ref in reachable for one in canvases)
    assert history_block(canvases, budget, COUNTER, store) == block


def test_the_newest_are_whole_and_the_oldest_a_line() -> None:
    block = history_block(
        [shown(number) for number in range(1, 20)], 2_000, COUNTER, lambda text: "refs/" + "f" * 20 + ".txt"
    )
    assert block is not None and block.kind == "canvas" and not block.is_request
    assert (
        block.content.index("001-") < block.content.index("019-")
        if "001-" in block.content
        else "older canvases" in block.content
    )
    assert "019-N8 --> " not in block.content and "```mermaid" in block.content.split("019-task-19.mmd")[1]


def test_the_active_canvas_shrinks_with_its_budget_and_then_goes() -> None:
    sizes = [
        COUNTER.message(block) for budget in (5_000, 400, 120) if (block := active_block(shown(1), budget, COUNTER))
    ]
    assert len(sizes) == 3 and sizes == sorted(sizes, reverse=True)
    assert active_block(shown(1), 20, COUNTER) is None


@settings(max_examples=100, deadline=None)
@given(histories())
def test_inserted_outside_of_pairs(history: list[Message]) -> None:
    past, present = Message("user", "past", kind="canvas"), Message("user", "present", kind="canvas")
    prompt = inject(history, past, present)
    assert [m for m in prompt if m.kind != "canvas"] == history
    assert is_closed(prompt)
    assert prompt.index(past) == (1 if history[0].role == "system" else 0)
    requests = [i for i, m in enumerate(prompt) if m.is_request]
    assert prompt.index(present) > requests[-1]
    assert inject(history, None, None) == history


def test_a_request_between_a_call_and_its_result_does_not_split_them() -> None:
    history = [
        Message("assistant", "", (ToolCall("a", "run", "{}"), ToolCall("b", "run", "{}"))),
        Message("tool", "1", tool_call_id="a"),
        Message("user", "by the way"),
        Message("tool", "2", tool_call_id="b"),
        Message("assistant", "fine"),
    ]
    present = Message("user", "present", kind="canvas")
    assert inject(history, None, present).index(present) == 4


def test_a_record_names_what_stands_behind_each_node(tmp_path: Path) -> None:
    canvas = shown(1, 2).canvas
    text = record(canvas, [("001-N1", "call-1", "refs/a"), ("001-N2", "call-2", "refs/b")])
    assert text.startswith(canvas.text()) and text.endswith("001-N1\tcall-1\trefs/a\n001-N2\tcall-2\trefs/b\n")
    store = EvidenceStore(tmp_path)
    assert store.get(store.put(text)) == text
