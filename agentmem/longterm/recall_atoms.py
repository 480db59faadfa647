"""Ranks atoms for a question: keyword and vector search, each with its own threshold, then joined.

An atom is a sentence that stands alone, so there are no neighbours to ask. ``blend`` adds what each side says;
``rrf`` (k = 60) adds places only, which is safer with an embedder that nobody has measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agentmem.longterm.recall_candidates import RRF_K, Candidate
from agentmem.longterm.recall_explain import explained
from agentmem.longterm.recall_turns import LateVector, Ranking, cosines, said_on, share, standing
from agentmem.store.bm25 import Match, row_scores, session_scores
from agentmem.store.frames import Frame
from agentmem.store.view import View, best
from agentmem.text.dates import named_dates
from agentmem.text.keywords import query_terms

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
Fusion = Literal["blend", "rrf"]
SIDE = 3  # candidates of each side, times the limit (memory_core.md B15)


@dataclass(frozen=True, slots=True)
class AtomWeights:
    """What each signal counts in a blend."""

    keyword: float = 2.8
    """BM25 as a share of the best atom's."""
    vector: float = 1.0
    """Cosine, in standard deviations above the mean of the scope."""
    date: float = 3.0
    """It was true or happened on a day that the question names."""
    session: float = 1.0
    """BM25 of all atoms of its session, as a share of the best session's."""


def rank_atoms(
    view: View,
    query: str,
    limit: int,
    vector: LateVector = None,
    keyword: bool = True,
    threshold: float = 0.0,
    allowed: Mask | None = None,
    fusion: Fusion = "blend",
    weights: AtomWeights = AtomWeights(),
) -> Ranking:
    """The best atoms: first the ``limit`` that are returned, then candidates with the reason they were dropped.

    Each side offers its 3 x ``limit`` best rows. A row below ``threshold`` on a side (raw score: BM25 / (1 + BM25),
    cosine) does not count there, and is dropped when it counts on neither. As upstream, a keyword side of at most
    ``limit`` rows that are all below the threshold keeps them: in a small memory BM25 says little.
    """
    frame = view.frame
    if not len(frame) or limit < 1:
        return Ranking((), 0)
    terms = query_terms(query) if keyword else []
    found = view.matches(terms)
    bm25 = row_scores(frame, found)
    cosine, has = cosines(view, vector, everything=allowed is not None)
    inside = np.ones(len(frame), bool) if allowed is None else allowed
    raw = bm25 / (1 + bm25)
    words = best(raw, (raw > 0) & inside, SIDE * limit)
    near = best(cosine, has & inside, SIDE * limit)
    good_words = words[raw[words] >= threshold]
    if not len(good_words) and len(words) <= limit:
        good_words = words
    good_near = near[cosine[near] >= threshold]
    if fusion == "rrf":
        parts = {"keyword": _places(len(frame), good_words), "vector": _places(len(frame), good_near)}
    else:
        parts = _blended(frame, found, bm25, cosine, has, query, weights)
    total: Scores = np.add.reduce(list(parts.values()))
    counting = np.zeros(len(frame), bool)
    counting[good_words] = counting[good_near] = True
    kept = best(total, counting, limit)
    rest = [place for place in dict.fromkeys([*words.tolist(), *near.tolist()]) if place not in set(kept.tolist())]
    reasons = {place: f"beyond the {limit} best" if counting[place] else f"below {threshold:g}" for place in rest}
    shown = np.concatenate([kept, np.array(rest, np.int64)])
    return Ranking(explained(view, shown, total, bm25, cosine, has, parts, reasons), len(shown))


def returned(ranking: Ranking) -> list[Candidate]:
    """The candidates that were not dropped, best first."""
    return [candidate for candidate in ranking.candidates if candidate.dropped is None]


def _blended(
    frame: Frame, found: Sequence[Match], bm25: Scores, cosine: Scores, has: Mask, query: str, weights: AtomWeights
) -> dict[str, Scores]:
    signals = {
        "keyword": share(bm25),
        "vector": standing(cosine, has),
        "date": said_on(frame, named_dates(query)),
        "session": share(session_scores(frame, found))[frame.session.codes],
    }
    return {name: np.float32(getattr(weights, name)) * signal for name, signal in signals.items()}


def _places(count: int, ranked: NDArray[np.int64]) -> Scores:
    scores = np.zeros(count, np.float32)
    scores[ranked] = 1.0 / (RRF_K + np.arange(1, len(ranked) + 1))
    return scores
