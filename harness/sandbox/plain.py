"""Commands as ordinary subprocesses: limits, but no isolation. Only for those who ask for it by name."""

from __future__ import annotations

import tempfile

from harness.sandbox.bubblewrap import limited
from harness.sandbox.process import run_limited
from harness.types import Ran, SandboxSpec


class Plain:
    """A subprocess in the work folder. The network is open, the host is visible, a double fork escapes."""

    isolation = "none"

    def __init__(self, spec: SandboxSpec) -> None:
        self.root = spec.work
        self._spec = spec
        self._home = tempfile.TemporaryDirectory(prefix="agentmem-home-")

    def run(self, command: str, seconds: float | None = None) -> Ran:
        """Run a bash command in the work folder, with the environment of the spec and no other variable."""
        own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self._home.name, "TMPDIR": self._home.name}
        return run_limited(
            ["bash", "-c", limited(command, self._spec.memory)],
            folder=self._spec.work,
            environment={**own, **self._spec.environment},
            seconds=self._spec.seconds if seconds is None else seconds,
            output=self._spec.output,
        )

    def close(self) -> None:
        """Remove the private home folder."""
        self._home.cleanup()
