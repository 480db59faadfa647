"""What every engine promises, on histories of every kind: legal prompts, nothing changed, the same bytes again."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings

from agentmem.messages import Message, ToolCall
from agentmem.tokens import TokenCounter
from harness.engines.registry import build, names, parse_arm
from harness.errors import UnknownName, UsageError
from harness.lint import problems
from harness.protocols import EngineContext
from harness.replay import prepare
from harness.types import Session, Trajectory
from tests.histories import output, request, runs, says, session, sessions, system, trajectory

COUNTER = TokenCounter()
ARMS = [
    "full",
    "mask:last=1",
    "isolated",
    "summary:trigger=0.3,keep=100,size=60",
    "agentmem",
    "agentmem:keep_results=1,keep_calls=1,batch=0,extract=20,result=20,command=20",
    *([name for name in names() if name not in ("full", "mask", "isolated", "summary", "agentmem")]),
]
CALLS = tuple(ToolCall(f"p{number}", "bash", '{"command": "' + "echo wide " * 400 + '"}') for number in range(3))
HUGE = session(
    trajectory("huge", system(), request("go"), runs("cat big"), output("x" * 2_000_000), runs("next"), output("y")),
    trajectory(
        "parallel",
        request("again"),
        Message("assistant", "", CALLS),
        *(Message("tool", "", tool_call_id=call.id, kind="observation") for call in CALLS),
        says("done"),
    ),
)


def prompts(arm: str, recorded: Session[Trajectory], window: int) -> list[list[Message]]:
    """Every prompt the arm assembles; each is linted against the history in front of it."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        context = EngineContext("s000", window, COUNTER, Path(folder), clock=lambda: 0.0)
        engine = build(parse_arm(arm), context)
        history: list[Message] = []
        for task in prepare(recorded):
            engine.begin_task(task.trajectory.id)
            for index, message in enumerate(task.messages):
                if index in task.needs:
                    before = copy.deepcopy(history)
                    prompt = list(engine.assemble(history))
                    assert history == before, "the engine changed the history"
                    assert problems(prompt, history) == []
                    made.append(prompt)
                history.append(message)
                engine.observe(message)
        for prompt in made:
            for ref in {ref for message in prompt for ref in message.refs}:
                assert isinstance(engine.evidence(ref), str)
        engine.close()
    return made


@pytest.mark.parametrize("arm", ARMS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(recorded=sessions())
@example(recorded=HUGE)
def test_every_prompt_is_legal_and_the_same_input_gives_the_same_prompts(
    arm: str, recorded: Session[Trajectory]
) -> None:
    for window in (200_000, 2_000):
        assert prompts(arm, recorded, window) == prompts(arm, recorded, window)


@pytest.mark.parametrize("arm", ["full", "mask:last=1", "summary", "agentmem", "isolated"])
def test_prompts_stay_within_the_window_where_steps_can_go(arm: str) -> None:
    steps = [step for number in range(60) for step in (runs(f"cat {number}"), output(f"word{number} " * 80))]
    recorded = session(trajectory("long", system(), request("go"), *steps, says("done")))
    for prompt in prompts(arm, recorded, 2_000):
        assert COUNTER.total(prompt) <= 2_000


def test_full_changes_nothing_before_the_window_is_full() -> None:
    recorded = session(trajectory("t", system(), request("go"), runs("ls"), output("x"), says("done")))
    assert prompts("full", recorded, 200_000)[-1] == list(recorded.tasks[0].messages[:4])


def test_agentmem_shows_results_again_byte_for_byte() -> None:
    """Whatever it offloads is behind its pointer exactly as it came."""
    odd = "nul \x00 half \ud83d ticks ``` and \r\n" + "value_0 " * 400
    steps = [step for number in range(8) for step in (runs(f"cat {number}"), output(f"{number} {odd}"))]
    with tempfile.TemporaryDirectory() as folder:
        context = EngineContext("s", 200_000, COUNTER, Path(folder), clock=lambda: 0.0)
        engine = build(parse_arm("agentmem:batch=0,keep_results=1"), context)
        engine.begin_task("t")
        for message in (system(), request("go"), *steps):
            engine.observe(message)
        prompt = engine.assemble([])
        results = [message for message in prompt if message.is_result and message.refs]
        assert len(results) == 7
        for number, message in enumerate(results):
            assert engine.evidence(message.refs[0]) == f"{number} {odd}"


def test_a_finished_task_leaves_a_line_with_a_pointer() -> None:
    first = trajectory("django-1", system(), request("fix it"), runs("sed -i s/a/b/ src/app.py"), output("ok"))
    second = trajectory("django-2", request("the next"), says("done"))
    (prompt,) = prompts("agentmem", session(first, second), 200_000)[1:]
    assert [message.role for message in prompt] == ["system", "user", "user"]
    assert "001 django-1: src/app.py -> refs/" in prompt[1].content
    assert COUNTER.text(prompt[1].content.split("\n")[1]) <= 150


def test_an_unknown_arm_key_or_value_is_named_with_what_would_fit() -> None:
    with pytest.raises(UnknownName, match="unknown arm 'agentmen': expected agentmem"):
        parse_arm("agentmen")
    with pytest.raises(UnknownName, match="unknown parameter of arm 'mask' 'lst': expected last"):
        parse_arm("mask:lst=3")
    with pytest.raises(UsageError, match="arm 'mask': last='none': input should be a valid integer"):
        parse_arm("mask:last=none")
    with pytest.raises(UsageError, match="expected key=value, found 'last'"):
        parse_arm("mask:last")


@pytest.mark.parametrize("arm", ARMS)
def test_a_prompt_that_the_server_refused_gets_shorter(arm: str) -> None:
    steps = [step for number in range(40) for step in (runs(f"cat {number}"), output(f"word{number} " * 150))]
    with tempfile.TemporaryDirectory() as folder:
        engine = build(parse_arm(arm), EngineContext("s", 200_000, COUNTER, Path(folder), clock=lambda: 0.0))
        history = [system(), request("go"), *steps]
        engine.begin_task("t")
        for message in history:
            engine.observe(message)
        before = COUNTER.total(engine.assemble(history))
        engine.overflow(before)
        after = list(engine.assemble(history))
        engine.close()
    assert COUNTER.total(after) < before
    assert problems(after, history) == []
