"""Which messages are new: whole histories, sliding ends, repeats, edits, compactions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.longterm.alignment import Match, align, common_prefix, overlap

ALIKE = [("user", "user")] * 50


@pytest.mark.parametrize(
    ("stored", "given", "whole", "new", "edited"),
    [
        ("", "ab", None, "ab", ""),
        ("ab", "abcd", None, "cd", ""),  # the whole history again
        ("abcd", "cdef", None, "ef", ""),  # its end
        ("abcd", "cd", None, "", ""),  # the same turn once more
        ("abcd", "ef", None, "ef", ""),  # only what is new
        ("abcdef", "bcd", True, "", ""),  # an older state
        (
            "abcdef",
            "bcd",
            None,
            "bcd",
            "",
        ),  # the same words once more        ("abcd", "abXY", True, "", "XY"),  # edited and said anew
        ("abcd", "abX", None, "", "X"),  # the same, found without being told
        ("abcd", "aXYZ", None, "aXYZ", ""),  # one equal message in front is not enough to take it for an edit
        ("abcd", "aXYZ", True, "", "XYZ"),
        ("abcdef", "abXdef", True, "", "X"),  # one message corrected in the middle
        ("abcdefgh", "Sgh", None, "Sgh", ""),  # a compaction that nobody announced: nothing stored is given up
        ("abcdefgh", "aSghi", True, "Si", ""),  # a compaction that kept the first message: summary and end are new
    ],
)
def test_cases(stored: str, given: str, whole: bool | None, new: str, edited: str) -> None:
    match = align(stored, given, ALIKE, whole)
    assert "".join(given[i] for i in match.new) == new
    assert "".join(given[i] for i, _ in match.edited) == edited


def test_a_pair_of_other_roles_is_no_edit() -> None:
    roles = [("user", "user"), ("assistant", "assistant"), ("user", "assistant")]
    assert align("abc", "abX", roles, True) == Match(new=(2,))


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
@settings(max_examples=200, deadline=None)
def test_overlap_is_the_longest_end_that_is_a_beginning(stored: str, given: str) -> None:
    expected = max(n for n in range(min(len(stored), len(given)) + 1) if stored.endswith(given[:n]))
    assert overlap(stored, given) == expected


@given(st.lists(st.sampled_from("abcdefgh"), max_size=10), st.lists(st.sampled_from("ijklmnop"), max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_history_that_grew_gives_exactly_what_it_grew_by(stored: list[str], added: list[str]) -> None:
    match = align(stored, stored + added, ALIKE, None)
    assert match == Match(tuple(range(len(stored), len(stored) + len(added))))
    assert common_prefix(stored, stored + added) == len(stored)
