"""Files upstream keeps: names of result files, text stripped before storing, tolerant reading of JSON lines (A4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from agentmem.offload.reference.script import parse, stringify, trim

_UNSAFE = re.compile(
    r"[\ufffd\x00-\x08\x0b\x0c\x0e-\x1f\x80-\x9f\ud800-\udfff\u200b-\u200f\u2028\u2029\ufeff]",
)
_BEYOND_COMMON = re.compile(r"[^\t\n\r\x20-\x7e\u00a0-\u024f\u3400-\u4dbf\u4e00-\u9fff\uff00-\uffef]")
_BEYOND_ASCII = re.compile(r"[^\t\n\r\x20-\x7e]")
SAMPLE = 200  # characters of a corrupt line that are shown


def file_name(iso: str) -> str:
    """The name of a result file, without its ending, from an ISO time."""
    return iso.replace(":", "-").replace(".", "-").replace("+", "p")


def sanitize_text(text: Any) -> Any:
    """Strip characters that upstream does not store; what is no text is returned as it is."""
    if not isinstance(text, str):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _UNSAFE.sub("", joined)


def sanitize_line(line: str) -> str:
    """Repair a JSON line: strip; keep common characters only; keep ASCII only and write anew; else ``{}``."""
    stripped = sanitize_text(line)
    for attempt in (stripped, _BEYOND_COMMON.sub("", stripped)):
        try:
            parse(attempt)
        except ValueError:
            continue
        return str(attempt)
    try:
        return stringify(parse(_BEYOND_ASCII.sub("", stripped)))
    except ValueError:
        return "{}"


@dataclass(slots=True)
class Lines:
    """What a tolerant reading found. ``sample`` is the beginning of the first corrupt line."""

    entries: list[Any] = field(default_factory=list)
    corrupt: int = 0
    invalid: int = 0
    sample: str | None = None


def read_lines(content: str, skip_validation: bool = False) -> Lines:
    """Read JSON lines: a line that parses neither raw nor stripped is corrupt, one without an id is invalid."""
    found = Lines()
    for line in content.split("\n"):
        text = trim(line)
        if not text:
            continue
        try:
            entry = _parsed(text)
        except ValueError:
            found.corrupt += 1
            found.sample = text[:SAMPLE] if found.sample is None else found.sample
            continue
        call = entry.get("tool_call_id") if isinstance(entry, dict) else None
        if skip_validation or (isinstance(call, str) and call):
            found.entries.append(entry)
        else:
            found.invalid += 1
    return found


def _parsed(text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return parse(sanitize_text(text))
