"""One process a session: a lock that the system releases when its holder dies."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from agentmem.errors import SessionLocked

NAME = "lock"


class SessionLock:
    """Holds ``folder``/lock until ``release`` or the end of the process.

    Raises ``SessionLocked`` at once when somebody else, also another object of this process, holds it.
    """

    def __init__(self, folder: Path) -> None:
        import fcntl  # not on Windows, where the package does not run

        folder.mkdir(parents=True, exist_ok=True)
        self._handle: int | None = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._handle, 20).decode("ascii", "replace").strip() or "unknown"
            self.release()
            raise SessionLocked(
                f"session {folder.name!r} is in use by process {holder}; end it, or choose another session"
            ) from error
        os.ftruncate(self._handle, 0)
        os.write(self._handle, str(os.getpid()).encode("ascii"))

    def release(self) -> None:
        """Give the lock back; the second time does nothing. The file stays, so that nobody locks a ghost."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> SessionLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
