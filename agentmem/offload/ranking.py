"""How much each line of a tool output matters for the decisions that follow, by the shape of the output.

A weight of 8 or more marks a line that is kept even when it brings no new identifier: an error, a failing
test, a count. 0 means: never worth a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agentmem.offload.shapes import GREP, LOUD, NUMBERED, Body, Shape

WIDTH = 200  # characters of one kept line
LEAVES = 400  # values of a JSON document that are looked at


class Line(NamedTuple):
    """One candidate: where it stands, how much it matters, what is kept of it, and the file it belongs to."""

    position: int
    weight: float
    text: str
    path: str = ""


_DEFINES = re.compile(
    r"^\s*(?:\d+[\s→|:-]+)?(?:export |public |private |protected |static |abstract |async |pub(?:\(\w+\))? )*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|type|CREATE TABLE|#define)\s+\w"
)
_ASSIGNS = re.compile(
    r"^\s*(?:self\.)?\w+\s*(?::[^=]+)?=[^=]|^\s*(?:from|import|@|raise|return|yield|assert|with|except)\b"
)
_COMMENT = re.compile(r'^\s*(?:#|//|\*|/\*|"""|\'\'\')')
_COUNTS = re.compile(
    r"^=+ .*\d+ (?:passed|failed|error)|^Ran \d+ tests?|^(?:OK|FAILED)(?: \(.*\))?$"
    r"|^test result:|^\s*Tests:|\b\d+ failed\b|^Found \d+"
)
_FAILING = re.compile(
    r"^(?:FAILED|ERROR) \S|^(?:FAIL|ERROR): |^not ok |^\s*(?:✗|✕|×) |^_{3,} .+ _{3,}$|\.{3} (?:FAIL|ERROR)$"
)
_WHERE = re.compile(r"^\S+\.\w+:\d+: ")
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?')
_RAISED = re.compile(
    r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Warning|Exit|Interrupt|Failure|Invalid\w*|NotFound|DoesNotExist)\b(?::|$)"
)
_TAG = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<!--.*?-->|<[^>]+>", re.S | re.I)
_TITLE = re.compile(r"<(title|h[1-3]|a)\b[^>]*>(.*?)</\1>", re.S | re.I)
_HEADING = re.compile(r"^\s*(?:#+ |\d+[.)] |\[|Title\b|URL\b)|https?://")
_LONG = re.compile(r"^[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(?P<size>\S+)\s+\S+\s+\S+\s+\S+\s+(?P<name>.+)$")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")
_TELLING = ("title", "name", "path", "file", "url", "link", "message", "error", "status", "id", "summary")


def ranked(shape: Shape, body: Body) -> list[Line]:
    """Every line worth considering, in order of position."""
    if shape == "json":
        return list(_json(body.data))
    if shape == "html":
        return list(_html("\n".join(body.lines)))
    rank = _RANKS.get(shape, _plain)
    return [line for line in rank(body.lines) if line.weight and line.text]


def squeeze(text: str, width: int = WIDTH) -> str:
    """One line, runs of blanks as one blank, at most ``width`` characters."""
    text = _BLANKS.sub(" ", text).strip()
    return text if len(text) <= width else text[: width - 1] + "…"


def _tests(lines: list[str]) -> Iterator[Line]:
    for position, line in enumerate(lines):
        if not line.strip():
            continue
        if _COUNTS.search(line):
            weight = 10.0
            line = line.strip("= ")
        elif _FAILING.search(line):
            weight = 9.0
            line = line.strip("_ ")
        elif _WHERE.match(line) or _RAISED.match(line):
            weight = 8.5
        elif line.startswith("E  "):
            weight = 8.0
            line = line.removeprefix("E")
        elif line.startswith(">"):
            weight = 7.0
        else:
            weight = _code(line)
        yield Line(position, weight, squeeze(line))


def _traceback(lines: list[str]) -> Iterator[Line]:
    frames = [position for position, line in enumerate(lines) if _FRAME.match(line)]
    late = {position: 9.0 - rank for rank, position in enumerate(reversed(frames[-3:]))}
    for position, line in enumerate(lines):
        frame = _FRAME.match(line)
        if frame:
            path = "/".join(frame["path"].split("/")[-4:])
            code = lines[position + 1].strip() if position + 1 < len(lines) else ""
            shown = f"{path}:{frame['line']} {frame['name'] or ''}: {code}"
            yield Line(position, late.get(position, 3.0), squeeze(shown))
        elif position and _FRAME.match(lines[position - 1]):
            continue  # the code of the frame above, already shown with it
        elif _RAISED.match(line):
            yield Line(position, 10.0, squeeze(line))
        elif line.startswith("Traceback"):
            continue
        else:
            yield Line(position, _code(line), squeeze(line))


