"""Random legal histories for property tests: tool calls and text protocol, one or several calls a message."""

from __future__ import annotations

from hypothesis import strategies as st

from agentmem.messages import Message, ToolCall

WORDS = st.text("abcdef ghij\n", min_size=0, max_size=12)
LONG = st.integers(0, 60).map(lambda n: "result line with some words\n" * n)


@st.composite
def histories(draw: st.DrawFn, steps: int = 12) -> list[Message]:
    """A system prompt or none, a request, then steps; ids may come back, as some providers give them again."""
    messages = [Message("system", "be brief")] if draw(st.booleans()) else []
    messages.append(Message("user", draw(WORDS) + "?", kind=draw(st.sampled_from([None, "task"]))))
    for number in range(draw(st.integers(0, steps))):
        kind = draw(st.sampled_from(["calls", "calls", "text", "protocol", "request"]))
        if kind == "request":
            messages.append(Message("user", draw(WORDS) + f" {number}?"))
        elif kind == "text":
            messages.append(Message("assistant", draw(WORDS)))
            messages.append(Message("user", draw(WORDS)))
        elif kind == "protocol":
            messages.append(Message("assistant", draw(WORDS)))
            messages.append(Message("user", draw(LONG), kind="observation"))
        else:
            ids = [f"c{draw(st.integers(0, 3))}_{n}" for n in range(draw(st.integers(1, 3)))]
            calls = tuple(
                ToolCall(call, "run", '{"command": "' + "x" * draw(st.integers(0, 300)) + '"}') for call in ids
            )
            messages.append(Message("assistant", draw(st.sampled_from(["", "now"])), calls))
            messages += [Message("tool", draw(LONG), tool_call_id=call) for call in ids]
    return messages
