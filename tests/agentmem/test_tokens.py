"""Counts are exact, need no network, survive any text and are made once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from agentmem.errors import TokenizerError
from agentmem.messages import Message, ToolCall
from agentmem.tokens import ENCODINGS, PIECE, TokenCounter, encoding, pieces


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every attempt to open a connection fails the test."""

    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_encodings_load_offline_and_are_the_real_ones(name: str) -> None:
    assert encoding(name).name == name
    # figures of the originals: n_vocab with special tokens
    assert encoding(name).n_vocab == {"o200k_base": 200_019, "cl100k_base": 100_277}[name]
    assert isinstance(encoding(name), tiktoken.Encoding)


def test_a_special_token_in_a_log_is_ordinary_text() -> None:
    assert TokenCounter().text("<|endoftext|>") == len(
        encoding("o200k_base").encode("<|endoftext|>", disallowed_special=())
    )


@pytest.mark.parametrize(
    "text", [" " * 1_000_000, "\t" * 300_000, "\u3000" * 300_000, "x" * 2_000_000, "\ud83d", "\x00"]
)
def test_texts_that_break_other_counters_are_counted(text: str) -> None:
    assert TokenCounter().text(text) > 0


@given(st.text(alphabet=st.characters(), max_size=500))
def test_short_texts_are_counted_exactly(text: str) -> None:
    sent = text.encode("utf-8", "replace").decode()
    assert TokenCounter().text(text) == len(encoding("o200k_base").encode_ordinary(sent))


@given(st.text(alphabet="ab\n", min_size=0, max_size=40), st.integers(0, 4))
def test_pieces_are_short_and_join_to_the_text(text: str, times: int) -> None:
    long = text * (times * PIECE // max(1, len(text)))
    parts = list(pieces(long))
    assert "".join(parts) == long
    assert all(len(part) <= PIECE for part in parts)


def test_a_message_counts_its_calls_and_four_more() -> None:
    counter = TokenCounter()
    call = ToolCall("c1", "bash", '{"command": "ls"}')
    plain, calling = Message("assistant", "I look."), Message("assistant", "I look.", (call,))
    assert counter.message(plain) == counter.text("I look.") + 4
    json_text = (
        '[{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}}]'
    )
    assert counter.message(calling) == counter.text("I look." + json_text) + 4


def test_counts_outlive_the_process_and_are_not_made_again(tmp_path: Path) -> None:
    first = TokenCounter("o200k_base", tmp_path)
    first.prime([Message("user", "one two three")])
    first.close()
    second = TokenCounter("o200k_base", tmp_path)
    second._count = None  # type: ignore[method-assign, assignment]  # counting again would fail
    assert second.text("one two three") == first.text("one two three")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    counter = TokenCounter("o200k_base", tmp_path / "file" / "below")
    assert counter.text("a") == 1
    counter.close()


def test_an_unknown_tokenizer_names_the_known_ones() -> None:
    with pytest.raises(TokenizerError, match="'gpt9': expected one of cl100k_base, o200k_base"):
        TokenCounter("gpt9")
