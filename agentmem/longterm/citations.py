"""The ids that a line of a scene or a persona rests on: ``- She lives in Porto. [m_1f2e..., m_77aa...]``.

A line is a statement. One without an id of a live atom is not kept, whoever wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

_ID = r"m_[0-9A-Za-z_-]+"
_CITED = re.compile(rf"[ \t]*\[({_ID}(?:[,;、，\s]+{_ID})*)\]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a document: its text without ids, its ids, and whether it is a heading or blank."""

    text: str
    ids: tuple[str, ...]
    is_frame: bool

    @property
    def written(self) -> str:
        """The line as it stands in a file."""
        return f"{self.text} [{', '.join(self.ids)}]" if self.ids else self.text


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a document."""
    for raw in text.split("\n"):
        ids = tuple(dict.fromkeys(id for group in _CITED.findall(raw) for id in re.findall(_ID, group)))
        plain = _CITED.sub("", raw).rstrip()
        yield Line(plain, ids, not plain.strip() or plain.lstrip().startswith("#") or not any(map(str.isalnum, plain)))


def cited_ids(text: str) -> list[str]:
    """Every id a document names, in order of first appearance."""
    return list(dict.fromkeys(id for line in lines_of(text) for id in line.ids))


def strip_citations(text: str) -> str:
    """The document for a prompt: the same lines without ids."""
    return "\n".join(line.text for line in lines_of(text))


def supported(text: str, live: Container[str], strict: bool = False) -> tuple[str, int]:
    """The document with only those lines that rest on live atoms, and how many were left out.

    Ids of atoms that are gone or replaced are taken out of a line. With ``strict`` such a line goes as a whole: nobody
    has looked at its words since. Headings that lost all their lines go too.
    """
    kept: list[Line] = []
    dropped = 0
    for line in lines_of(text):
        ids = tuple(id for id in line.ids if id in live)
        if line.is_frame:
            kept.append(Line(line.text, (), True))
        elif ids and (ids == line.ids or not strict):
            kept.append(Line(line.text, ids, False))
        else:
            dropped += 1
    return joined(kept), dropped


def joined(lines: Iterable[Line]) -> str:
    """Lines as a document: no heading without a statement below it, no two blank lines in a row."""
    rows = list(lines)
    out: list[str] = []
    for i, line in enumerate(rows):
        if line.is_frame and line.text.lstrip().startswith("#") and not _has_statement(rows, i):
            continue
        if not line.text.strip() and (not out or not out[-1]):
            continue
        out.append(line.written)
    return "\n".join(out).strip("\n")


def fitted(text: str, limit: int, weight: Callable[[Sequence[str]], tuple[float, ...]]) -> tuple[str, int]:
    """The document cut to ``limit`` characters by leaving out the statements of least weight, and how many went.

    ``weight`` is asked for the ids of a line; of equal ones the later goes first.
    """
    lines = list(lines_of(text))
    statements = [i for i, line in enumerate(lines) if not line.is_frame]
    gone: set[int] = set()
    text = joined(lines)
    for i in sorted(statements, key=lambda i: (weight(lines[i].ids), -i)):
        if len(text) <= limit:
            break
        gone.add(i)
        text = joined(line for j, line in enumerate(lines) if j not in gone)
    return text, len(gone)


def _has_statement(rows: Sequence[Line], heading: int) -> bool:
    level = _level(rows[heading].text)
    for line in rows[heading + 1 :]:
        if not line.is_frame:
            return True
        if line.text.lstrip().startswith("#") and _level(line.text) <= level:
            return False
    return False


def _level(heading: str) -> int:
    bare = heading.lstrip()
    return len(bare) - len(bare.lstrip("#"))
