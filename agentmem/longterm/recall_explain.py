"""Makes candidates of the arrays of a ranking: on which side they were found, at which place, what their score is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from agentmem.longterm.recall_candidates import Candidate
from agentmem.store.view import View

FEW = 40  # candidates; for more, sorting once is faster than counting for each
Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


def explained(
    view: View,
    places: NDArray[np.int64],
    total: Scores,
    bm25: Scores,
    cosine: Scores,
    has: Mask,
    parts: Mapping[str, Scores],
    dropped: Mapping[int, str] | None = None,
) -> tuple[Candidate, ...]:
    """Candidates of the rows at ``places``, in that order; rows deleted since the snapshot are left out.

    Ranks count all rows of the scope: 1 is the best of them. ``dropped`` gives reasons by place.
    """
    ids = view.ids(places)
    near = _ranks(cosine, has, places)
    words = _ranks(bm25, bm25 > 0, places)
    rows = []
    for place in places.tolist():
        seq = int(view.frame.seq[place])
        if seq not in ids:
            continue
        raw = float(bm25[place])
        rows.append(
            Candidate(
                ids[seq],
                seq,
                float(total[place]),
                words.get(place),
                raw / (1 + raw) if raw > 0 else None,
                near.get(place),
                float(cosine[place]) if has[place] else None,
                {name: round(float(part[place]), 4) for name, part in parts.items() if part[place]},
                (dropped or {}).get(place),
            )
        )
    return tuple(rows)


def _ranks(scores: Scores, known: Mask, places: NDArray[np.int64]) -> dict[int, int]:
    """Rank of each place among the known scores: 1 + how many are better."""
    mine = places[known[places]]
    counted = scores[known]
    if len(mine) <= FEW:
        better = [int(np.count_nonzero(counted > scores[place])) for place in mine]
    else:
        ascending = np.sort(counted)
        better = [len(ascending) - int(at) for at in np.searchsorted(ascending, scores[mine], side="right")]
    return {place: count + 1 for place, count in zip(mine.tolist(), better, strict=True)}
