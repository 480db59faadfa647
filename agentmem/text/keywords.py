"""Cuts any text into the tokens of the keyword index, and any query into terms that find them.

Latin words are lower-cased, freed of accents and stemmed (Porter); runs of scripts without blanks become pairs of
characters on the index side, and words of a segmenter on the query side, which are one pair or a phrase of pairs.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from agentmem.text.scripts import RUN, UNSPACED, pairs
from agentmem.text.segment import Segmenter, segmenter
from agentmem.text.stopwords import ALL, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEME = "porter-pairs/1"  # changes when the same text would be cut otherwise; stored beside the index
MOST_TERMS = 64  # of a query
LONGEST = 64  # characters; longer runs (base64, hashes of files) are cut to this

_MARKS = "\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0962\u0963"  # combining marks that are parts of words
_WORD = re.compile(rf"[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{_MARKS}])*|[{UNSPACED}]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_COMPOUND = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[-_.'/@:+][a-z0-9]++)+")  # one try a word: long runs cost no more
_POSSESSIVE = re.compile(r"['’]s\b")
_LANGUAGE = re.compile(r"\b([a-z])(\+\+|#)(?![\w#+])")
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a query asks for: a token, a phrase of tokens in a row, or every token that begins with a character."""

    kind: Literal["word", "phrase", "prefix"]
    tokens: tuple[str, ...]


def index_tokens(text: str) -> list[str]:
    """The tokens of a text in order. Empty for a text without letters and digits."""
    folded = fold(text)
    if folded.isascii():
        return [stem(word) for word in _ASCII_WORD.findall(folded)]
    tokens: list[str] = []
    for word in _WORD.findall(folded):
        if RUN.match(word):
            tokens.extend(pairs(word))
        else:
            tokens.append(stem(word))
    return tokens


def query_terms(text: str, segment: Segmenter | None = None) -> list[Term]:
    """The distinct terms of a query, in order. Stop words are left out unless the query holds nothing else.

    A compound such as ``v2.0`` or ``multi-agent`` is a phrase beside its parts. Of a long text the ``MOST_TERMS``
    longest are kept: long words are rare words.
    """
    folded = _POSSESSIVE.sub(" ", fold(text))
    telling: dict[Term, None] = {}
    everything: dict[Term, None] = {}
    for word, term in _terms(folded, segment or segmenter()[1]):
        everything[term] = None
        if word not in ALL and not (len(word) == 1 and word.isascii() and word.isalpha()):
            telling[term] = None
    terms = list(telling or everything)
    if len(terms) <= MOST_TERMS:
        return terms
    longest = sorted(terms, key=lambda term: -sum(map(len, term.tokens)))[:MOST_TERMS]
    kept = set(longest)
    return [term for term in terms if term in kept]


def fold(text: str) -> str:
    """Lower case, compatibility forms folded (NFKC), accents removed, ``C++`` and ``C#`` made words of their own."""
    if text.isascii():
        return _spell(text.lower())
    plain = _spell(unicodedata.normalize("NFKC", text).lower())
    apart = unicodedata.normalize("NFD", plain)
    bare = "".join(c for c in apart if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The Porter stem of a word; words that are not plain Latin stay as they are."""
    word = word[:LONGEST]
    if not word.isascii() or len(word) < 3:
        return word
    with _lock:  # one connection serves all threads
        stems = _porter()(word.encode("ascii"))
    return stems[0] if stems else word


def _spell(text: str) -> str:
    if "#" in text or "++" in text:
        return _LANGUAGE.sub(lambda match: match[1] + ("sharp" if match[2] == "#" else "plusplus"), text)
    return text


def _terms(folded: str, segment: Segmenter) -> Iterator[tuple[str, Term]]:
    for compound in _COMPOUND.findall(folded):
        parts = _ASCII_WORD.findall(compound)
        if not all(part in ENGLISH for part in parts):
            yield compound, Term("phrase", tuple(map(stem, parts)))
    for word in _WORD.findall(folded):
        if not RUN.match(word):
            yield word, Term("word", (stem(word),))
            continue
        for piece in segment(word):
            yield piece, _unspaced(piece)


def _unspaced(word: str) -> Term:
    if len(word) == 1:
        return Term("prefix", (word,))
    tokens = tuple(pairs(word))[:-1]
    return Term("word" if len(tokens) == 1 else "phrase", tokens)


@cache
def _porter() -> Callable[[bytes], list[str]]:
    """SQLite's own Porter stemmer."""
    import apsw

    tokenizer = apsw.Connection(":memory:").fts5_tokenizer("porter", ["ascii"])

    def stems(word: bytes) -> list[str]:
        found = tokenizer(word, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return [str(token) for token in found]

    return stems
