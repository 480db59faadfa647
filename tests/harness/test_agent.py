"""The agent loop: both protocols, limits, and a history that stays legal whatever happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.messages import Message, ToolCall
from harness import lint
from harness.agents.conversation import Conversation
from harness.agents.dialogue import SUBMIT, FencedText, FunctionCalling, dialogue
from harness.agents.loop import LAST_CALL, Agent, Ended, Limits
from harness.engines.registry import build, parse_arm
from harness.errors import EnvironmentFailed, ModelFailed, PromptTooLong, UnknownName
from harness.models.scripted import Scripted, playlist
from harness.protocols import EngineContext
from harness.types import Attempt, Usage
from tests.harness.live_parts import COUNTER, LOOK, Riddle, Riddles

BASH = {"type": "function", "function": {"name": "bash", "parameters": {}}}


def call(name: str = "look", arguments: str = "{}", id: str = "c1") -> Message:
    return Message("assistant", "", (ToolCall(id, name, arguments),))


def conversation(answers: list[Message], tmp_path: Path, arm: str = "full", model: Any = None) -> Conversation:
    engine = build(parse_arm(arm), EngineContext("s", 4_000, COUNTER, tmp_path, lambda: 0.0))
    return Conversation(arm, "s", engine, model or Scripted("m", playlist(answers), COUNTER), COUNTER)


def play(
    answers: list[Message], tmp_path: Path, protocol: str = "functions", **limits: Any
) -> tuple[Ended, Conversation]:
    talk = conversation(answers, tmp_path)
    task = Riddles(8).tasks()[7]
    talk.begin_task(task.id, 0)
    ended = Agent(dialogue(protocol), Limits(**{"steps": 5, **limits})).play(talk, task, Riddle("7", tools=True))
    return ended, talk


def test_function_calls_run_until_an_answer_comes(tmp_path: Path) -> None:
    ended, talk = play([call(), Message("assistant", "7")], tmp_path)
    assert ended == Ended("7", 2)
    assert [m.role for m in talk.history] == ["system", "user", "assistant", "tool", "assistant"]
    assert talk.history[3].content == "the number is 7"
    calls = talk.end_task()
    assert [one.purpose for one in calls] == ["agent", "agent"] and calls[1].needs is not None


def test_every_call_of_a_turn_gets_its_result(tmp_path: Path) -> None:
    both = Message(
        "assistant",
        "",
        (ToolCall("a", "look", "{}"), ToolCall("b", "nothing", "{}"), ToolCall("c", "look", "not json")),
    )
    _, talk = play([both, Message("assistant", "7")], tmp_path)
    results = [m for m in talk.history if m.role == "tool"]
    assert [m.tool_call_id for m in results] == ["a", "b", "c"]
    assert [m.is_error for m in results] == [False, True, True]
    assert "there is no tool 'nothing'; there are look" in results[1].content and "not JSON" in results[2].content
    assert not lint.problems([*talk.history, Message("user", "next")], talk.history)


def test_an_environment_that_dies_leaves_a_legal_history(tmp_path: Path) -> None:
    both = Message("assistant", "", (ToolCall("a", "look", '{"die": 1}'), ToolCall("b", "look", "{}")))
    talk = conversation([both], tmp_path)
    task = Riddles(1).tasks()[0]
    talk.begin_task(task.id, 0)
    with pytest.raises(EnvironmentFailed):
        Agent(FunctionCalling()).play(talk, task, Riddle("0", tools=True))
    assert [m.tool_call_id for m in talk.history if m.role == "tool"] == ["a", "b"]
    assert not lint.problems([*talk.history, Message("user", "next")], talk.history)


def test_at_the_step_limit_the_model_is_asked_once_more_without_tools(tmp_path: Path) -> None:
    ended, talk = play([call(), call(), call(id="late")], tmp_path, steps=2)
    assert ended.limit == "steps" and ended.steps == 3
    assert talk.history[-3].content == LAST_CALL
    assert talk.history[-1].role == "tool" and "not run" in talk.history[-1].content


def test_time_that_is_over_ends_the_task(tmp_path: Path) -> None:
    ticks = iter(range(0, 1_000, 10))
    talk = conversation([call(), call(), call()], tmp_path)
    task = Riddles(1).tasks()[0]
    talk.begin_task(task.id, 0)
    ended = Agent(FunctionCalling(), Limits(seconds=15), clock=lambda: next(ticks)).play(talk, task, Riddle("0", True))
    assert ended.limit == "seconds" and ended.steps == 1


@pytest.mark.parametrize(
    ("content", "blocks"),
    [("no block", 0), ("```bash\nls\n```\n```bash\npwd\n```", 2), ("```python\nx\n```", 0), ("```\nls\n```", 0)],
)
def test_text_protocol_wants_exactly_one_block(content: str, blocks: int) -> None:
    complaint = FencedText().read(Message("assistant", content), [BASH]).complaint
    assert complaint is not None and f"holds {blocks} ```bash blocks" in complaint


def test_a_complaint_goes_back_to_the_model(tmp_path: Path) -> None:
    good = "I look.\n```bash\n@look {}\n```"
    answers = [Message("assistant", text) for text in ("hm", good, "```bash\n@submit\nseven is 7\n```")]
    ended, talk = play(answers, tmp_path, "text")
    assert ended == Ended("seven is 7", 3, None, 1)
    assert [m.role for m in talk.history] == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]
    assert talk.history[3].kind == talk.history[5].kind == "observation"
    assert "@look: Look a name up." in talk.history[0].content and talk.history[0].content.startswith(
        "Answer with a number."
    )


@given(st.text(alphabet=st.characters(exclude_characters="`\r", exclude_categories=["Cs"])).filter(lambda text: text.strip() and not text.lstrip("\n").startswith("@")))  # fmt: skip
def test_a_command_survives_the_text_protocol(command: str) -> None:
    turn = FencedText().read(Message("assistant", f"So:\n```bash\n{command}\n```\nDone."), [BASH])
    assert json.loads(turn.calls[0].arguments)["command"] == command


def test_a_submission_is_what_follows_the_magic_line() -> None:
    talk = FencedText()
    wrapped = f"<returncode>0</returncode>\n<output>\n{SUBMIT}\nline 1\nline 2\n</output>"
    assert talk.submitted(Message("user", wrapped)) == "line 1\nline 2"
    assert talk.submitted(Message("user", f"<output>\nfirst\n{SUBMIT}\n</output>")) is None


def test_without_tools_any_answer_is_the_answer() -> None:
    assert FencedText().read(Message("assistant", "plain"), []).answer == "plain"
    assert FencedText().read(Message("assistant", "```bash\nls\n```"), [LOOK]).complaint


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(UnknownName, match="text"):
        dialogue("txt")


class TooLong:
    """A server with a window: prompts of more than ``most`` messages are too long for it."""

    name = "m"

    def __init__(self, most: int) -> None:
        self.most = most
        self.sizes: list[int] = []

    def complete(self, messages: Any, tools: Any = ()) -> Any:
        self.sizes.append(len(messages))
        if len(messages) > self.most:
            raise PromptTooLong("maximum context length", [Attempt("HTTP 400: maximum context length", Usage())])
        return Scripted("m", playlist([Message("assistant", "7")]), COUNTER).complete(messages, tools)


def filled(model: TooLong, tmp_path: Path) -> Conversation:
    talk = conversation([], tmp_path, model=model)
    talk.begin_task("t", 0)
    for number in range(6):
        talk.add(Message("user", f"question {number}"))
        talk.add(Message("assistant", f"answer {number}"))
    talk.add(Message("user", "the last question"))
    return talk


def test_an_overflow_goes_back_to_the_engine_once(tmp_path: Path) -> None:
    model = TooLong(most=12)
    talk = filled(model, tmp_path)
    assert talk.ask().content == "7"
    assert len(model.sizes) == 2 and model.sizes[1] < model.sizes[0]
    rows = talk.end_task()
    assert [row.error is not None for row in rows] == [True, False]


def test_a_second_overflow_fails_the_task(tmp_path: Path) -> None:
    with pytest.raises(PromptTooLong):
        filled(TooLong(most=2), tmp_path).ask()


def test_an_engine_that_cannot_compress_lets_the_task_fail(tmp_path: Path) -> None:
    talk = filled(TooLong(most=0), tmp_path)
    talk.engine.overflow = lambda tokens: None  # type: ignore[method-assign]
    with pytest.raises(ModelFailed, match="could not shorten"):
        talk.ask()
