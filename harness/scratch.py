"""Folders for what a replay writes and nobody keeps: in memory where the system has such a place, else on disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 512 << 20  # bytes that must be free there; a container may have been given 64 MB


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A fresh folder that goes away with its context. A replay writes thousands of small files into it."""
    return tempfile.TemporaryDirectory(prefix="agentmem-", dir=_memory())


def _memory() -> str | None:
    if os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
        return str(MEMORY)
    return None
