"""The prompt of one session: which stage acts when, every decision on disk before it is shown, canvases put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.messages import Message
from agentmem.offload.canvas import Canvas
from agentmem.offload.decisions import Decision, Decisions
from agentmem.offload.deletion import aggressive, emergency
from agentmem.offload.entries import Entry
from agentmem.offload.hosts import heartbeat_ids
from agentmem.offload.injection import Shown, active_block, history_block, inject, record
from agentmem.offload.mild import MildRules, StandIn, mild
from agentmem.offload.prompt import Item, Prompt, drop
from agentmem.offload.summaries import short_call
from agentmem.tokens import Counter

ROUNDS = 4  # of all stages in front of one call

if TYPE_CHECKING:
    from agentmem.offload.session import OffloadSession


class Compressor:
    """Used by ``OffloadSession`` alone. ``keys`` leads from an index of the history to the entry of its result."""

    def __init__(self, session: OffloadSession, folder: Path, counter: Counter, window: int, durable: bool) -> None:
        self._session = session
        self._counter = counter
        self._window = window
        self._decisions = Decisions(folder, durable)
        self._prompt = Prompt(counter)
        self.keys: dict[int, str] = {}
        self._beats: list[Item] = []
        self._dropped: list[int] = []
        self._stand_ins: dict[str, StandIn] = {}
        self._history: Message | None = None
        self._history_state: object = None
        self._active: Message | None = None
        self._active_canvas: Canvas | None = None
        self._nodes: dict[str, set[str]] = {}
        self._counted = 0
        self._moves = 0

    def add(self, message: Message) -> Item:
        """Take in the next message. A heartbeat call leaves with its result once that has come."""
        item = self._prompt.add(message)
        if heartbeat_ids(message):
            self._beats.append(item)
        return item

    def call_of(self, item: Item) -> str:
        """The call a result answers, as text: its name and values, or the message in front of it."""
        leader = self._prompt.groups[item.leader][0].whole
        call = next((call for call in leader.tool_calls if call.id == item.whole.tool_call_id), None)
        return short_call(call.values() if call else _command(leader.content))

    def replay(self, history: Sequence[Message]) -> None:
        """Apply stored decisions to the history the host has. From the first message on that is another one now,
        decisions are forgotten."""
        wrong = self._decisions.first_mismatch(history)
        if wrong is not None:
            self._session.warn(f"message {wrong} of the history is not what it was; decisions from it on are dropped")
            self._session.guarded(lambda: self._decisions.forget_from(wrong), "decisions")
        self._apply(self._decisions.by_index.values())

    def assemble(self) -> list[Message]:
        """Heartbeats out; then removing, replacing, emergency, as far as the window asks for it; then canvases in."""
        self._drop_heartbeats()
        for _ in range(ROUNDS):  # what one stage makes room for, or writes a summary of, concerns the next
            if not self._stages():
                break
        history, active = self._canvases()
        return inject(self._prompt.messages(), history, active)

    def _stages(self) -> bool:
        """Every stage once; True when one of them decided something."""
        rules = self._session.rules
        before = len(self._decisions.by_index), self._prompt.tokens
        if self._total() >= math.floor(self._window * rules.aggressive):
            self._leave(lambda target: aggressive(self._prompt, target), rules.aggressive_target)
        if self._total() >= math.floor(self._window * rules.mild):
            target = self._window * rules.mild_target - self._in_blocks()
            self._decide(mild(self._prompt, self._find, target, MildRules(rules.scan)))
        if self._total() >= math.floor(self._window * rules.emergency):
            self._leave(lambda target: emergency(self._prompt, target, self._shorten), rules.emergency_target)
        return before != (len(self._decisions.by_index), self._prompt.tokens)

    def close(self) -> None:
        """Close the journal."""
        self._decisions.close()

    def _total(self) -> int:
        return self._prompt.tokens + self._in_blocks()

    def _in_blocks(self) -> int:
        return sum(self._counter.message(block) for block in self._canvases() if block)

    def _leave(self, stage: Callable[[float], list[Decision]], share: float) -> None:
        """Let messages go, but only once everything that goes has a node."""
        if not self._session.guarded(self._session.represent, "canvases"):
            return
        rules = self._session.rules
        target = self._window * (share - rules.canvases)  # canvases of what leaves need their room
        decisions = stage(target)
        stay = {item.leader for item in self._prompt.items if item.whole.is_result and item.index not in self.keys}
        leaders = {item.index: item.leader for item in self._prompt.items}
        self._decide(d for d in decisions if d.action == "show" or leaders.get(d.at) not in stay)

    def _decide(self, decisions: Iterable[Decision]) -> None:
        fresh = list(decisions)
        if fresh and self._session.guarded(lambda: self._decisions.add(fresh), "decisions"):
            self._apply(fresh)

    def _apply(self, decisions: Iterable[Decision]) -> None:
        fresh = list(decisions)
        self._prompt.apply(fresh)
        self._dropped += [decision.at for decision in fresh if decision.action == "drop"]

    def _drop_heartbeats(self) -> None:
        for item in list(self._beats):
            calls = item.whole.tool_calls
            group = self._prompt.groups.get(item.leader, [])
            if len(group) == len(calls) + 1 and len(heartbeat_ids(item.whole)) == len(calls) and not item.whole.content:
                self._decide(drop(member) for member in group)
            if len(group) != 1:  # answered: gone now, or beside other calls and left alone
                self._beats.remove(item)

    def _find(self, item: Item) -> StandIn | None:
        entry = self._entry(item.index)
        if entry is None or entry.summary is None or entry.result_ref is None:
            return None
        known = self._stand_ins.get(entry.key)
        if known is None or known.node != entry.node_id:
            text = f"[offloaded {entry.node_id or entry.key}: {entry.result_ref}]\n{entry.summary}"
            tokens = self._counter.text(text) + item.tokens - self._counter.text(item.whole.content)
            known = StandIn(
                text, tokens, entry.result_ref, entry.score or 0.0, entry.key, entry.node_id, entry.tool_call
            )
            self._stand_ins[entry.key] = known
        return known

    def _shorten(self, item: Item) -> tuple[str, str] | None:
        ref = ""

        def write() -> None:
            nonlocal ref
            ref = self._session.store.put(item.whole.content)

        if not self._session.guarded(write, "evidence"):
            return None
        return f"[{item.tokens} tokens were moved out: {ref}]", ref

    def _entry(self, index: int) -> Entry | None:
        key = self.keys.get(index)
        return None if key is None else self._session.entries[key]

    def _canvases(self) -> tuple[Message | None, Message | None]:
        """The block of what left and that of the present task; as before where the disk refuses their records."""
        self._session.guarded(self._refresh, "the record of a canvas")
        return self._history, self._active

    def _refresh(self) -> None:
        """Make the blocks anew where something in them changed. Each has half of the room, so that one of them can
        change while the other keeps its bytes."""
        session = self._session
        mapping = session.mapping
        present = session.tasks.present.canvas if session.tasks.present else None
        budget = math.floor(self._window * session.rules.canvases / 2)
        left = self._left()
        files = [file for file in sorted(left) if file != present]
        state = (present, len(self._dropped), [mapping.canvas(file) for file in files])
        if state != self._history_state:
            shown = [self._shown(mapping.canvas(file), left[file]) for file in files]
            self._history = history_block(shown, budget, self._counter, session.store.put)
            self._history_state = state
        canvas = mapping.canvas(present) if present else None
        if canvas is not self._active_canvas:
            active = None
            if canvas is not None and canvas.nodes and (session.rules.show_active or present in left):
                nodes = left.get(canvas.file, set())
                active = active_block(self._shown(canvas, nodes), budget, self._counter)
            self._active_canvas, self._active = canvas, active

    def _left(self) -> dict[str, set[str]]:
        """Nodes of what left the prompt, by canvas file."""
        if self._moves != self._session.mapping.moves:
            self._moves = self._session.mapping.moves
            self._counted, self._nodes = 0, {}
        while self._counted < len(self._dropped):
            entry = self._entry(self._dropped[self._counted])
            file = self._session.tasks.canvas_of(entry.task) if entry else None
            if entry and entry.node_id and file:
                self._nodes.setdefault(file, set()).add(entry.node_id)
            self._counted += 1
        return self._nodes

    def _shown(self, canvas: Canvas, nodes: set[str]) -> Shown:
        entries = self._session.entries.by_canvas.get(f"{canvas.number:03d}", {})
        rows = [
            (entry.node_id, entry.key, entry.result_ref or "")
            for entry in entries.values()
            if entry.node_id and canvas.has(entry.node_id)
        ]
        return Shown(canvas, tuple(sorted(nodes)), self._session.store.put(record(canvas, rows)))


def _command(content: str) -> str:
    """The last fenced command of a text protocol, else the beginning of the text."""
    parts = content.split("```")
    return parts[-2].split("\n", 1)[-1] if len(parts) >= 3 else content
