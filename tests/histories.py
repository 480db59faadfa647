"""Recorded sessions for tests: by hand, and of every legal kind for hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from agentmem.messages import Message, ToolCall
from harness.types import Outcome, Session, Trajectory

TEXT = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            "",
            'Traceback (most recent call last):\n  File "src/app.py", line 12, in run\nValueError: bad value 4711',
            "src/app.py:12:def compute_total(values):",
            "<|endoftext|> ```bash\nls\n``` \x00 \ud83d",
            "你好，世界 compute_total 12345",
            "word " * 400,
            "x" * 30_000,
            "\n".join(f"line {number} of module_{number}.py" for number in range(300)),
        ]
    ),
)


def words(count: int, word: str = "a") -> str:
    """A text of exactly ``count`` o200k tokens: one short word again and again."""
    return " ".join([word] * count)


def system(text: str = "be brief") -> Message:
    """A system message."""
    return Message("system", text)


def request(text: str) -> Message:
    """The statement of a task."""
    return Message("user", text, kind="task")


def says(text: str) -> Message:
    """An answer of a text protocol."""
    return Message("assistant", text)


def runs(command: str) -> Message:
    """An answer of a text protocol that runs a command."""
    return Message("assistant", f"I look.\n```bash\n{command}\n```")


def output(text: str) -> Message:
    """A tool output of a text protocol."""
    return Message("user", text, kind="observation")


def trajectory(name: str, *messages: Message, passed: bool | None = None) -> Trajectory:
    """A recorded task."""
    outcome = Outcome("missing") if passed is None else Outcome("scored", passed)
    return Trajectory(name, "test", "by hand", "none", messages, outcome)


def session(*tasks: Trajectory) -> Session[Trajectory]:
    """A session of recorded tasks."""
    return Session("s000", tasks)


@st.composite
def steps(draw: st.DrawFn, prefix: str) -> list[Message]:
    """Some steps of one task, in a text protocol or with (parallel) tool calls."""
    made: list[Message] = []
    for number in range(draw(st.integers(0, 6))):
        calls = draw(st.integers(0, 3))
        text = draw(TEXT)
        if calls == 0:
            made.append(Message("assistant", f"{text}\n```bash\ncat src/app.py {number}\n```"))
            made.append(output(draw(TEXT)))
            continue
        ids = [f"{prefix}-{number}-{index}" for index in range(calls)]
        made.append(
            Message("assistant", text, tuple(ToolCall(i, "bash", '{"command": "ls compute_total"}') for i in ids))
        )
        made += [Message("tool", draw(TEXT), tool_call_id=i, kind="observation") for i in ids]
    return [*made, says("done")] if draw(st.booleans()) else made


@st.composite
def sessions(draw: st.DrawFn) -> Session[Trajectory]:
    """A session of one to four tasks, the first perhaps with a system message, perhaps with no steps at all."""
    tasks = []
    for number in range(draw(st.integers(1, 4))):
        front = [system()] if draw(st.booleans()) else []
        body = draw(steps(f"t{number}"))
        tasks.append(trajectory(f"t{number}", *front, request(draw(TEXT) or "fix it"), *body))
    if not any(message.role == "assistant" for task in tasks for message in task.messages):
        last: Sequence[Message] = (*tasks[-1].messages, says("nothing to do"))
        tasks[-1] = trajectory(tasks[-1].id, *last)
    return Session("s000", tuple(tasks))
