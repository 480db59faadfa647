"""The recall engine: an old fact stands in a small window again, and every prompt is legal and within it."""

from __future__ import annotations

from pathlib import Path

from agentmem.messages import Message
from agentmem.tokens import TokenCounter
from harness import lint
from harness.engines.recall import Recall, RecallParameters
from harness.protocols import EngineContext

COUNTER = TokenCounter()
WINDOW = 600


def played(tmp_path: Path, question: str) -> tuple[list[Message], list[Message]]:
    engine = Recall(RecallParameters.model_validate({}), EngineContext("s", WINDOW, COUNTER, tmp_path, lambda: 0.0))
    history = [Message("system", "Answer briefly.")]
    engine.observe(history[0])
    for number in range(12):
        fact = (
            "My dentist is called Doctor Quill."
            if number == 1
            else f"Today I watered plant number {number}, which grows well."
        )
        engine.begin_task(f"chat {number}")
        for message in (
            Message("user", fact),
            Message("assistant", f"Thank you for telling me about day {number}. " * 6),
        ):
            history.append(message)
            engine.observe(message)
    engine.begin_task("question")
    history.append(Message("user", question, kind="task"))
    engine.observe(history[-1])
    prompt = list(engine.assemble(history))
    assert list(engine.assemble(history))[1] is prompt[1]  # the same block for every step of a request
    engine.close()
    return prompt, history


def test_an_old_fact_comes_back_into_a_small_window(tmp_path: Path) -> None:
    prompt, history = played(tmp_path, "What is the name of my dentist?")
    assert not lint.problems(prompt, history)
    assert COUNTER.total(prompt) <= WINDOW
    assert prompt[0] is history[0] and prompt[1].kind == "recall" and prompt[-1] is history[-1]
    assert "Quill" in prompt[1].content
    assert not any("Quill" in message.content for message in prompt[2:])  # it had left the recent part


def test_without_anything_to_recall_the_history_stands_alone(tmp_path: Path) -> None:
    engine = Recall(RecallParameters.model_validate({}), EngineContext("s", WINDOW, COUNTER, tmp_path, lambda: 0.0))
    asked = Message("user", "hello", kind="task")
    engine.observe(asked)
    assert list(engine.assemble([asked])) == [asked]
    engine.close()
