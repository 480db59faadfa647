"""The tables of the one SQLite file, and the steps that bring an older file up to date.

A row's text stands once, in its table; the keyword indexes are contentless and keep words only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agentmem.errors import SchemaTooNew, StoreError

if TYPE_CHECKING:
    import apsw

APPLICATION = 0x61676D6D  # "agmm"; SQLite keeps it in the header of the file
PAGE = 8192  # bytes; four int8 vectors of 1,024 dimensions share a page

_FIRST = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE scopes(
    id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL, agent TEXT NOT NULL, team TEXT NOT NULL,
    UNIQUE(user, agent, team));
CREATE TABLE embedders(
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dimensions INTEGER NOT NULL, UNIQUE(name, dimensions));
CREATE TABLE turns(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL,
    position INTEGER NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL, content TEXT NOT NULL, kind TEXT NOT NULL,
    timestamp INTEGER NOT NULL, offset INTEGER NOT NULL, refs TEXT, metadata TEXT, recorded INTEGER NOT NULL,
    words INTEGER NOT NULL, asks INTEGER NOT NULL, embedded INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX turns_id ON turns(scope, id);
CREATE INDEX turns_place ON turns(scope, session, position);
CREATE INDEX turns_embedded ON turns(embedded);
CREATE TABLE atoms(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
    content TEXT NOT NULL, priority INTEGER NOT NULL, scene TEXT NOT NULL, session TEXT NOT NULL, sources TEXT NOT NULL,
    metadata TEXT, timestamps TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL,
    superseded_by TEXT, change INTEGER NOT NULL, words INTEGER NOT NULL, embedded INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX atoms_id ON atoms(scope, id);
CREATE INDEX atoms_change ON atoms(scope, change);
CREATE INDEX atoms_embedded ON atoms(embedded);
CREATE TABLE links(
    scope INTEGER NOT NULL, turn TEXT NOT NULL, atom INTEGER NOT NULL, PRIMARY KEY(scope, turn, atom)) WITHOUT ROWID;
CREATE TABLE vectors(
    level TEXT NOT NULL, scope INTEGER NOT NULL, seq INTEGER NOT NULL, embedder INTEGER NOT NULL, packed BLOB NOT NULL,
    PRIMARY KEY(level, scope, seq)) WITHOUT ROWID;
CREATE TABLE stamps(
    level TEXT NOT NULL, scope INTEGER NOT NULL, added INTEGER NOT NULL DEFAULT 0, removed INTEGER NOT NULL DEFAULT 0,
    vectors INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(level, scope)) WITHOUT ROWID;
"""


def _first(connection: apsw.Connection) -> None:
    connection.execute(_FIRST)


MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (_first,)
"""``MIGRATIONS[n]`` brings a file of version n to n + 1."""

VERSION = len(MIGRATIONS)


def version(connection: apsw.Connection) -> int:
    """The schema version of the file; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def check(connection: apsw.Connection, path: str) -> None:
    """Raises ``SchemaTooNew`` for a file of a newer version, ``StoreError`` for another program's database."""
    found = version(connection)
    if found > VERSION:
        raise SchemaTooNew(f"{path} has schema {found}, this version reads up to {VERSION}: update agentmem-bench")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and connection.pragma("application_id") != APPLICATION:
        raise StoreError(f"{path} is a database of another program: name a new file or one of this package")


def migrate(connection: apsw.Connection) -> None:
    """Bring the file to ``VERSION``, each step in one transaction with its number; several processes may try."""
    while version(connection) < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            at = version(connection)  # another process may have been faster
            if at < VERSION:
                MIGRATIONS[at](connection)
                connection.pragma("application_id", APPLICATION)
                connection.pragma("user_version", at + 1)
        except BaseException:  # whatever it was: roll back, and let it go on
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
