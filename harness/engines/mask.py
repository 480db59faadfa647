"""``mask``: the newest tool outputs whole, older ones a placeholder; then as ``full`` (arXiv 2508.21433)."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from pydantic import Field

from agentmem.messages import Message
from harness.engines.full import Full, FullParameters
from harness.protocols import EngineContext

PLACEHOLDER = "[This output of an earlier tool call was left out to save space. Run the command again if needed.]"


class MaskParameters(FullParameters):
    """Parameters of ``mask``."""

    last: int = Field(10, ge=1)
    """How many of the newest tool outputs stay whole."""


class Mask(Full):
    """Observation masking."""

    name = "mask"
    Parameters = MaskParameters

    def __init__(self, parameters: Any, context: EngineContext) -> None:
        super().__init__(parameters, context)
        self._whole: deque[int] = deque()
        self._seen = 0

    def observe(self, message: Message) -> None:
        """Take the message in; a new output may make an older one a placeholder."""
        super().observe(message)
        self._seen += 1
        if not message.is_result:
            return
        self._whole.append(self._seen)
        if len(self._whole) > self.parameters.last:
            # steps are only dropped in front, so the distance from the end still finds the message
            self._mask(len(self.working.messages) - 1 - (self._seen - self._whole.popleft()))

    def _mask(self, index: int) -> None:
        message = self.working.messages[index] if index > 0 else None
        if message is not None and message.is_result:
            self.working.replace(index, replace(message, content=PLACEHOLDER, raw=None))
