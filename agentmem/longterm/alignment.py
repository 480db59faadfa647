"""Finds out which of the messages a host hands over are new, which were edited, and which are known.

A host may send the whole history, a sliding end of it, or only what is new; after a compaction it sends less than
before. Nothing that is stored is ever given up because a host left it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Match:
    """What to write: places in the given list that are new, and pairs (given, stored) that were edited."""

    new: tuple[int, ...] = ()
    edited: tuple[tuple[int, int], ...] = ()


def align(stored: Sequence[str], given: Sequence[str], roles: Sequence[tuple[str, str]], whole: bool | None) -> Match:
    """Compare keys of stored messages (oldest first, at least as many as given where there are) with the given ones.

    ``roles`` holds (role stored, role given) for each common place, counted from the start of both. ``whole`` says
    that the host sends the full history. None means that nobody knows: then the same words said before somewhere in
    the middle are said again, and a difference is an edit only when at least two messages and half of what is stored
    agree before it.
    """
    shared = overlap(stored, given)
    if shared:
        return Match(tuple(range(shared, len(given))))
    if whole and _holds(stored, given):
        return Match()  # an older state of the same conversation
    prefix = common_prefix(stored, given)
    likely = whole is None and 2 <= prefix < len(given) and prefix * 2 >= len(stored)
    if not (prefix >= 1 if whole else likely):
        return Match(tuple(range(len(given))))
    blocks = SequenceMatcher(None, stored[prefix:], given[prefix:], autojunk=False).get_opcodes()
    if not any(tag == "equal" for tag, *_ in blocks):
        return _edited_from(prefix, len(stored), len(given), roles)
    return _woven(blocks, prefix, roles)


def overlap(stored: Sequence[str], given: Sequence[str]) -> int:
    """The longest end of ``stored`` that ``given`` begins with, in messages (Knuth, Morris, Pratt)."""
    failure = [0] * len(given)
    matched = 0
    for i in range(1, len(given)):
        while matched and given[i] != given[matched]:
            matched = failure[matched - 1]
        matched += given[i] == given[matched]
        failure[i] = matched
    matched = 0
    for key in stored:
        while matched and (matched == len(given) or key != given[matched]):
            matched = failure[matched - 1]
        matched += bool(given) and key == given[matched]
    return matched


def common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """How many keys agree from the start."""
    for i, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return i
    return min(len(a), len(b))


def _holds(stored: Sequence[str], given: Sequence[str]) -> bool:
    return any(list(stored[i : i + len(given)]) == list(given) for i in range(len(stored) - len(given) + 1))


def _edited_from(prefix: int, stored: int, given: int, roles: Sequence[tuple[str, str]]) -> Match:
    """A message was edited and what followed was said anew: pairs are replaced while the roles agree."""
    end = prefix
    while end < min(stored, given) and roles[end][0] == roles[end][1]:
        end += 1
    return Match(tuple(range(end, given)), tuple((i, i) for i in range(prefix, end)))


def _woven(blocks: Sequence[tuple[str, int, int, int, int]], prefix: int, roles: Sequence[tuple[str, str]]) -> Match:
    """Later messages agree again: single edits in between, or a compaction whose summary is new."""
    new: list[int] = []
    edited: list[tuple[int, int]] = []
    for tag, a, b, c, d in blocks:
        one_to_one = tag == "replace" and b - a == d - c and a == c
        if one_to_one and all(roles[prefix + i][0] == roles[prefix + i][1] for i in range(a, b)):
            edited.extend((prefix + c + i, prefix + a + i) for i in range(b - a))
        elif tag in ("replace", "insert"):
            new.extend(range(prefix + c, prefix + d))
    return Match(tuple(new), tuple(edited))
