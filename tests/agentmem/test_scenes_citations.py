"""Every line of a scene or a persona names what it rests on; what rests on nothing goes; sizes are kept."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.longterm.citations import cited_ids, fitted, strip_citations, supported

TEXT = """# Move

## Facts
- Ana lives in Porto. [m_1, m_2]
- Ana is nice.
- Old and gone. [m_9]

## Empty
- Nothing behind it.

### Deeper
Text [m_3]."""


LIVE = {"m_1", "m_3"}


def test_lines_without_a_live_atom_go() -> None:
    text, dropped = supported(TEXT, LIVE)
    assert text == "# Move\n\n## Facts\n- Ana lives in Porto. [m_1]\n\n## Empty\n\n### Deeper\nText. [m_3]"
    assert dropped == 3


def test_a_line_of_which_a_part_was_replaced_goes_when_nobody_has_looked_at_it() -> None:
    text, dropped = supported(TEXT, LIVE, strict=True)
    assert text == "# Move\n\n## Empty\n\n### Deeper\nText. [m_3]"
    assert dropped == 4


def test_headings_without_a_line_go() -> None:
    text, _ = supported("# A\n## B\n- x\n## C\n- y [m_1]", LIVE)
    assert text == "# A\n## C\n- y [m_1]"
    assert supported("# A\n- x", LIVE) == ("", 1)


def test_ids_and_the_text_without_them() -> None:
    assert cited_ids(TEXT) == ["m_1", "m_2", "m_9", "m_3"]
    assert strip_citations("- a [m_1]\n- b [x]") == "- a\n- b [x]"


def test_a_text_is_cut_by_leaving_out_what_weighs_least() -> None:
    text = "# T\n- heavy [m_1]\n- light [m_2]\n- middle [m_3]"
    weights = {"m_1": 3.0, "m_2": 1.0, "m_3": 2.0}
    cut, gone = fitted(text, len(text) - 1, lambda ids: (weights[ids[0]],))
    assert (cut, gone) == ("# T\n- heavy [m_1]\n- middle [m_3]", 1)
    assert fitted(text, 1_000, lambda ids: (0.0,)) == (text, 0)


LINES = st.lists(st.tuples(st.text("ab .", min_size=1, max_size=20), st.integers(1, 4)), max_size=12)


@given(LINES, st.integers(0, 120))
@settings(max_examples=100, deadline=None)
def test_no_text_is_over_its_size(rows: list[tuple[str, int]], limit: int) -> None:
    text = "# Title\n" + "\n".join(f"- x{text.strip()} [m_{id}]" for text, id in rows)
    cut, _ = fitted(text, limit, lambda ids: (float(ids[0][2:]),))
    assert len(cut) <= limit or not cited_ids(cut)
