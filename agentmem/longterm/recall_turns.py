"""Ranks the turns of a conversation for a question, with no language model.

A turn is rarely found by its own words alone: it answers the turn before it, belongs to a session about something,
was said by somebody on some day. Each of these is a signal between 0 and about 1, and the score is their weighted
sum. docs/recall.md says what each is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from agentmem.longterm.recall_candidates import Candidate
from agentmem.longterm.recall_explain import explained
from agentmem.store.bm25 import row_scores, session_scores
from agentmem.store.frames import Frame
from agentmem.store.view import View, best
from agentmem.text.dates import Named, named_dates
from agentmem.text.keywords import index_tokens, query_terms

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
LateVector = Scores | Callable[[], Scores | None] | None
NEIGHBOURS = {1: 0.28, -1: 0.21, 2: 0.28, -2: 0.21}
"""Share of a turn's keyword score that goes to the turns 1 and 2 places behind (positive) and before it."""

SHORT_QUESTION = 20  # words; a longer turn that ends with a question has said something before
_SELF = frozenset({"i", "my", "me", "mine", "myself", "i'm", "i've", "我", "我的"})


@dataclass(frozen=True, slots=True)
class TurnWeights:
    """What each signal counts. Set on five conversations of LoCoMo and rounded; see docs/recall.md."""

    keyword: float = 2.8
    """BM25 of the turn's own words, as a share of the best turn's."""
    neighbours: float = 2.8
    """The same of the turns around it, by ``NEIGHBOURS``."""
    session: float = 2.8
    """BM25 of its whole session, as a share of the best session's."""
    vector: float = 0.75
    """Cosine, in standard deviations above the mean of the scope."""
    speaker: float = 2.7
    """The question names the speaker, and not every speaker."""
    date: float = 4.0
    """It was said on a day, in a month or year that the question names."""
    length: float = 1.0
    """log(1 + words), where people talk with each other: short turns are greetings and thanks."""
    asks: float = -1.0
    """It ends with a question mark, so that it is answered elsewhere; in a chat with an assistant, where requests
    end so, only when it is short."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best rows, best first, and how many rows were candidates at all."""

    candidates: tuple[Candidate, ...]
    considered: int


def rank_turns(
    view: View,
    query: str,
    limit: int,
    vector: LateVector = None,
    keyword: bool = True,
    allowed: Mask | None = None,
    pool: int | None = None,
    weights: TurnWeights = TurnWeights(),
) -> Ranking:
    """The ``limit`` best turns. ``vector`` is the query's, or a function that waits for it and is called last; without
    one that side is left out, as the other with ``keyword`` False.

    A row is a candidate when it or a neighbour holds a word of the query, when it was said on a day that the query
    names, or when it is among the ``pool`` nearest vectors (three times ``limit``, at least 100).
    """
    frame = view.frame
    if not len(frame):
        return Ranking((), 0)
    terms = query_terms(query) if keyword else []
    found = view.matches(terms)
    own = row_scores(frame, found)
    around = spread(frame, own)
    dates = said_on(frame, named_dates(query))
    signals = {
        "keyword": share(own),
        "neighbours": around / max(float(own.max()), 1e-9),
        "session": share(session_scores(frame, found))[frame.session.codes],
        "speaker": said_by(frame, query),
        "date": dates,
        **_manner(frame),
    }
    cosine, has = cosines(view, vector, everything=allowed is not None)
    signals["vector"] = standing(cosine, has)
    candidates = (own > 0) | (around > 0) | (dates > 0)
    candidates[best(cosine, has, pool or max(100, 3 * limit))] = True
    if allowed is not None:
        candidates &= allowed
    parts = {name: np.float32(getattr(weights, name)) * signal for name, signal in signals.items()}
    total = np.zeros(len(frame), np.float32)
    for part in parts.values():
        total += part
    places = best(total, candidates, limit)
    return Ranking(explained(view, places, total, own, cosine, has, parts), int(candidates.sum()))


