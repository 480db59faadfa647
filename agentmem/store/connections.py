"""Connections to the file: one writer, as many readers as threads need, and nested transactions.

Readers see the last commit (WAL); a thread inside a transaction reads its own writes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.errors import StoreError
from agentmem.store import schema

if TYPE_CHECKING:
    import apsw

WAIT = 10_000  # ms a connection waits for another process's transaction


class Connections:
    """The connections of one store.

    ``synchronous`` is SQLite's: NORMAL survives a killed process, FULL also a power cut.
    """

    def __init__(self, path: Path, load: Callable[[apsw.Connection], None], synchronous: str = "NORMAL") -> None:
        if str(path) == ":memory:":
            raise StoreError("a store is a file: give a path, not ':memory:'")
        self.path = path
        self._load = load
        self._synchronous = synchronous
        self._idle: deque[apsw.Connection] = deque()
        self._lock = threading.RLock()
        self._depth = 0
        self._owner: int | None = None
        self._after: list[Callable[[], None]] = []
        self._closed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = self._open()
        try:
            with self._named_errors():
                schema.check(self._writer, str(path))
                self._writer.pragma("journal_mode", "wal")
                schema.migrate(self._writer)
        except BaseException:  # whatever it was: close, and let it go on
            self._writer.close()
            raise

    @property
    def inside(self) -> bool:
        """True for the thread that has a transaction under way."""
        return self._owner == threading.get_ident()

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The writer inside a transaction; the outermost block commits.

        A nested block that raises undoes its own writes only.
        """
        with self._lock, self._named_errors():
            self._check_open()
            if self._depth:
                with self._nested():
                    yield self._writer
                return
            self._writer.execute("BEGIN IMMEDIATE")
            self._owner, self._depth = threading.get_ident(), 1
            try:
                yield self._writer
                self._writer.execute("COMMIT")
                actions = self._after
            except BaseException:  # whatever it was: roll back, and let it go on
                if self._writer.in_transaction:  # a full disk makes SQLite roll back by itself
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._owner, self._depth, self._after = None, 0, []
            for action in actions:
                action()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection to read one snapshot with; within one's own transaction, the writer."""
        if self.inside:
            yield self._writer
            return
        self._check_open()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open()
        try:
            with self._named_errors():
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.execute("COMMIT")
        finally:
            if self._closed:
                connection.close()
            else:
                self._idle.append(connection)

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run it when the transaction under way is committed, never when it is rolled back."""
        self._after.append(action)

    def truncate_log(self) -> None:
        """Move every page of the WAL into the file and empty it. Raises ``StoreError`` while other readers hold it."""
        with self._lock:
            self._check_open()
            if self._depth:
                raise StoreError("the log cannot be emptied inside a transaction")
            row = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if row is None or row[0]:
                raise StoreError(f"the log of {self.path} is in use by another process: try again")

    def size(self) -> int:
        """Bytes on disk, log included."""
        files = (Path(f"{self.path}{suffix}") for suffix in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close every connection; readers in use close when they are given back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            self._writer.close()

    @contextmanager
    def _nested(self) -> Iterator[None]:
        name, mark = f"nested{self._depth}", len(self._after)
        self._writer.execute(f"SAVEPOINT {name}")
        self._depth += 1
        try:
            yield
        except BaseException:  # whatever it was: roll back, and let it go on
            if self._writer.in_transaction:
                self._writer.execute(f"ROLLBACK TO {name}")
                self._writer.execute(f"RELEASE {name}")
            del self._after[mark:]
            raise
        else:
            self._writer.execute(f"RELEASE {name}")
        finally:
            self._depth -= 1

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """SQLite's errors (disk full, file locked for too long, damaged pages) as ``StoreError`` naming the file."""
        import apsw

        try:
            yield
        except apsw.Error as error:
            raise StoreError(f"{self.path}: {type(error).__name__}: {error}") from error

    def _open(self) -> apsw.Connection:
        import apsw

        try:
            connection = apsw.Connection(str(self.path))
            connection.set_busy_timeout(WAIT)
            connection.pragma("page_size", schema.PAGE)  # of a new file
            connection.pragma("synchronous", self._synchronous)
            connection.pragma("mmap_size", 1 << 28)
            connection.pragma("cache_size", -16_384)
            connection.pragma("secure_delete", True)
        except apsw.NotADBError as error:
            raise StoreError(f"{self.path} is not a SQLite file: name a new file or one of this package") from error
        except apsw.CantOpenError as error:
            raise StoreError(f"cannot open {self.path}: check that its folder can be written") from error
        self._load(connection)
        return connection

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the store {self.path} is closed")
