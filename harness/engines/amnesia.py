"""``amnesia``: a test double that loses evidence on purpose. A benchmark that it passes measures nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from agentmem.messages import Message
from harness.engines.full import Full, FullParameters
from harness.protocols import EngineContext

GONE = "[gone]"


class AmnesiaParameters(FullParameters):
    """Parameters of ``amnesia``."""

    last: int = Field(2, ge=1)
    """How many of the newest tool outputs it still has."""


class Amnesia(Full):
    """Test double: older tool outputs are gone without a pointer, and what came before a task is gone as a whole."""

    name = "amnesia"
    Parameters: ClassVar[type[BaseModel]] = AmnesiaParameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self._kept: deque[Message] = deque()

    def begin_task(self, task: str) -> None:
        """Forget everything but the system message."""
        self.working.clear()
        self._kept.clear()

    def observe(self, message: Message) -> None:
        """Take the message in; when it is a result, lose the oldest one that was left."""
        super().observe(message)
        if message.is_result:
            self._kept.append(message)
            if len(self._kept) > self.parameters.last:
                self._lose(self._kept.popleft())

    def _lose(self, message: Message) -> None:
        index = next((i for i, kept in enumerate(self.working.messages) if kept is message), None)
        if index is not None:
            self.working.replace(index, replace(message, content=GONE, raw=None))
