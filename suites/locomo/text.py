"""Normalised answers and their token F1, as LoCoMo scores them. Source: snap-research/locomo 9228632."""

from __future__ import annotations

import string
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

# Comes with tiktoken and nltk; its word boundary differs from that of re beside accents and digits.
import regex  # type: ignore[import-untyped,unused-ignore]

if TYPE_CHECKING:
    from nltk.stem import PorterStemmer

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SMALL_WORDS = regex.compile(r"\b(?:a|an|the|and)\b")


def normalize(text: str) -> str:
    """Lower case, without ASCII punctuation and without the words a, an, the, and; blanks collapsed.

    Punctuation is deleted, not replaced, so a hyphen joins its two words. Other scripts stay as they are.
    """
    return " ".join(_SMALL_WORDS.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(answer: str, gold: str) -> float:
    """F1 over bags of stemmed words; 0 without a common word, also when both are empty."""
    words, wanted = _stems(answer), _stems(gold)
    common = sum((Counter(words) & Counter(wanted)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(words), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def multi_f1(answer: str, gold: str) -> float:
    """Both cut at commas: the mean over gold parts of the best part of the answer. Extra parts cost nothing."""
    parts = [part.strip() for part in answer.split(",")]
    wanted = [part.strip() for part in gold.split(",")]
    return sum(max(token_f1(part, want) for part in parts) for want in wanted) / len(wanted)


def exact_match(answer: str, gold: str) -> bool:
    """The same set of words, not stemmed. Reported by nobody, kept for parity."""
    return set(normalize(answer).split()) == set(normalize(gold).split())


def _stems(text: str) -> list[str]:
    stem = _stemmer().stem
    return [stem(word) for word in normalize(text).split()]


@cache
def _stemmer() -> PorterStemmer:
    from nltk.stem import PorterStemmer  # half a second to import

    return PorterStemmer()
