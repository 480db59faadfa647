"""The scripted agent: reads what the persona said about a topic, follows pointers to chats, and picks an option."""

from __future__ import annotations

from suites.mini_agents.moves import Done, Move, follow
from suites.mini_agents.view import View, pointers
from suites.personamem.mini.phrases import Statement, asked, latest, options, statements
from suites.personamem.request import FINAL

LOST = "Nothing of what was said about it is left in front of me."


def is_request(text: str) -> bool:
    """Whether a text asks one of our questions, with its options."""
    return bool(options(text)) and asked(text) is not None


def policy(view: View) -> Move:
    """The next move on a prompt."""
    question = asked(view.request)
    if question is None:
        return Done(LOST)
    said = statements(question.topic, [*view.before, *(step.text for step in view.steps)])
    answer = _answer(question.kind, question.old, said)
    if answer is None:
        return follow(view, _chats(view), f"comes to {question.topic},|/chat-") or Done(LOST)
    letter = options(view.request).get(answer)
    return Done(LOST if letter is None else f"{FINAL} ({letter})")


def _answer(kind: str, old: str | None, said: list[Statement]) -> str | None:
    if kind == "reason":
        return next((one.reason for one in said if one.old == old), None)
    newest = latest(said)
    if newest is None:
        return None
    return newest.value if kind == "latest" else newest.old


def _chats(view: View) -> list[str]:
    """Pointers in front of the request and behind it, the newest first; those to earlier questions lead nowhere."""
    texts = [*view.before, *(step.text for step in view.steps)]
    return [
        ref
        for text in texts
        for line in reversed(text.splitlines())
        if "question" not in line
        for ref in reversed(pointers(line))
    ]
