"""``full``: nothing is done until the window is full; then the oldest whole step goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from agentmem.messages import Message
from harness.engines.base import Engine, Parameters, Working
from harness.protocols import EngineContext


class FullParameters(Parameters):
    """Parameters of ``full``."""

    fill: float = Field(0.95, gt=0, le=1)
    """Share of the window that the prompt may fill."""


class Full(Engine):
    """Plain accumulation in a window."""

    name = "full"
    Parameters: ClassVar[type[BaseModel]] = FullParameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self.working = Working(context.counter)

    def observe(self, message: Message) -> None:
        """Take the message in."""
        self.working.add(message)

    def assemble(self, history: Sequence[Message]) -> Sequence[Message]:
        """The history, without its oldest steps where it would not fit."""
        self.working.shrink(self.parameters.fill * self.context.window)
        return list(self.working.messages)
