"""Keeps vectors by the content of their text, in memory and, if wanted, in a file that outlives the process."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from agentmem.embed.protocol import Embedder, Vectors
from agentmem.llm.protocol import Attempt

if TYPE_CHECKING:
    import apsw

KEPT = 4_096  # vectors in memory
ASKED_AT_ONCE = 500  # keys of one statement


class CachedEmbedder:
    """Asks ``inner`` only for texts it has not seen. ``path`` names the file; a cache that fails is only slower."""

    def __init__(self, inner: Embedder, path: Path | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimensions = inner.dimensions
        self.hits = 0
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._file = _open(path) if path else None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``. When ``inner`` fails, nothing is kept of the call."""
        keys = [self._key(text) for text in texts]
        known = self._look_up(list(dict.fromkeys(keys)))
        self.hits += sum(key in known for key in keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = self.inner.embed(list(missing.values()))
            known.update(zip(missing, fresh, strict=True))
            self._keep(dict(zip(missing, fresh, strict=True)))
        if not keys:
            return np.zeros((0, self.dimensions), np.float32)
        return np.stack([known[key] for key in keys])

    def spent(self) -> list[Attempt]:
        """What ``inner`` spent."""
        return self.inner.spent()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]

    def _look_up(self, keys: list[bytes]) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key]
            rest = [key for key in keys if key not in found]
            for start in range(0, len(rest) if self._file else 0, ASKED_AT_ONCE):
                part = rest[start : start + ASKED_AT_ONCE]
                assert self._file is not None
                marks = ",".join("?" * len(part))
                for key, blob in self._file.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part):
                    found[key] = np.frombuffer(blob, np.float32)
        return found

    def _keep(self, fresh: dict[bytes, Vectors]) -> None:
        import apsw

        with self._lock:
            self._kept.update(fresh)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            if self._file is not None:
                rows = [(key, np.asarray(vector, np.float32).tobytes()) for key, vector in fresh.items()]
                try:
                    with self._file:
                        self._file.executemany("INSERT OR IGNORE INTO vectors(key, vector) VALUES (?, ?)", rows)
                except (apsw.BusyError, apsw.FullError, apsw.ReadOnlyError):
                    return  # a cache that cannot be written is only slower


def _open(path: Path) -> apsw.Connection:
    import apsw

    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(5_000)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "OFF")
    connection.execute("CREATE TABLE IF NOT EXISTS vectors(key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
    return connection
