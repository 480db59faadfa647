"""Cuts runs of Chinese and Japanese into words: by ``rjieba`` where it is installed, into pairs where it is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

Segmenter = Callable[[str], list[str]]
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd\u3005-\u3007]+")


@cache
def segmenter() -> tuple[str, Segmenter]:
    """The best segmenter at hand and its name, "rjieba" or "pairs"."""
    if find_spec("rjieba") is None:
        return "pairs", by_pairs
    return "rjieba", by_rjieba


def by_pairs(run: str) -> list[str]:
    """Every pair of neighbouring characters; the run itself when it is shorter."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def by_rjieba(run: str) -> list[str]:
    """Words, and the shorter words inside them (search mode). Han is segmented; kana and others are cut in pairs."""
    import rjieba

    words: list[str] = []
    at = 0
    for han in _HAN.finditer(run):
        if han.start() > at:
            words.extend(by_pairs(run[at : han.start()]))
        words.extend(rjieba.cut_for_search(han.group()))
        at = han.end()
    if at < len(run):
        words.extend(by_pairs(run[at:]))
    return words
