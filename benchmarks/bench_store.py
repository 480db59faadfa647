"""Speed and size of the long-term store: capture, recall at 10 k and 100 k rows, bytes on disk.

    pytest benchmarks/bench_store.py --benchmark-only          (about two minutes on a free core)

Rows are sentences of 8 to 30 made words with the frequencies of English; vectors are random, which is the hardest
case for nothing but the disk. The figures of docs/recall.md come from here.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.local import LocalEmbedder, available
from agentmem.embed.protocol import Embedder, Vectors
from agentmem.llm.protocol import Attempt
from agentmem.longterm.recall import Recaller
from agentmem.settings.longterm import Recall
from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn

ANA = Scope("ana")
DIMENSIONS = 384
WORDS = [f"w{number}x" for number in range(20_000)]
WEIGHTS = [1 / (rank + 10) for rank in range(len(WORDS))]


def sentences(count: int, seed: int = 1) -> list[str]:
    """Texts whose words are as frequent as those of a language (Zipf)."""
    chance = random.Random(seed)
    words = iter(chance.choices(WORDS, WEIGHTS, k=count * 30))
    return [" ".join(itertools.islice(words, chance.randint(8, 30))) for _ in range(count)]


def turns(texts: list[str], start: int = 0) -> list[Turn]:
    """Sessions of 20 turns."""
    return [
        Turn(f"t{start + i}", f"s{(start + i) // 20}", "user", text, 1_700_000_000_000 + i, "Ana" if i % 2 else "Ben")
        for i, text in enumerate(texts)
    ]


def filled(path: Path, rows: int) -> Store:
    """Turns and atoms, half and half, each with a vector."""
    store = Store(path)
    store.use_embedder("random", DIMENSIONS)
    generator = np.random.default_rng(0)
    texts = sentences(rows)
    for start in range(0, rows // 2, 1_000):
        store.add_turns(ANA, turns(texts[start : start + 1_000], start))
        atoms = [Atom(f"a{start + i}", "episodic", text) for i, text in enumerate(texts[-start - 1_000 :][:1_000])]
        store.put_atoms(ANA, atoms)
    for level in ("turn", "atom"):
        while pending := store.pending(level, 5_000):
            vectors = generator.standard_normal((len(pending), DIMENSIONS)).astype(np.float32)
            store.put_vectors(level, [row.seq for row in pending], vectors)
    return store


@pytest.fixture(scope="module", params=[10_000, 100_000], ids=["10k", "100k"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """All rows are turns of one scope: the worst case for a search."""
    path = tmp_path_factory.mktemp("store") / "memory.db"
    store = Store(path)
    store.use_embedder("random", DIMENSIONS)
    texts = sentences(request.param)
    for start in range(0, request.param, 1_000):
        store.add_turns(ANA, turns(texts[start : start + 1_000], start))
    generator = np.random.default_rng(0)
    while pending := store.pending("turn", 5_000):
        vectors = generator.standard_normal((len(pending), DIMENSIONS)).astype(np.float32)
        store.put_vectors("turn", [row.seq for row in pending], vectors)
    yield store
    store.close()


def queries() -> Callable[[], str]:
    """Another question each time: eight words, one of them a name."""
    texts = itertools.cycle(sentences(500, seed=2))
    return lambda: "When did Ana " + " ".join(next(texts).split()[:5]) + "?"


def test_capture_in_sessions(benchmark: Any, tmp_path: Path) -> None:
    """Rows a second = 20 / mean: sessions of 20 turns, one transaction each, no embedding."""
    store = Store(tmp_path / "memory.db")
    numbers = itertools.count()
    texts = sentences(40_000)

    def session() -> tuple[tuple[Scope, list[Turn]], dict[str, Any]]:
        start = next(numbers) * 20
        return (ANA, turns(texts[start % 39_000 :][:20], start)), {}

    benchmark.extra_info["rows"] = 20
    benchmark.pedantic(store.add_turns, setup=session, rounds=400, warmup_rounds=5)
    store.close()


def test_capture_turn_by_turn(benchmark: Any, tmp_path: Path) -> None:
    """Rows a second = 2 / mean: a message and its answer, one transaction each."""
    store = Store(tmp_path / "memory.db")
    numbers = itertools.count()
    texts = sentences(10_000)

    def pair() -> tuple[tuple[Scope, list[Turn]], dict[str, Any]]:
        start = next(numbers) * 2
        return (ANA, turns(texts[start % 9_000 :][:2], start)), {}

    benchmark.extra_info["rows"] = 2
    benchmark.pedantic(store.add_turns, setup=pair, rounds=1_000, warmup_rounds=5)
    store.close()


def test_keyword_search(benchmark: Any, large: Store) -> None:
    """The keyword side alone."""
    ask = queries()
    benchmark(lambda: large.search_text(ANA, "turn", ask(), 10))


def test_vector_search(benchmark: Any, large: Store) -> None:
    """The vector side alone, numpy."""
    generator = np.random.default_rng(3)
    benchmark(lambda: large.search_vector(ANA, "turn", generator.standard_normal(DIMENSIONS).astype(np.float32), 10))


def test_vector_search_by_sqlite_vec(benchmark: Any, large: Store) -> None:
    """The vector side alone, sqlite-vec, as used for scopes that do not fit in memory."""
    path = large.status().path
    other = Store(path, vectors="sqlite-vec")
    generator = np.random.default_rng(3)
    query = generator.standard_normal(DIMENSIONS).astype(np.float32)
    benchmark.pedantic(lambda: other.search_vector(ANA, "turn", query, 10), rounds=5)
    other.close()


def test_vector_search_in_a_vec0_table(benchmark: Any, large: Store, tmp_path: Path) -> None:
    """Control: the same vectors in sqlite-vec's own table, which the store does not use."""
    import apsw
    import sqlite_vec

    rows = large.status().turns
    connection = apsw.Connection(str(tmp_path / "vec0.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.pragma("journal_mode", "wal")
    connection.execute(
        "CREATE VIRTUAL TABLE v USING vec0(scope INTEGER PARTITION KEY, "
        f"embedding FLOAT[{DIMENSIONS}] distance_metric=cosine)"
    )
    vectors = np.random.default_rng(0).standard_normal((rows, DIMENSIONS)).astype(np.float32)
    with connection:
        connection.executemany(
            "INSERT INTO v(rowid, scope, embedding) VALUES (?, 1, ?)", ((i, vectors[i].tobytes()) for i in range(rows))
        )
    query = vectors[7].tobytes()
    search = "SELECT rowid FROM v WHERE scope = 1 AND embedding MATCH ? AND k = 10"
    benchmark.pedantic(lambda: connection.execute(search, (query,)).fetchall(), rounds=5)
    connection.close()


def test_conversation_search(benchmark: Any, large: Store) -> None:
    """The whole of ``conversation_search``: query embedded, both sides, all signals, rows fetched."""
    ask = queries()
    search = Recaller(large, Recall(), Stretched())
    search.search_conversations(ANA, ask())
    benchmark(lambda: search.search_conversations(ANA, ask(), 10))


def test_bytes_on_disk(large: Store, benchmark: Any) -> None:
    """Megabytes in ``extra_info``."""
    status = benchmark.pedantic(large.status, rounds=1)
    benchmark.extra_info["megabytes"] = round(status.bytes / 1e6, 1)
    benchmark.extra_info["rows"] = status.turns


def test_recall_of_atoms(benchmark: Any, tmp_path: Path) -> None:
    """What runs before every prompt, at 10 k rows: half turns, half atoms."""
    store = filled(tmp_path / "memory.db", 10_000)
    ask = queries()
    recaller = Recaller(store, Recall(score_threshold=0), Stretched())
    recaller.recall(ANA, ask())
    benchmark(lambda: recaller.recall(ANA, ask()))
    store.close()


class Stretched:
    """The local embedder (else hashing) with its vectors cut to the dimensions of the rows: its time is what counts."""

    name, dimensions = "random", DIMENSIONS

    def __init__(self) -> None:
        self._inner: Embedder = LocalEmbedder() if available() else HashingEmbedder()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """First ``DIMENSIONS`` parts of each vector."""
        return self._inner.embed(texts)[:, :DIMENSIONS]

    def spent(self) -> list[Attempt]:
        """Nothing."""
        return []
