"""The published policy as an engine: its thresholds, its order, prompts that pass the lint, and its speed."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from agentmem.errors import EvidenceNotFound
from agentmem.messages import Message, ToolCall
from agentmem.tokens import TokenCounter
from harness import lint
from harness.engines.published import REMOVED, Published
from harness.protocols import EngineContext
from tests.agentmem.histories import histories

COUNTER = TokenCounter()


def engine(folder: Path, window: int = 10_000, **parameters: Any) -> Published:
    ticks = count()
    context = EngineContext("s", window, COUNTER, folder, lambda: float(next(ticks)))
    return Published(Published.Parameters(**parameters), context)


def step(number: int, lines: int = 20) -> list[Message]:
    text = "\n".join(f"module_{number}.py:{n}: def function_{number}_{n}(argument): return {n}" for n in range(lines))
    return [
        Message("assistant", "", (ToolCall(f"c{number}", "grep", '{"pattern": "def"}'),)),
        Message("tool", text, tool_call_id=f"c{number}"),
    ]


def play(arm: Published, history: list[Message], new: list[Message]) -> list[Message]:
    for message in new:
        history.append(message)
        arm.observe(message)
    prompt = list(arm.assemble(history))
    lint.check("published", prompt, history)
    return prompt


def opening(name: str = "task") -> list[Message]:
    return [Message("system", "be brief"), Message("user", name, kind="task")]


def test_nothing_is_done_below_half_of_the_window(tmp_path: Path) -> None:
    arm, history = engine(tmp_path), []  # type: ignore[var-annotated]
    prompt = play(arm, history, opening())
    number = 0
    while COUNTER.total(prompt) + 500 < 5_000:
        prompt = play(arm, history, step(number))
        number += 1
        assert prompt == history


def test_from_half_on_the_oldest_seventy_percent_give_way_to_summaries(tmp_path: Path) -> None:
    arm, history = engine(tmp_path), []  # type: ignore[var-annotated]
    play(arm, history, opening())
    prompt: list[Message] = []
    for number in range(14):
        prompt = play(arm, history, step(number))
    replaced = [i for i, message in enumerate(prompt) if message.refs]
    assert replaced and max(replaced) < 0.7 * len(prompt)
    for index in replaced:
        (ref,) = prompt[index].refs
        assert prompt[index].content.startswith("[Offloaded Tool Result | node: N/A]\nSummary: ")
        assert arm.evidence(ref) == history[index].content
    assert [m.role for m in prompt] == [m.role for m in history]


def test_from_eighty_five_percent_on_the_head_goes_but_never_the_last_request(tmp_path: Path) -> None:
    arm, history = engine(tmp_path, window=3_000), []  # type: ignore[var-annotated]
    play(arm, history, opening("first"))
    peak = 0
    for task in range(6):
        play(arm, history, [Message("assistant", "done"), Message("user", f"task {task}", kind="task")])
        for number in range(8):
            prompt = play(arm, history, step(100 * task + number))
            peak = max(peak, COUNTER.total(prompt))
    assert peak < 3_000
    assert prompt[0] is history[0] and f"task {5}" in [m.content for m in prompt]
    assert "first" not in [m.content for m in prompt]


def test_a_note_stands_in_front_where_a_call_would(tmp_path: Path) -> None:
    arm, history = engine(tmp_path, window=2_000, mild=0.9), []  # type: ignore[var-annotated]
    long = [Message("system", "s"), Message("user", "word " * 1_700), *step(1, 2), *step(2, 2)]
    prompt = play(arm, history, [*long, Message("assistant", "then"), Message("user", "two")])
    assert [m.content for m in prompt[:2]] == ["s", REMOVED] and prompt[2].tool_calls[0].id == "c1"


def test_emergency_brings_one_huge_result_down(tmp_path: Path) -> None:
    arm, history = engine(tmp_path, window=2_000), []  # type: ignore[var-annotated]
    play(arm, history, opening())
    prompt = play(arm, history, step(1, lines=200))
    assert COUNTER.total(prompt) < 1_200 and "truncated for context management" in prompt[-1].content
    assert arm.evidence(prompt[-1].refs[0]) == history[-1].content


@pytest.mark.parametrize("mode", ["guarded", "reference"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories(steps=20))
def test_every_prompt_passes_the_lint(tmp_path: Path, mode: str, history: list[Message]) -> None:
    arm = engine(tmp_path, window=900, mode=mode)
    seen: list[Message] = []
    for index, message in enumerate(history):
        seen.append(message)
        arm.observe(message)
        called = index + 1 == len(history) or history[index + 1].role == "assistant"
        if called and message.role != "assistant":
            lint.check("published", list(arm.assemble(seen)), seen)


def test_guarded_leaves_short_results_and_reference_does_not(tmp_path: Path) -> None:
    totals = {}
    for mode in ("guarded", "reference"):
        arm, history = engine(tmp_path / mode, window=4_000, mode=mode), []  # type: ignore[var-annotated]
        play(arm, history, opening())
        for number in range(40):
            prompt = play(arm, history, step(number, lines=1))
        totals[mode] = COUNTER.total(prompt), sum(bool(m.refs) for m in prompt)
    assert totals["guarded"][1] == 0 < totals["reference"][1]
    assert totals["guarded"][0] < totals["reference"][0]


def test_upstream_s_own_calls_are_charged_only_when_asked(tmp_path: Path) -> None:
    for charge, calls in ((False, 0), (True, 3)):
        arm, history = engine(tmp_path / str(charge), charge=charge), []  # type: ignore[var-annotated]
        play(arm, history, [*opening(), *(m for n in range(13) for m in step(n, 1))])
        spent = arm.spent()
        assert len(spent) == calls and arm.spent() == []
        assert all(usage.prompt and usage.completion == 4 * 90 and usage.prompt_from == "counted" for usage in spent)


def test_an_overflow_forces_an_emergency(tmp_path: Path) -> None:
    arm, history = engine(tmp_path), []  # type: ignore[var-annotated]
    play(arm, history, opening())
    before = 0
    for number in range(20):
        before = COUNTER.total(play(arm, history, step(number)))
    arm.overflow(before)
    assert COUNTER.total(play(arm, history, step(20))) <= 0.6 * 0.75 * before


def test_unknown_pointers_and_parameters(tmp_path: Path) -> None:
    with pytest.raises(EvidenceNotFound):
        engine(tmp_path).evidence("refs/x")
    with pytest.raises(ValueError, match="less than or equal to 1"):
        engine(tmp_path, mild=1.5)


def test_fast_with_two_thousand_messages(tmp_path: Path) -> None:
    arm = engine(tmp_path, window=400_000)
    history = [Message("system", "s"), Message("user", "go", kind="task")]
    for number in range(1_000):
        history += step(number, lines=12)
    for message in history:
        COUNTER.message(message)
        arm.observe(message)
    arm.assemble(history)
    spent = []
    for number in range(1_000, 1_041):
        new = step(number, lines=12)
        history += new
        COUNTER.total(new)
        started = time.process_time()
        for message in new:
            arm.observe(message)
        arm.assemble(history)
        spent.append(time.process_time() - started)
    assert COUNTER.total(arm.assemble(history)) > 200_000
    assert sorted(spent)[20] < 0.01  # seconds; 0.001 to 0.002 on a free core
