"""Runs one host process under a time and an output limit and leaves nothing of its group behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO

from harness.errors import EnvironmentFailed
from harness.types import Ran

CHUNK = 65_536
GRACE = 2.0  # seconds for the output of a killed process to drain


def run_limited(
    command: Sequence[str], *, folder: str, environment: Mapping[str, str], seconds: float, output: int
) -> Ran:
    """Run ``command`` in a process group of its own; stdout and stderr come as one text, stdin is empty.

    When ``seconds`` are over the whole group is killed and ``code`` is None. Of an output longer than ``output``
    characters the first and the last half are kept. Raises ``EnvironmentFailed`` when it cannot be started.
    """
    begun = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise EnvironmentFailed(f"cannot start {command[0]}: {error}") from error
    assert process.stdout is not None
    kept = _Kept(output)
    reader = threading.Thread(target=kept.drain, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        code: int | None = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        code = None
    kill_group(process.pid)  # also after a normal end: what it left in the background dies with it
    process.wait()
    reader.join(GRACE)
    text, cut = kept.text()
    return Ran(code, text, round(time.monotonic() - begun, 4), cut)


def kill_group(leader: int) -> None:
    """Kill every process of the group; a group that is gone is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
        os.killpg(leader, signal.SIGKILL)


class _Kept:
    """The first and the last half of a byte stream; never holds more than twice the limit."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0
        self._lock = threading.Lock()

    def drain(self, stream: IO[bytes]) -> None:
        """Read until the end of the stream."""
        with stream:
            while chunk := os.read(stream.fileno(), CHUNK):
                with self._lock:
                    self._add(chunk)

    def _add(self, chunk: bytes) -> None:
        self._seen += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(room, 0) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def text(self) -> tuple[str, int]:
        """What was kept, with a line in place of the cut middle, and the bytes that were cut."""
        with self._lock:
            tail = bytes(self._tail[-self._half :])
            cut = self._seen - len(self._head) - len(tail)
            head = self._head.decode(errors="backslashreplace")
            end = tail.decode(errors="backslashreplace")
        if cut <= 0:
            return bytes(self._head + tail).decode(errors="backslashreplace"), 0
        return f"{head}\n[... {cut} bytes of output left out ...]\n{end}", cut
