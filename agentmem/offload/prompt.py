"""The prompt as it stands: the history with the decisions applied, kept up to date message by message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentmem.messages import Message
from agentmem.offload.decisions import Decision, mark, shown
from agentmem.offload.groups import Grouping
from agentmem.tokens import Counter


@dataclass(slots=True, eq=False)
class Item:
    """One message of the history that is in the prompt: its index there, the index of its group's leader, the message
    as it came and as it is shown, and the tokens of the latter."""

    index: int
    leader: int
    whole: Message
    message: Message
    tokens: int

    @property
    def is_whole(self) -> bool:
        """True while the message is shown as it came."""
        return self.message is self.whole


class Prompt:
    """Items in order, in their groups, and their tokens together.

    Adding a message and changing one cost the same at any length; dropping some costs one pass.
    """

    def __init__(self, counter: Counter) -> None:
        self.items: list[Item] = []
        self.tokens = 0
        self.groups: dict[int, list[Item]] = {}  # leader -> its group
        self.results: dict[int, Item] = {}  # results that are still shown as they came, by index
        self.request: Item | None = None  # the last request
        self._counter = counter
        self._grouping = Grouping()
        self._by_index: dict[int, Item] = {}
        self._length = 0

    def add(self, message: Message) -> Item:
        """Take in the next message of the history."""
        tokens = self._counter.message(message)
        item = Item(self._length, self._grouping.add(message), message, message, tokens)
        self._length += 1
        self.items.append(item)
        self.groups.setdefault(item.leader, []).append(item)
        self._by_index[item.index] = item
        if message.is_result:
            self.results[item.index] = item
        elif message.is_request:
            self.request = item
        self.tokens += tokens
        return item

    def apply(self, decisions: Iterable[Decision]) -> None:
        """Carry out decisions about messages that are in the prompt; one about another message does nothing."""
        dropped = []
        for decision in decisions:
            item = self._by_index.get(decision.at)
            if item is None:
                continue
            self.tokens -= item.tokens
            self.results.pop(item.index, None)
            if decision.action == "drop":
                dropped.append(item)
                del self._by_index[item.index]
            else:
                item.message = shown(item.whole, decision)
                item.tokens = self._counter.message(item.message)
                self.tokens += item.tokens
        if dropped:
            self._drop(dropped)

    def cost(self, item: Item, decision: Decision) -> int:
        """Tokens of an item as a decision would show it."""
        return self._counter.message(shown(item.whole, decision))

    def messages(self) -> list[Message]:
        """The messages as shown."""
        return [item.message for item in self.items]

    def protected(self, newest: int) -> set[int]:
        """Leaders of the groups that must stay: the system prompt, the last request, the ``newest`` messages."""
        stay = {item.leader for item in self.items[-newest:]} if newest else set()
        if self.request is not None:
            stay.add(self.request.leader)
        if self.items and self.items[0].whole.role == "system":
            stay.add(self.items[0].leader)
        return stay

    def _drop(self, dropped: list[Item]) -> None:
        gone = {item.index for item in dropped}
        self.items = [item for item in self.items if item.index not in gone]
        for leader in {item.leader for item in dropped}:
            left = [item for item in self.groups[leader] if item.index not in gone]
            if left:
                self.groups[leader] = left
            else:
                del self.groups[leader]


def drop(item: Item) -> Decision:
    """The decision that leaves an item out."""
    return Decision(item.index, mark(item.whole), "drop")
