"""What every prompt must fulfil before it counts: the strictest reading of what providers accept."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.messages import Message
from harness.errors import LintError


def problems(prompt: Sequence[Message], history: Sequence[Message] | None = None, known: int = 0) -> list[str]:
    """Every rule the prompt breaks, in words; an empty list for a legal prompt.

    Rules: it is not empty; at most one system message, and only in front; the first other message is a user's; tool
    calls are followed directly by exactly one result each, and no result stands alone; it does not end with an
    assistant message; every pointer it claims stands in its text. With ``history``: the system message is
    untouched and the last request is kept. The first ``known`` messages stood in front of a legal prompt before and are
    not looked at again.
    """
    found: list[str] = []
    if not prompt:
        return ["the prompt is empty"]
    start = 1 if prompt[0].role == "system" else 0
    if len(prompt) == start:
        return ["there is nothing but a system message"]
    if prompt[start].role != "user":
        found.append(f"the first message after the system prompt has role {prompt[start].role}, not user")
    open_calls: list[str] = []
    for index in range(_step_start(prompt, start, known), len(prompt)):
        message = prompt[index]
        role = message.role
        if role == "tool":
            if message.tool_call_id in open_calls:
                open_calls.remove(message.tool_call_id or "")
            else:
                found.append(
                    f"message {index} is the result of {message.tool_call_id!r}, for which there is no call in front"
                )
        elif open_calls:
            found.append(f"message {index} comes before the results of {', '.join(open_calls)}")
            open_calls = []
        if role == "system":
            found.append(f"message {index} is a second system message")
        elif role == "assistant" and message.tool_calls:
            open_calls = [call.id for call in message.tool_calls]
        for ref in message.refs:
            if ref not in message.content:
                found.append(f"message {index} claims the pointer {ref}, which does not stand in its text")
    if open_calls:
        found.append(f"the last call has no result: {', '.join(open_calls)}")
    if prompt[-1].role == "assistant":
        found.append("the last message is the assistant's own")
    if history is not None:
        found += _kept(prompt, history)
    return found


def check(arm: str, prompt: Sequence[Message], history: Sequence[Message], known: int = 0) -> None:
    """Raise ``LintError`` that names the arm when its prompt breaks a rule. ``known`` as in ``problems``."""
    found = problems(prompt, history, known)
    if found:
        raise LintError(f"arm {arm!r} assembled a prompt that no provider would accept: {'; '.join(found[:3])}")


def _step_start(prompt: Sequence[Message], start: int, known: int) -> int:
    """The newest message within the first ``known`` that is no result: in a legal prompt no call is open there."""
    index = min(known, len(prompt)) - 1
    while index > start and prompt[index].role == "tool":
        index -= 1
    return max(index, start)


def _kept(prompt: Sequence[Message], history: Sequence[Message]) -> list[str]:
    found = []
    if history and history[0].role == "system" and prompt[0] is not history[0] and prompt[0] != history[0]:
        found.append("the system message was changed or left out")
    last = next((message for message in reversed(history) if message.is_request), None)
    # almost always the very object: comparing texts is for engines that copied it
    if last is not None and not any(message is last for message in reversed(prompt)) and last not in prompt:
        found.append("the last request of the user was left out")
    return found
