"""``isolated``: the history is cleared at each task. Not a memory, but the floor every memory is measured against."""

from __future__ import annotations

from harness.engines.full import Full, FullParameters


class Isolated(Full):
    """Every task alone with the system message."""

    name = "isolated"
    Parameters = FullParameters

    def begin_task(self, task: str) -> None:
        """Forget everything but the system message."""
        self.working.clear()
