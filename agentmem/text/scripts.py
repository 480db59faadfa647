"""Finds runs of scripts that are written without blanks between words, and cuts them into overlapping pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Han (with extensions), kana, Hangul, and the unspaced scripts of South-East Asia (Thai, Lao, Burmese, Khmer)
UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3041-\u309f\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
    "\u1100-\u11ff\uac00-\ud7af"
)
RUN = re.compile(f"[{UNSPACED}]+")


def pairs(run: str) -> Iterator[str]:
    """The pairs of a run and its last character: every position begins exactly one token.

    So a word of two characters is one token, a longer word is a phrase of its pairs, and a single character is a
    prefix: each is found wherever it stands, whatever a segmenter thinks of the sentence.
    """
    for i in range(len(run) - 1):
        yield run[i : i + 2]
    yield run[-1]
