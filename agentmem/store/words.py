"""The keyword index: which rows hold a token, and how often. One contentless FTS5 table a level.

A token carries the number of its scope, so that no query can touch, count or time the words of another scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentmem.store import meta
from agentmem.store.records import LEVELS, Level
from agentmem.store.rows import TABLE
from agentmem.text.keywords import SCHEME, Term, index_tokens

if TYPE_CHECKING:
    import apsw

Rows = NDArray[np.int64]
SLICE = 2_000  # rows of one transaction while an index is built anew
PAGES = 500  # of one transaction while segments are merged
_TOP = "\U0010ffff"


def create(connection: apsw.Connection) -> None:
    """Make the index of each level that has none."""
    for level in LEVELS:
        if meta.get(connection, f"words:{level}") is None:
            _make(connection, level, f"{level}_words_1")
            meta.put(connection, f"words:{level}", f"{level}_words_1")
            meta.put(connection, f"scheme:{level}", SCHEME)


def add(connection: apsw.Connection, level: Level, scope: int, rows: Iterable[tuple[int, Sequence[str]]]) -> None:
    """Index the tokens of new rows, given as (seq, tokens)."""
    connection.executemany(
        f"INSERT INTO {current(connection, level)}(rowid, words) VALUES (?, ?)",
        ((seq, _scoped(scope, tokens)) for seq, tokens in rows),
    )


def remove(connection: apsw.Connection, level: Level, seqs: Sequence[int]) -> None:
    """Take rows out, also of an index that is being built."""
    for table in _tables(connection, level):
        connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((seq,) for seq in seqs))


def postings(connection: apsw.Connection, table: str, scope: int, term: Term) -> tuple[Rows, NDArray[np.float32]]:
    """The rows of an index that hold a term, ascending, and how often each does (a phrase counts once)."""
    if term.kind == "phrase":
        wanted = '"' + " ".join(f"s{scope}x{token}" for token in term.tokens) + '"'
        found = connection.execute(f"SELECT group_concat(rowid) FROM {table} WHERE {table} MATCH ?", (wanted,)).get
    elif term.kind == "word":
        wanted = f"s{scope}x{term.tokens[0]}"
        found = connection.execute(f"SELECT group_concat(doc) FROM temp.{table}_at WHERE term = ?", (wanted,)).get
    else:
        start = f"s{scope}x{term.tokens[0]}"
        found = connection.execute(
            f"SELECT group_concat(doc) FROM temp.{table}_at WHERE term >= ? AND term < ?", (start, start + _TOP)
        ).get
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    docs = np.fromstring(found, dtype=np.int64, sep=",")
    if term.kind == "prefix":  # several tokens, each in order of rows
        docs.sort()
    starts = np.flatnonzero(np.concatenate([[True], docs[1:] != docs[:-1]]))
    return docs[starts], np.diff(starts, append=len(docs)).astype(np.float32)


def count_of_scope(connection: apsw.Connection, level: Level, scope: int) -> int:
    """Number of indexed rows of a scope, whether or not their rows exist."""
    start = f"s{scope}x"
    total = 0
    for table in _tables(connection, level):
        total += connection.execute(
            f"SELECT count(DISTINCT doc) FROM temp.{table}_at WHERE term >= ? AND term < ?", (start, start + _TOP)
        ).get
    return total


def orphans(connection: apsw.Connection, level: Level) -> int:
    """Number of indexed rows of any scope that do not exist."""
    total = 0
    for table in _tables(connection, level):
        total += connection.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT doc FROM temp.{table}_at) "
            f"WHERE doc NOT IN (SELECT seq FROM {TABLE[level]})"
        ).get
    return total


def merge(connection: apsw.Connection, level: Level, first: bool) -> bool:
    """One step of merging all segments into one, so that words of removed rows are gone; True while more is left.

    FTS5 wants a negative number of pages for the first step and a positive one for the others.
    """
    more = False
    for table in _tables(connection, level):
        before = connection.total_changes()
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (-PAGES if first else PAGES,))
        more |= connection.total_changes() - before >= 2
    return more


def stale(connection: apsw.Connection) -> list[Level]:
    """Levels whose index was cut by another scheme than this version's, or whose rebuilding was interrupted."""
    return [
        level
        for level in LEVELS
        if meta.get(connection, f"scheme:{level}") != SCHEME or meta.get(connection, f"building:{level}")
    ]


def begin_rebuild(connection: apsw.Connection, level: Level) -> None:
    """Make the table that will replace the index of a level, or go on with one whose building was interrupted."""
    if meta.get(connection, f"building:{level}") is None:
        number = int(current(connection, level).rsplit("_", 1)[1]) + 1
        _make(connection, level, f"{level}_words_{number}")
        meta.put(connection, f"building:{level}", f"{level}_words_{number}")
        meta.put(connection, f"built:{level}", "0")


def rebuild_slice(connection: apsw.Connection, level: Level) -> bool:
    """Index the next slice of rows; the last one, found empty, puts the new index in place. True while more is left."""
    building = meta.get(connection, f"building:{level}")
    if building is None:
        return False  # another process was faster
    done = int(meta.get(connection, f"built:{level}") or 0)
    live = "AND superseded_by IS NULL" if level == "atom" else ""
    rows: list[Any] = connection.execute(
        f"SELECT seq, scope, content FROM {TABLE[level]} WHERE seq > ? {live} ORDER BY seq LIMIT ?", (done, SLICE)
    ).fetchall()
    if rows:
        attach(connection, [building])
        connection.executemany(
            f"INSERT INTO {building}(rowid, words) VALUES (?, ?)",
            ((seq, _scoped(scope, index_tokens(content))) for seq, scope, content in rows),
        )
        meta.put(connection, f"built:{level}", str(rows[-1][0]))
        return True
    old = current(connection, level)
    meta.put(connection, f"words:{level}", building)
    meta.put(connection, f"scheme:{level}", SCHEME)
    meta.put(connection, f"building:{level}", None)
    connection.execute(f"DROP TABLE IF EXISTS temp.{old}_at")
    connection.execute(f"DROP TABLE {old}")
    return False


def attach(connection: apsw.Connection, tables: Iterable[str]) -> None:
    """Make the temporary views of this connection that list where a term stands."""
    for table in tables:
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_at USING fts5vocab(main, {table}, instance)"
        )


def _make(connection: apsw.Connection, level: Level, table: str) -> None:
    # tokens are cut before they come here; 'ascii' only splits at the blanks between them
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5(words, content='', contentless_delete=1, tokenize='ascii')"
    )


def current(connection: apsw.Connection, level: Level) -> str:
    """The index table of a level, readable through this connection."""
    table = str(meta.get(connection, f"words:{level}"))
    attach(connection, [table])
    return table


def _tables(connection: apsw.Connection, level: Level) -> Iterator[str]:
    yield current(connection, level)
    building = meta.get(connection, f"building:{level}")
    if building:
        attach(connection, [building])
        yield building


def _scoped(scope: int, tokens: Sequence[str]) -> str:
    prefix = f"s{scope}x"
    return " ".join([prefix + token for token in tokens])
