"""Makes candidates of the arrays of a ranking: on which side they were found, at which place, what their score is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from agentmem.longterm.recall_candidates import Candidate
from agentmem.store.view import View

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
    known = np.sort(cosine[has])
    scored = np.sort(bm25[bm25 > 0])
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
                _rank(scored, bm25[place]) if raw > 0 else None,
                raw / (1 + raw) if raw > 0 else None,
                _rank(known, cosine[place]) if has[place] else None,
                float(cosine[place]) if has[place] else None,
                {name: round(float(part[place]), 4) for name, part in parts.items() if part[place]},
                (dropped or {}).get(place),
            )
        )
    return tuple(rows)


def _rank(ascending: Scores, value: np.float32) -> int:
    return len(ascending) - int(np.searchsorted(ascending, value, side="right")) + 1
