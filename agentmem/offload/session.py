"""The whole mechanism over one session: evidence, summaries, boundaries, canvas, compression, drill-down.

    with OffloadSession(folder, counter, window=200_000, clock=time.time) as memory:
        memory.request("fix the login")     # a new request: is it a new task?
        memory.observe(message)             # every message as it comes; results go to disk first
        prompt = memory.assemble()          # what is sent

A result that the disk refuses stays in the prompt, whole. After a restart ``resume`` is given the host's history.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from agentmem.errors import EvidenceWriteFailed
from agentmem.messages import Message, ToolCall
from agentmem.offload.boundaries import Judge, Situation, Tasks, decide, slug, transition
from agentmem.offload.canvas_build import CanvasBuilder
from agentmem.offload.canvas_files import CanvasFiles
from agentmem.offload.canvas_rules import RulesBuilder, close
from agentmem.offload.compressor import Compressor
from agentmem.offload.drilldown import DrillDown, anthropic_tools, openai_tools
from agentmem.offload.entries import Entries
from agentmem.offload.evidence import EvidenceStore
from agentmem.offload.extractive import Extractive
from agentmem.offload.flush import Flush
from agentmem.offload.hosts import heartbeat_ids, is_heartbeat_text, is_internal, session_folder
from agentmem.offload.judges import Heuristic, Told
from agentmem.offload.lock import SessionLock
from agentmem.offload.mapping import Mapping, stamp
from agentmem.offload.prompt import Item
from agentmem.offload.rules import OffloadRules
from agentmem.offload.summaries import Summariser
from agentmem.tokens import Counter

TURNS = 5  # turns before a request that its judge is told
TURN = 400  # characters of one message of it
REPLIES = 3  # answers of one
log = logging.getLogger("agentmem.offload")


class OffloadSession:
    """One session in its own folder. Raises ``SessionLocked`` when another process works on it."""

    def __init__(
        self,
        folder: Path,
        counter: Counter,
        window: int,
        clock: Callable[[], float],
        *,
        rules: OffloadRules | None = None,
        summariser: Summariser | None = None,
        judge: Judge | None = None,
        builder: CanvasBuilder | None = None,
        durable: bool = True,
        warn: Callable[[str], None] = log.warning,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.rules = rules or OffloadRules()
        self._lock = SessionLock(folder)
        self.store = EvidenceStore(folder, durable)
        self.entries = Entries(folder, durable)
        self.tasks = Tasks(folder, durable)
        self.files = CanvasFiles(folder, durable)
        self._clock = clock
        self.warn = warn
        self._sleep = sleep
        self._warned = False
        self._judge = judge or Heuristic()
        extractive = Extractive(counter, self.rules.summary)
        self.flush = Flush(self.entries, self.store, summariser or extractive, extractive, warn, self.rules.pending)
        self.mapping = Mapping(self.entries, self.tasks, self.files, self.store, builder or RulesBuilder(), warn)
        self.compressor = Compressor(self, folder, counter, window, durable)
        self._drill = DrillDown(self.store, counter, self.entries)
        self._turns: list[str] = []
        self._heartbeats: set[str] = set()

    @classmethod
    def for_host(
        cls,
        root: Path,
        session_key: str | None,
        session_id: str | None,
        counter: Counter,
        window: int,
        clock: Callable[[], float],
        **more: Any,
    ) -> OffloadSession | None:
        """The session a host names, in its own folder below ``root``; None for the memory's own runs, which are left
        alone. Raises ``ConfigError`` when the host names none: a memory that does nothing must not go unnoticed."""
        if is_internal(session_key or ""):
            return None
        return cls(session_folder(root, session_key, session_id), counter, window, clock, **more)

    def request(self, text: str) -> None:
        """A new request has come: ask the judge whether a task ends here. Call it before the message is observed."""
        if is_heartbeat_text(text):
            return
        self._settle()
        active = self._active()
        shown = self.mapping.canvas(active).text() if active else ""
        situation = Situation(text, tuple(self._turns), active, shown, tuple(self.files.known()))
        judgment = decide(self._judge, situation, self._sleep, self.warn)
        if judgment is None:
            self._move_to(None, text)
            return
        move = transition(active, judgment)
        if move.kind == "create":
            self._move_to(self.files.create(move.target, text[:200], stamp(self._clock())).file, text)
        elif move.kind == "reactivate":
            self._move_to(move.target, text)
        elif move.kind == "none":
            self._move_to(None, text)
        elif self.tasks.present is None:
            self._move_to(active, text)

    def begin_task(self, name: str) -> None:
        """The caller knows that a task of this name begins."""
        told = Told()
        told.say(name)
        judge, self._judge = self._judge, told
        try:
            self.request(name)
        finally:
            self._judge = judge

    def observe(self, message: Message) -> None:
        """Take in the next message of the history; a result is on disk before anything else happens."""
        item = self.compressor.add(message)
        self._remember(message)
        self._heartbeats |= heartbeat_ids(message)
        if not message.is_result or message.tool_call_id in self._heartbeats:
            return
        if self._store(item) and self.flush.due():
            self._settle()

    def resume(self, history: Sequence[Message]) -> None:
        """After a restart: the host's history up to now. Stored decisions are applied again; results that were already
        recorded are not recorded twice."""
        recorded = list(self.entries)
        at = 0
        for message in history:
            item = self.compressor.add(message)
            self._remember(message)
            self._heartbeats |= heartbeat_ids(message)
            if not message.is_result or message.tool_call_id in self._heartbeats:
                continue
            entry = recorded[at] if at < len(recorded) else None
            if entry is not None and entry.tool_call_id in (message.tool_call_id, f"auto-{at + 1}"):
                self.compressor.keys[item.index] = entry.key
                at += 1
            else:
                self._store(item)
        self.compressor.replay(history)

    def assemble(self) -> list[Message]:
        """The prompt as it is to be sent."""
        return self.compressor.assemble()

    def tools(self, form: str = "openai") -> list[dict[str, Any]]:
        """The drill-down tool in the schema of ``openai`` or ``anthropic``."""
        return anthropic_tools() if form == "anthropic" else openai_tools()

    def call(self, call: ToolCall) -> str:
        """Run the drill-down tool."""
        return self._drill.call(call)

    def read(self, name: str, lines: str | None = None, pattern: str | None = None, limit: int = 400) -> str:
        """The same for a caller in Python. Raises ``EvidenceNotFound``."""
        return self._drill.read(name, lines, pattern, limit)

    def represent(self) -> None:
        """Everything recorded so far gets a summary and a node, without a model: some of it is about to leave."""
        self.flush.stand_ins()
        for entry in list(self.entries.unmapped.values()):
            if self.tasks.canvas_of(entry.task) is None:
                self._give_canvas(entry.task)
        self.mapping.at_once(self._clock())

    def guarded(self, action: Callable[[], object], what: str) -> bool:
        """Do something that writes; False, with one warning a session, when the disk refuses."""
        try:
            action()
        except EvidenceWriteFailed as error:
            if not self._warned:
                self._warned = True
                self.warn(f"{what} could not be written, results stay in the prompt: {error}")
            return False
        return True

    def close(self) -> None:
        """Close files and give the lock back."""
        self.entries.close()
        self.tasks.close()
        self.compressor.close()
        self._lock.release()

    def __enter__(self) -> OffloadSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _store(self, item: Item) -> bool:
        message = item.whole

        def write() -> None:
            ref = self.store.put(message.content)
            task = self.tasks.present.id if self.tasks.present else None
            entry = self.entries.arrive(
                message.tool_call_id,
                self.compressor.call_of(item),
                ref,
                self._clock(),
                task=task,
                tokens=item.tokens,
                is_error=message.is_error,
            )
            self.compressor.keys[item.index] = entry.key

        return self.guarded(write, "evidence")

    def _settle(self) -> None:
        """Summaries for what waits, then nodes for what has a summary."""
        now = self._clock()
        self.guarded(lambda: self.flush.run(self._context()), "summaries")
        if self.mapping.due(now):
            self.guarded(lambda: self.mapping.run(now), "a canvas")

    def _active(self) -> str | None:
        return self.tasks.present.canvas if self.tasks.present else None

    def _move_to(self, canvas: str | None, request: str) -> None:
        before = self._active()

        def write() -> None:
            if before is not None and before != canvas:
                self.mapping.run(self._clock())
                self.mapping.write(close(self.mapping.canvas(before), finished=True))
            self.tasks.begin(canvas, request, self._clock())

        self.guarded(write, "a task boundary")

    def _give_canvas(self, task_id: str | None) -> None:
        if task_id is None:
            return
        task = next(task for task in self.tasks if task.id == task_id)
        canvas = self.files.create(slug(task.request[:40] or task_id), task.request, stamp(self._clock()))
        self.tasks.give_canvas(task_id, canvas.file)

    def _remember(self, message: Message) -> None:
        if message.is_request and len(message.content) > 5 and not is_heartbeat_text(message.content):
            self._turns = [*self._turns[1 - TURNS :], f"[User]: {message.content[:TURN]}"]
        elif message.role == "assistant" and len(message.content) > 10 and self._turns:
            turn = self._turns[-1]
            if turn.count("\n[Assistant]") < REPLIES:
                self._turns[-1] = f"{turn}\n[Assistant]: {message.content[:TURN]}"

    def _context(self) -> str:
        return "\n".join(self._turns)
