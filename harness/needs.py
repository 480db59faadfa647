"""Which evidence an action needed, and whether the prompt in front of it still held it.

The definitions are those of docs/measures.md, section "Needs". A task is indexed once; every arm asks the same index.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentmem.errors import EvidenceNotFound
from agentmem.messages import Message, sent_text
from agentmem.tokens import Counter

IDENTIFIER = re.compile(r"\b(?:[^\W\d]\w{3,}|\d{3,}\b)")
FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
SLICE = 400  # tokens a drill-down returns at most


@dataclass(frozen=True, slots=True)
class Need:
    """An identifier of an action and the places, in the task's own messages, that held it before."""

    identifier: str
    holders: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """How well one prompt supported one action. ``repairs`` is in tokens; ``repair_calls`` is the number of calls."""

    needs: int
    missing: tuple[str, ...]
    lost: tuple[str, ...]
    repairs: int
    repair_calls: int
    fetched: int


NOTHING = Support(0, (), (), 0, 0, 0)


def identifiers(text: str) -> set[str]:
    """Runs of letters, digits and underscores of four or more characters that do not begin with a digit, and
    numbers of three or more digits."""
    return set(IDENTIFIER.findall(text))


def action(message: Message) -> str:
    """What an assistant message does: its tool calls, or the last fenced block of a text protocol, else nothing."""
    if message.tool_calls:
        return "\n".join(call.values() for call in message.tool_calls)
    blocks = FENCED.findall(message.content)
    return str(blocks[-1]) if blocks else ""


def task_needs(messages: Sequence[Message]) -> dict[int, tuple[Need, ...]]:
    """The needs of every call of one task, by the index of its assistant message.

    A call without needs has an empty tuple; an assistant message of kind "demo" was no call of this run.
    """
    held: defaultdict[str, list[int]] = defaultdict(list)  # the messages that hold an identifier, oldest first
    found: dict[int, tuple[Need, ...]] = {}
    for index, message in enumerate(messages):
        if message.role == "assistant" and message.kind != "demo":
            wanted = sorted(identifiers(action(message)))
            found[index] = tuple(
                Need(name, tuple(held[name])) for name in wanted if name in held and messages[held[name][0]].is_result
            )
        for name in identifiers(_readable(message)):
            held[name].append(index)
    return found


class Judge:
    """Judges the prompts of one session of one arm.

    A need is visible if the prompt holds it in a message of the task itself or in a text the engine made. That the
    text of another task happens to hold the same identifier does not count: recorded tasks were run one at a time,
    so no action can have rested on it.
    """

    def __init__(self, counter: Counter, evidence: Callable[[str], str], limit: int = SLICE) -> None:
        self._counter = counter
        self._evidence = evidence
        self._limit = limit
        self._names: dict[int, tuple[Message, frozenset[str]]] = {}
        self._behind: dict[str, frozenset[str]] = {}
        self._recorded: set[int] = set()

    def observe(self, message: Message) -> None:
        """A recorded message was added to the history (which keeps it alive, and so its id)."""
        self._recorded.add(id(message))

    def support(
        self, needs: Sequence[Need], task: Sequence[Message], prompt: Sequence[Message], prompt_tokens: int
    ) -> Support:
        """Which needs of an action the prompt held, and what fetching the others would have cost.

        ``task`` holds the task's messages up to the action, as recorded; ``prompt`` what the engine assembled.
        """
        if not needs:
            return NOTHING
        shown = set(map(id, prompt))
        absent = [need for need in needs if not any(id(task[i]) in shown for i in reversed(need.holders))]
        made = [message for message in prompt if id(message) not in self._recorded] if absent else []
        missing = [need for need in absent if not self._shown(need.identifier, made)]
        if not missing:
            return Support(len(needs), (), (), 0, 0, 0)
        refs = {ref for message in prompt for ref in message.refs}
        lost: list[str] = []
        fetches: dict[int, int] = {}
        for need in missing:
            source = need.holders[-1]
            size = self._counter.message(task[source])
            if any(need.identifier in self._names_behind(ref) for ref in refs):
                size = min(size, self._limit)
            else:
                lost.append(need.identifier)
            fetches[source] = max(size, fetches.get(source, 0))
        fetched = sum(fetches.values())
        return Support(
            needs=len(needs),
            missing=tuple(need.identifier for need in missing),
            lost=tuple(lost),
            repairs=len(fetches) * prompt_tokens + fetched,
            repair_calls=len(fetches),
            fetched=fetched,
        )

    def _shown(self, name: str, made: Sequence[Message]) -> bool:
        return any(name in self._names_in(message) for message in reversed(made))

    def _names_in(self, message: Message) -> frozenset[str]:
        known = self._names.get(id(message))
        if known is None:
            known = (message, frozenset(identifiers(_readable(message))))
            self._names[id(message)] = known
        return known[1]

    def _names_behind(self, ref: str) -> frozenset[str]:
        names = self._behind.get(ref)
        if names is None:
            try:
                names = frozenset(identifiers(self._evidence(ref)))
            except EvidenceNotFound:
                names = frozenset()
            self._behind[ref] = names
        return names


def _readable(message: Message) -> str:
    """The message as text: what is sent, with the arguments of tool calls unescaped."""
    if not message.tool_calls:
        return sent_text(message)
    return message.content + "\n" + action(message)
