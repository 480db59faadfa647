"""How a PersonaMem question is put to a model: earlier messages, then one user message with the options.

Layout and instruction are part of the protocol (bowen-upenn/PersonaMem 041d82a, MIT): an answer can only be read
out of a reply that was asked for in this way.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.messages import Message

FINAL = "<final_answer>"
INSTRUCTION = (
    "Find the most appropriate model response and give your final answer (a), (b), (c), or (d) "
    f"after the special token {FINAL}."
)
SYSTEM_PREFIX = "[System]: "


def question_text(question: str, options: str) -> str:
    """Question, instruction and options, separated by blank lines. ``options`` is the text of the data set."""
    return f"{question}\n\n{INSTRUCTION}\n\n{options}"


def request(context: Sequence[Message], question: str, options: str, *, fold_system: bool) -> tuple[Message, ...]:
    """The whole request. ``fold_system`` puts system messages into the message behind them (``folds_system``)."""
    messages = (*context, Message("user", question_text(question, options)))
    return merge(messages) if fold_system else messages


def folds_system(model: str) -> bool:
    """The published rule for when system messages are folded: the model's name holds the letter o.

    It was meant for gpt-4o and o1 and also takes any other name with an o; kept for parity, not a good rule.
    """
    return "o" in model


def merge(messages: Sequence[Message]) -> tuple[Message, ...]:
    """System messages folded into the next message, then runs of one role joined, by a newline each.

    A system message at the end has no next message and is lost, as in the published code.
    """
    folded: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "system":
            waiting.append(SYSTEM_PREFIX + message.content)
            continue
        content = "\n".join([*waiting, message.content])
        waiting = []
        if folded and folded[-1].role == message.role:
            content = f"{folded.pop().content}\n{content}"
        folded.append(Message(message.role, content))
    return tuple(folded)
