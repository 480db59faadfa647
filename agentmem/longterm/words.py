"""Sentences, languages and content words of a text, without a model or a dictionary. English and Chinese.

Deterministic and small: it serves the rules that work when no language model does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

Language = Literal["en", "zh", "other"]

_STOP_WORDS = """
a about above after again against ago all almost along already also although always am among an and another any anyone
anything are around as at away back be became because become been before being below best better between both but by
came can cannot come could day days did do does doing done down during each either else even ever every everyone
everything far few find first for from full gave get gets getting give given go goes going gone good got great had has
have having he hello her here hers herself hey hi him himself his how however i if in into is it its itself just keep
kind know last later least less let like little look lot lots made make makes making many maybe me mean might mine more
most much must my myself near need never new next nice no nor not nothing now of off often oh ok okay old on once one
only onto or other our ours ourselves out over own part people please pretty put quite rather real really right said
same saw say see seem seems seen she should since so some someone something soon still such sure take taken takes taking
tell than thank thanks that the their theirs them themselves then there these they thing things think this those though
through time times to together told too took toward try trying two under until up upon us use used user using usually
very want wants was way we well went were what when where whether which while who whom whose why will with within
without would wow yeah year years yes yesterday yet you your yours yourself
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_HAN_STOP = frozenset(
    "的了是在我你他她它们这那有和与也就都而及或一个不人中上下到说要会对为以用户把被让给从很最吗呢吧啊"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:[-.][^\W_]+)*")
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:\1|\Z)")
_BULLET = re.compile(r"^\s*(?:[-*•>]|\d{1,2}[.)])\s+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|No)\.$")
_END = re.compile(r"[.!?…]+[\"')\]]*\s+|[。！？；]+[”’）]*|\n+")


def language(text: str) -> Language:
    """Chinese when a fifth of the letters are Han and there is no kana, else English when most letters are Latin."""
    letters = [char for char in text if char.isalpha()]
    if not letters or _KANA.search(text):
        return "other"
    han = len(_HAN.findall(text))
    if han * 5 >= len(letters):
        return "zh"
    latin = sum(char < "\u0250" for char in letters)
    return "en" if latin * 2 > len(letters) else "other"


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in order, without fenced code, bullets and quotes of mail."""
    text = _FENCE.sub("\n", text)
    start = 0
    for end in _END.finditer(text):
        part = text[start : end.end()].strip()
        if _ABBREVIATION.search(part) and "\n" not in end.group():
            continue
        yield from _clean(part)
        start = end.end()
    yield from _clean(text[start:].strip())


def content_words(text: str) -> list[str]:
    """Content words in order, with repeats, in lower case; pairs of Han characters."""
    found = []
    for match in _WORD.finditer(text):
        word = match.group()
        if _HAN.search(word):
            for run in _HAN_RUN.findall(word):
                found.extend(_pairs(run))
            continue
        plain = word.lower().removesuffix("'s").removesuffix("’s")
        if "'" in plain or "’" in plain:
            continue  # a contraction holds no content
        if plain not in STOP_WORDS and (len(plain) > 2 or plain.isdigit()):
            found.append(plain)
    return found


def keywords(text: str) -> list[str]:
    """Content words without plural and past endings, for comparing."""
    return list(map(stem, content_words(text)))


def stem(word: str) -> str:
    """A word without its commonest English endings; equal for "visits", "visited", "visiting"."""
    if not word.isascii() or len(word) < 5:
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    for ending, put in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            base = word[: -len(ending)] + put
            return base[:-1] if ending in ("ing", "ed") and len(base) > 3 and base[-1] == base[-2] else base.rstrip("e")
    return word.rstrip("e")


def names(text: str) -> list[str]:
    """Words inside sentences that begin with a capital: likely names of people, places and products."""
    found = []
    for sentence in sentences(text):
        for match in list(_WORD.finditer(sentence))[1:]:
            word = match.group()
            if word[:1].isupper() and word.lower() not in STOP_WORDS and not word.startswith(("I'", "I’")):
                found.append(word.removesuffix("'s").removesuffix("’s"))
    return found


def most_common(words: Iterable[str], count: int) -> list[str]:
    """The commonest words, ties in order of first appearance."""
    return [word for word, _ in Counter(words).most_common(count)]


def overlap(a: Iterable[str], b: Iterable[str]) -> float:
    """Shared distinct words over all distinct words of both, 0 to 1 (Jaccard)."""
    left, right = set(a), set(b)
    return len(left & right) / len(left | right) if left or right else 0.0


def _pairs(run: str) -> list[str]:
    if len(run) == 1:
        return [run] if run not in _HAN_STOP else []
    pairs = (run[i : i + 2] for i in range(len(run) - 1))
    return [pair for pair in pairs if not set(pair) & _HAN_STOP]


def _clean(part: str) -> Iterator[str]:
    part = _BULLET.sub("", part).strip()
    if part:
        yield part
