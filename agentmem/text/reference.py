"""Keyword queries, index texts and scores as upstream makes them (memory_core.md B18), quirks included, for parity.

The word lists and patterns follow its observable behaviour; our own way is in ``agentmem.text.keywords``.
"""

from __future__ import annotations

import math
import re
from typing import Literal

Tokenizer = Literal["regex", "jieba"]
_TELLING = re.compile(r"[^\W_]")
_HAN = re.compile("[\u4e00-\u9fd5]+")
_PARTS = re.compile(r"[\u4e00-\u9fd5]+|[a-zA-Z0-9]+(?:\.\d+)?%?|[\s\S]")
_STOP_WORDS = """
的 了 在 是 我 有 和 就 不 人 都 一 一个 上 也 很 到 说 要 去 你 会 着 没有 看 好 自己 这 他 她 它 们 吗 吧
呢 啊 那 与
"""
_STOP = frozenset(_STOP_WORDS.split())


def fts_query(text: str, tokenizer: Tokenizer) -> str | None:
    """An FTS5 expression of quoted words joined by OR, or None.

    The regex path keeps repeated words and stop words; the segmenter's path does not.
    """
    if tokenizer == "regex":
        words = [word for word in re.findall(r"\w+", text) if word]
    else:
        words = list(dict.fromkeys(word.strip() for word in _cut(text) if _telling(word)))
    quoted = [f'"{word.replace(chr(34), "")}"' for word in words]
    return " OR ".join(quoted) or None


def fts_text(text: str, tokenizer: Tokenizer) -> str:
    """What is stored in the keyword index: the words joined by blanks; without a segmenter the text as it is."""
    return " ".join(_cut(text)) if tokenizer == "jieba" else text


def bm25_score(rank: float) -> float:
    """FTS5's rank (lower is better) as a score in (0, 1]; a rank that is not finite counts as 999."""
    if not math.isfinite(rank):
        return 1 / 1000
    return -rank / (1 - rank) if rank < 0 else 1 / (1 + rank)


def _telling(word: str) -> bool:
    return _TELLING.search(word) is not None and word.strip() not in _STOP


def _cut(text: str) -> list[str]:
    """Han by the segmenter; of the rest, Latin words with at most one decimal part, and every other character alone."""
    import rjieba

    words: list[str] = []
    for part in _PARTS.findall(text):
        words.extend(rjieba.cut_for_search(part) if _HAN.fullmatch(part) else [part])
    return words