def cosines(view: View, vector: LateVector, everything: bool) -> tuple[Scores, Mask]:
    """Cosine of each row, and which rows have one; none has without a vector.

    ``everything`` asks for all rows also where only the nearest are handed over: what passes a filter may be far.
    """
    known = vector() if callable(vector) else vector
    if known is None:
        return np.zeros(len(view), np.float32), np.zeros(len(view), bool)
    return view.cosines(known, len(view) if everything else None)


def spread(frame: Frame, scores: Scores) -> Scores:
    """What each turn gets from the turns around it in its session."""
    order = frame.order
    sessions, sorted_scores = frame.session.codes[order], scores[order]
    out = np.zeros(len(scores), np.float32)
    for distance, part in NEIGHBOURS.items():
        step = abs(distance)
        if step >= len(out):
            continue
        same = sessions[step:] == sessions[:-step]
        if distance > 0:  # from the turn that many places before
            out[step:] += np.float32(part) * sorted_scores[:-step] * same
        else:
            out[:-step] += np.float32(part) * sorted_scores[step:] * same
    back = np.empty_like(out)
    back[order] = out
    return back


def share(scores: Scores) -> Scores:
    """As a share of the best one; zeros stay zeros."""
    top = float(scores.max()) if len(scores) else 0.0
    return scores / np.float32(top) if top > 0 else scores


def standing(cosine: Scores, has: Mask) -> Scores:
    """Standard deviations above the mean of the rows that have a vector: comparable between embedders."""
    out = np.zeros(len(cosine), np.float32)
    if has.any():
        known = cosine[has]
        out[has] = (known - known.mean()) / max(float(known.std()), 0.02)
    return out


def said_by(frame: Frame, query: str) -> Scores:
    """1 for turns of a speaker whom the query names, when it does not name all of them.

    A query in the first person ("my", "我") names the role ``user``, where there are others.
    """
    asked = set(index_tokens(query))
    speakers = frame.speaker.names
    named = [name for name in speakers if name and asked.intersection(index_tokens(name))]
    if named and len(named) < len([name for name in speakers if name]):
        return frame.speaker.are(named).astype(np.float32)
    if not named and "user" in frame.kind.names and len(frame.kind.names) > 1 and _speaks_of_self(query):
        return frame.kind.are(["user"]).astype(np.float32)
    return np.zeros(len(frame), np.float32)


def said_on(frame: Frame, dates: Sequence[Named]) -> Scores:
    """1 for turns of a day that the query names; half for the right month with another or no day named."""
    out = np.zeros(len(frame), np.float32)
    if not dates:
        return out
    days = frame.days
    years = days.astype("datetime64[Y]").astype(np.int64) + 1970
    months = days.astype("datetime64[M]").astype(np.int64) % 12 + 1
    of_month = (days - days.astype("datetime64[M]")).astype(np.int64) + 1
    for date in dates:
        fits = np.ones(len(frame), bool)
        if date.year is not None:
            fits &= years == date.year
        if date.month is not None:
            fits &= months == date.month
        value = fits.astype(np.float32)
        if date.day is not None:
            value *= np.where(of_month == date.day, np.float32(1), np.float32(0.5))
        out = np.maximum(out, value)
    return out


def _manner(frame: Frame) -> dict[str, Scores]:
    """What the form of a turn says. To an assistant people write long requests, and it answers at length: there
    neither length nor a question mark tells facts from talk."""
    if len(frame.kind.names) == 1:
        return {"length": frame.log_words, "asks": frame.asks.astype(np.float32)}
    short = frame.asks & (frame.words < SHORT_QUESTION)
    return {"length": np.zeros(len(frame), np.float32), "asks": short.astype(np.float32)}


def _speaks_of_self(query: str) -> bool:
    words = query.lower().replace("’", "'").split()
    return any(word.strip("?.,!") in _SELF for word in words) or "我" in query


def weights_without(*names: str) -> TurnWeights:
    """The weights with some signals switched off, for ablations. Raises ``ValueError`` for an unknown name."""
    known = {field.name for field in fields(TurnWeights)}
    unknown = set(names) - known
    if unknown:
        raise ValueError(f"no signal {', '.join(sorted(unknown))}: expected some of {', '.join(sorted(known))}")
    return TurnWeights(**dict.fromkeys(names, 0.0))
