"""BM25 over a frame: rows by themselves, and whole sessions as if each were one text.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the inverse document
frequency log(1 + (N - n + 0.5) / (n + 0.5)), which is never negative. N and n count the rows of the scope only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agentmem.store import words
from agentmem.store.frames import Frame
from agentmem.text.keywords import Term

if TYPE_CHECKING:
    import apsw

K1 = 1.2
B = 0.3  # a turn of a conversation is short anyway; the usual 0.75 favours greetings


@dataclass(frozen=True, slots=True)
class Match:
    """Where a term stands: places in the frame, ascending, and how often in each."""

    term: Term
    places: NDArray[np.int64]
    times: NDArray[np.float32]


def matches(connection: apsw.Connection, frame: Frame, terms: Sequence[Term]) -> list[Match]:
    """The terms that occur in the frame, and where."""
    found = []
    table = words.current(connection, frame.level)
    for term in terms:
        seqs, times = words.postings(connection, table, frame.scope, term)
        places, here = frame.rows_of(seqs)
        if here.any():
            found.append(Match(term, places[here], times[here]))
    return found


def row_scores(frame: Frame, found: Sequence[Match]) -> NDArray[np.float32]:
    """BM25 of every row, shape (rows,); 0 where no term occurs."""
    scores = np.zeros(len(frame), np.float32)
    if not found:
        return scores
    norm = _norm(frame.words)
    for match in found:
        idf = _idf(len(frame), len(match.places))
        scores[match.places] += idf * match.times * (K1 + 1) / (match.times + norm[match.places])
    return scores


def session_scores(frame: Frame, found: Sequence[Match]) -> NDArray[np.float32]:
    """BM25 of every session taken as one text, shape (sessions,)."""
    count = len(frame.session.names)
    scores = np.zeros(count, np.float32)
    if not found:
        return scores
    codes = frame.session.codes
    norm = _norm(np.bincount(codes, weights=frame.words, minlength=count).astype(np.float32))
    for match in found:
        times = np.bincount(codes[match.places], weights=match.times, minlength=count).astype(np.float32)
        idf = _idf(count, int(np.count_nonzero(times)))
        scores += idf * times * (K1 + 1) / (times + norm)
    return scores


def _norm(lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    mean = float(lengths.mean()) if len(lengths) else 0.0
    return (K1 * (1 - B + B * lengths / max(mean, 1e-9))).astype(np.float32)


def _idf(rows: int, holding: int) -> np.float32:
    return np.float32(np.log1p((rows - holding + 0.5) / (holding + 0.5)))
