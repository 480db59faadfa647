"""Our short-term policy as a host meets it: nothing lost, nothing invented, the same prompts after a restart."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agentmem.errors import CanvasError, SessionLocked
from agentmem.messages import Message, ToolCall
from agentmem.offload.canvas import LIMIT, Canvas, Node
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.canvas_rules import close
from agentmem.offload.drilldown import openai_tools
from agentmem.offload.entries import read_entries
from agentmem.offload.shortterm import ShortTerm
from agentmem.settings.shortterm import ShortTermSettings
from agentmem.tokens import TokenCounter
from tests.histories import output, request, runs, says, system

COUNTER = TokenCounter()
EAGER = ShortTermSettings(keep_results=1, keep_calls=1, batch=0, result=20, extract=30, task=800, canvas=300)


def opened(folder: Path, settings: ShortTermSettings = EAGER, warnings: list[str] | None = None) -> ShortTerm:
    """A memory with a frozen clock."""
    warn = (warnings if warnings is not None else []).append
    return ShortTerm(settings, folder, COUNTER, 50_000, clock=lambda: 1_700_000_000.0, durable=False, warn=warn)


def task(number: int) -> list[Message]:
    """A task of twelve steps with long outputs, every second one by a tool call."""
    made = [request(f"fix the parser of module {number}")]
    for step in range(12):
        text = f"src/parser_{number}.py:{step}: def handler_{number}_{step}(value):\n" + f"row_{step} " * 150
        if step % 2:
            made += [runs(f"cat src/parser_{number}.py | head -{step}"), output(text)]
        else:
            call = ToolCall(f"c{number}-{step}", "grep", '{"pattern": "handler", "path": "src"}')
            made += [
                Message("assistant", "", (call,)),
                Message("tool", text, tool_call_id=call.id, kind="observation"),
            ]
    return made


def play(memory: ShortTerm, tasks: int = 2) -> list[list[Message]]:
    """Every prompt of some tasks."""
    prompts = []
    memory.observe(system())
    for number in range(tasks):
        memory.begin_task(f"task-{number}")
        for message in task(number):
            if message.role == "assistant":
                prompts.append(memory.assemble())
            memory.observe(message)
    return prompts


def test_every_tool_call_has_an_entry_a_node_and_its_evidence(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    play(memory)
    memory.close()
    entries = read_entries(tmp_path)
    results = [message.content for number in range(2) for message in task(number) if message.is_result]
    assert [memory.store.get(entry.result_ref or "") for entry in entries] == results
    canvases = [CanvasFiles(tmp_path).read(name) for name in CanvasFiles(tmp_path).names()]
    assert [canvas.label for canvas in canvases] == ["task-0", "task-1"]
    nodes = {node.id for canvas in canvases for node in canvas.nodes}
    assert all(entry.node_id in nodes for entry in entries)
    assert all(len(canvas.text()) <= 4_000 for canvas in canvases)


def test_the_agent_can_read_a_node_a_call_and_a_ref(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    prompt = play(memory)[-1]
    folded = next(message for message in prompt if message.content.startswith("Earlier steps"))
    node = folded.content.split("\n")[-1].split(" ")[0]
    ref = folded.refs[-1]
    for name in (node, "c1-0", ref):
        answer = memory.call(ToolCall("x", memory_tool(memory), f'{{"id": "{name}", "pattern": "handler"}}'))
        assert "handler_1_" in answer, name
    memory.close()


def memory_tool(memory: ShortTerm) -> str:
    """The name of the drill-down tool."""
    name: str = openai_tools()[0]["function"]["name"]
    return name


def test_a_restart_gives_the_same_prompts_and_records_nothing_twice(tmp_path: Path) -> None:
    first = opened(tmp_path / "one")
    before = play(first)
    first.close()
    recorded = read_entries(tmp_path / "one")
    again = opened(tmp_path / "one")
    assert play(again) == before
    again.close()
    assert read_entries(tmp_path / "one") == recorded
    assert len(CanvasFiles(tmp_path / "one").names()) == 2


def test_a_process_that_died_in_the_middle_is_continued(tmp_path: Path) -> None:
    whole = opened(tmp_path / "whole")
    prompts = play(whole)
    whole.close()
    died = opened(tmp_path / "died")
    died.observe(system())
    died.begin_task("task-0")
    for message in task(0)[:9]:
        died.assemble()
        died.observe(message)
    died._lock.release()  # what the system does when a process dies; nothing is flushed or closed
    again = opened(tmp_path / "died")
    assert play(again) == prompts
    again.close()
    assert [e.result_ref for e in read_entries(tmp_path / "died")] == [
        e.result_ref for e in read_entries(tmp_path / "whole")
    ]


def test_a_disk_that_refuses_leaves_results_in_the_prompt_with_one_warning(tmp_path: Path) -> None:
    (tmp_path / "refs").write_text("a file where the folder of evidence should be")
    warnings: list[str] = []
    memory = opened(tmp_path, warnings=warnings)
    prompt = play(memory, tasks=1)[-1]
    memory.close()
    shown = [message.content for message in prompt if message.is_result]
    assert shown == [message.content for message in task(0) if message.is_result][: len(shown)]
    assert len(shown) == 11
    assert len(warnings) == 1 and "results stay in the prompt" in warnings[0]


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    with pytest.raises(SessionLocked, match="is in use by process"):
        opened(tmp_path)
    memory.close()
    opened(tmp_path).close()


def test_an_unchanged_task_keeps_its_prefix(tmp_path: Path) -> None:
    """Between two folds or batches each prompt begins with the one before, so that a provider's cache survives."""
    memory = opened(tmp_path, ShortTermSettings())
    prompts = play(memory, tasks=1)
    memory.close()
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(prompts))


def test_a_task_without_results_leaves_no_canvas(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.begin_task("talk")
    for message in (request("hello"), says("hi")):
        memory.observe(message)
    memory.close()
    assert CanvasFiles(tmp_path).names() == []


def test_a_judged_request_about_something_else_opens_a_task_and_a_short_one_does_not(tmp_path: Path) -> None:
    memory = opened(tmp_path, ShortTermSettings(boundaries="judged"))
    memory.observe(request("fix the date parser of the sensors module, it reads the month as the day"))
    for message in (runs("cat sensors/dates.py"), output("def read_date(text): ..."), says("done")):
        memory.observe(message)
    memory.observe(request("and run the tests"))
    assert not any(message.kind == "canvas" for message in memory.assemble())
    memory.observe(request("write release notes for version twelve of the billing service, in French please"))
    assert any(message.kind == "canvas" for message in memory.assemble())
    memory.close()


def test_a_canvas_at_its_limit_can_be_closed() -> None:
    node = Node("001-N1", "run: tests", "doing", "failed: " + "x" * 100, "2026-01-01T00:00:00Z")
    for padding in range(LIMIT - 400, LIMIT):
        canvas = Canvas(1, "task", "g" * padding, (node,), "2026-01-01T00:00:00Z")
        try:
            canvas.text()
        except CanvasError:  # too long before it is closed: another matter
            break
        assert len(close(canvas, finished=True).text()) <= LIMIT
