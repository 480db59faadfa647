"""What kind of tool output a text is, and its lines without wrapping, colours and line numbers' padding."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Shape = Literal["tests", "traceback", "diff", "grep", "view", "listing", "search", "json", "html", "table", "plain"]

MANY = 600  # lines; of more only the ends and the loud lines in between are looked at
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_RETURN = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>\s*")
_OUTPUT = re.compile(r"<(output(?:_head|_tail)?|elided_chars)>\n?(.*?)\n?</\1>", re.S)
_WARNING = re.compile(r"<warning>\n?(.*?)\n?</warning>", re.S)
_EXIT = re.compile(r"\[?(?:exit(?:ed)?(?: with)?(?: code| status)?|return ?code)[ :=]+(-?\d+)\]?", re.I)
LOUD = re.compile(
    r"\b(?:\w*(?:Error|Exception|Warning|Failure|Interrupt)\b|error|fatal|FAIL|failed|FAILED|ERROR|Traceback|panic|assert"
    r"|not found|No such|denied|cannot|undefined|Segmentation|Killed|Timeout|timed out)"
)
_TESTS = re.compile(
    r"^(?:=+ .*(?:passed|failed|error|test session|short test summary|no tests ran).*=+"
    r"|Ran \d+ tests? in |(?:FAILED|PASSED|ERROR) \S+|(?:FAIL|ERROR): \w+ \(|.*\b\d+ (?:passed|failed)\b.*"
    r"|test result: |\s*Tests:\s+\d|ok \d+ |not ok \d+ )"
)
_RAN = re.compile(r"^(?:=+ .*\b(?:test session starts|passed|failed|errors?)\b.*=+$|Ran \d+ tests? in )")
_TRACE = re.compile(r'^(?:Traceback \(most recent|\s*File "[^"]+", line \d+|\s+at \S+ ?\(.*:\d+)')
_DIFF = re.compile(r"^(?:diff --git |--- \S|\+\+\+ \S|@@ -\d)")
GREP = re.compile(
    r"^(?P<path>[^\s:|<>\"'`(){}=,;]*[./][^\s:|<>\"'`(){}=,;]*?)(?P<mark>[:-])(?:(?P<line>\d+)(?P=mark))?(?P<text>.*)$"
)
_HIT = re.compile(r"^\s*\d+[:-]")
NUMBERED = re.compile(r"^\s*(?P<line>\d+)(?:\t|→|\s*\| ?|: )(?P<text>.*)$")
_LISTED = re.compile(
    r"^(?:total \d+$|[-dlbcps][rwxsStT-]{9}[.+@]?\s|[./\w@+-][^\s,;=(){}\[\]<>\"']*$|[ │├└─|`+-]*[\w.@-]+/?$)"
)
_SEARCH = re.compile(
    r"^\s*(?:\d+[.)] +\[?.{5,}|.*https?://\S+|#+ |(?:Title|URL|Snippet|Date published|Preview|Published|Authors?)\b ?:)"
)
_TABLE = re.compile(r"^(?:\s*\|.*\|\s*$|[^\t]+\t[^\t]+\t|(?:[^,]+,){3,}[^,]*$|\+-[-+]+\+$)")


@dataclass(frozen=True, slots=True)
class Body:
    """A tool output without its wrapping. ``total`` counts its lines; ``lines`` may be fewer when there were many."""

    lines: list[str]
    total: int
    exit_code: int | None = None
    data: Any = None  # the decoded value where the whole output is a JSON list or object
    text: str = ""  # all of it, in one piece
    note: str = ""  # what the runner said about the output, such as that it was cut


def unwrap(text: str) -> Body:
    """Take off what runners put around an output, strip colours, split at line ends."""
    exit_code, note = None, ""
    found = _RETURN.match(text)
    if found:
        exit_code = int(found[1])
        parts = _OUTPUT.findall(text, found.end())
        note = " ".join(_WARNING.findall(text, found.end()))
        text = "\n".join(inner for _, inner in parts) if parts else text[found.end() :]
    data = _decoded(text)
    if isinstance(data, dict):
        streams = [data[name] for name in ("stdout", "stderr", "output") if isinstance(data.get(name), str)]
        code = next((data[name] for name in ("exitCode", "exit_code", "returncode") if name in data), None)
        if streams:
            text, data = "\n".join(filter(None, streams)), None
        elif len(longest := _longest(data)) > 0.6 * len(text):
            text, data = longest, None  # a document inside an envelope
        exit_code = code if isinstance(code, int) and not isinstance(code, bool) else exit_code
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    last = _EXIT.search(lines[-1]) if lines else None
    if last:
        exit_code = int(last[1]) if exit_code is None else exit_code
        if len(lines[-1]) - len(last[0]) <= 2:
            lines.pop()
    return Body(_thinned(lines), len(lines), exit_code, data, text, note)


def shape_of(body: Body) -> Shape:
    """The shape most of the output has. A failing test run is ``tests`` even when it is full of tracebacks."""
    if body.data is not None:
        return "json"
    lines = body.lines
    sample = [line for line in (lines if len(lines) <= 160 else lines[:100] + lines[-60:]) if line.strip()]
    if not sample:
        return "plain"
    if any(map(_RAN.match, lines)) or any(map(_TESTS.match, sample[-12:])):
        return "tests"
    if sum(map(bool, map(_DIFF.match, sample))) >= 2:
        return "diff"
    if any(map(_TRACE.match, sample)):
        return "traceback"
    half = max(1, len(sample) // 2)
    if sum(map(bool, map(NUMBERED.match, sample))) > half:
        return "view"
    if _are_hits(sample):
        return "grep"
    head = sample[0].lstrip()[:200].lower()
    if head.startswith(("<!doctype", "<html", "<?xml", "<head", "<body", "<div")):
        return "html"
    if sum(map(bool, map(_LISTED.match, sample))) > 0.8 * len(sample):
        return "listing"
    if sum(map(bool, map(_SEARCH.match, sample))) > 0.3 * len(sample):
        return "search"
    if len(sample) > 2 and sum(map(bool, map(_TABLE.match, sample))) > 0.7 * len(sample):
        return "table"
    return "plain"


def _are_hits(sample: Sequence[str]) -> bool:
    hits = sum(bool(_HIT.match(line) or (GREP.match(line) and " " not in line.split(":", 1)[0])) for line in sample)
    return hits > 0.6 * len(sample)


def _decoded(text: str) -> Any:
    head = text.lstrip()[:1]
    if head not in ("{", "["):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) and data else None


def _longest(data: Any) -> str:
    """The longest string of a decoded document."""
    if isinstance(data, str):
        return data
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return max(map(_longest, inner), key=len, default="")


def _thinned(lines: list[str]) -> list[str]:
    if len(lines) <= MANY:
        return lines
    head, tail = lines[: MANY // 2], lines[-MANY // 3 :]
    loud = [line for line in lines[MANY // 2 : -MANY // 3] if LOUD.search(line)]
    return head + loud[: MANY // 6] + tail