def _diff(lines: list[str]) -> Iterator[Line]:
    for position, line in enumerate(lines):
        if line.startswith("+++ "):
            yield Line(position, 9.0, squeeze(line[4:].removeprefix("b/")))
        elif line.startswith("@@"):
            yield Line(position, 7.0, squeeze(line))
        elif line.startswith(("--- ", "diff ", "index ")):
            continue
        elif line[:1] in ("+", "-"):
            yield Line(position, (6.0 if line[0] == "+" else 5.0) if line[1:].strip() else 0.0, squeeze(line))
        else:
            yield Line(position, 2.0, squeeze(line))


def _grep(lines: list[str]) -> Iterator[Line]:
    files: set[str] = set()
    for position, line in enumerate(lines):
        hit = GREP.match(line)
        if not hit or (not hit["line"] and " " in hit["path"]):
            yield Line(position, _code(line), squeeze(line))
            continue
        path, text = hit["path"], hit["text"]
        weight = _code(text) + (1.0 if hit["mark"] == ":" else 0.0) + (3.0 if path not in files else 0.0)
        files.add(path)
        number = f"{hit['line']}: " if hit["line"] else ""
        yield Line(position, weight, squeeze(number + text.strip()), path)


def _view(lines: list[str]) -> Iterator[Line]:
    for position, line in enumerate(lines):
        numbered = NUMBERED.match(line)
        if numbered:
            text = numbered["text"]
            yield Line(position, _code(text), squeeze(f"{numbered['line']} {text}") if text.strip() else "")
        elif not line.strip().isdigit():
            yield Line(position, _code(line), squeeze(line))


def _listing(lines: list[str]) -> Iterator[Line]:
    for position, line in enumerate(lines):
        long = _LONG.match(line)
        name = long["name"] if long else line.strip(" │├└─|`+-")
        weight = 0.0 if name in (".", "..") or line.startswith("total ") else 5.0 - min(position, 200) / 100
        yield Line(position, 6.0 if LOUD.search(line) and " " in line else weight, squeeze(name))


def _search(lines: list[str]) -> Iterator[Line]:
    for position, line in enumerate(lines):
        weight = 6.0 - min(position, 300) / 100 if _HEADING.search(line) else 2.0
        yield Line(position, weight if line.strip() else 0.0, squeeze(line))


def _table(lines: list[str]) -> Iterator[Line]:
    for position, line in enumerate(lines):
        if not any(map(str.isalnum, line)):
            continue
        weight = 9.0 if position <= 1 else 5.0 - min(position, 300) / 100
        yield Line(position, weight, squeeze(line))


def _plain(lines: list[str]) -> Iterator[Line]:
    last = len(lines) - 1
    for position, line in enumerate(lines):
        weight = 8.0 if _RAISED.match(line) else _code(line)
        if weight and (position < 3 or position > last - 3):
            weight += 1.0
        yield Line(position, weight, squeeze(line))


def _code(line: str) -> float:
    """The weight of a line of source or prose that no shape has a rule for."""
    stripped = line.strip()
    if len(stripped) < 3:
        return 0.0
    if _DEFINES.match(line):
        return 7.0
    if _COMMENT.match(stripped):
        return 1.0
    if LOUD.search(stripped):
        return 5.0
    return 4.0 if _ASSIGNS.match(stripped) else 3.0


def _json(data: Any) -> Iterator[Line]:
    for position, (path, value) in enumerate(_leaves(data, "", 0)):
        if position >= LEAVES:
            return
        name = path.rsplit(".", 1)[-1].split("[")[0].lower()
        weight = 7.0 if any(word in name for word in _TELLING) else 3.0
        text = squeeze(value if isinstance(value, str) else repr(value), WIDTH // 2)
        yield Line(position, weight - min(position, 200) / 100, f"{path}: {text}")


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > 12:
        yield path, "…"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]", depth + 1)
    elif value not in (None, "", False):
        yield path, value


def _html(text: str) -> Iterator[Line]:
    for position, found in enumerate(_TITLE.finditer(text)):
        weight = 6.0 if found[1].lower() != "a" else 4.0
        yield Line(position, weight, squeeze(_TAG.sub(" ", found[2])))
    for position, line in enumerate(_TAG.sub("\n", text).split("\n"), 10_000):
        if line.strip():
            yield Line(position, 3.0, squeeze(line))


_RANKS: dict[Shape, Callable[[list[str]], Iterator[Line]]] = {
    "tests": _tests,
    "traceback": _traceback,
    "diff": _diff,
    "grep": _grep,
    "view": _view,
    "listing": _listing,
    "search": _search,
    "table": _table,
}
