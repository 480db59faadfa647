"""Says how a request differs from the nearest recorded one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

SHOWN = 30  # lines of the difference


def describe_miss(asked: Mapping[str, Any], lane: str, recorded: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The message of a ``CassetteMiss``."""
    start = f"the cassette holds no unused answer to {asked['method']} {asked['path']} in lane {lane!r}"
    if not recorded:
        return f"{start}; nothing was recorded there"
    wanted = _lines(asked)
    name, lines = min(
        ((name, _lines(request)) for name, request in recorded), key=lambda pair: _distance(wanted, pair[1])
    )
    if lines == wanted:
        return f"{start}; {name} is the same request and was already replayed: it is made more often than recorded"
    difference = difflib.unified_diff(lines, wanted, f"recorded {name}", "asked now", lineterm="", n=1)
    shown = [line[:300] for line in difference]
    more = f"\n[... {len(shown) - SHOWN} more lines]" if len(shown) > SHOWN else ""
    return f"{start}; the nearest is {name}:\n" + "\n".join(shown[:SHOWN]) + more


def _lines(request: Mapping[str, Any]) -> list[str]:
    return json.dumps(request, indent=1, sort_keys=True, ensure_ascii=False).split("\n")


def _distance(one: list[str], other: list[str]) -> tuple[int, int]:
    mine, theirs = set(one), set(other)
    return len(mine ^ theirs), abs(len(one) - len(other))
