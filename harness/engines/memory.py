"""``agentmem``: the short-term memory of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentmem.messages import Message, ToolCall
from agentmem.offload.drilldown import openai_tools
from agentmem.offload.shortterm import ShortTerm
from agentmem.settings.shortterm import ShortTermSettings
from harness.engines.base import Engine
from harness.protocols import EngineContext


class AgentMem(Engine):
    """Our policy at our defaults."""

    name = "agentmem"
    Parameters = ShortTermSettings

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self.memory = ShortTerm(
            parameters, context.folder, context.counter, context.window, clock=context.clock, durable=False
        )

    def begin_task(self, task: str) -> None:
        """A task boundary, as told."""
        self.memory.begin_task(task)

    def observe(self, message: Message) -> None:
        """Results go to disk here."""
        self.memory.observe(message)

    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """The prompt."""
        return self.memory.assemble()

    def evidence(self, ref: str) -> str:
        """The whole text behind a pointer."""
        return self.memory.store.get(ref)

    def overflow(self, tokens: int) -> None:
        """The window is smaller than it was said to be."""
        super().overflow(tokens)
        self.memory.narrow(self.context.window)

    def tools(self) -> list[dict[str, Any]]:
        """Reading back what left the prompt."""
        return openai_tools()

    def call(self, call: ToolCall) -> str:
        """A slice of what stands behind a pointer, or what is wrong with the call."""
        return self.memory.call(call)

    def close(self) -> None:
        """Write what is open and give the folder back."""
        self.memory.close()
