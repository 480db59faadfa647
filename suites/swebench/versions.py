"""The releases of ``swebench`` whose grading rules are kept side by side, and where they differ."""

from __future__ import annotations

from typing import Literal, get_args

from harness.errors import UnknownName

Version = Literal["5.0.2", "4.1.0", "3.0.17"]
DEFAULT: Version = "5.0.2"
VERSIONS: tuple[Version, ...] = get_args(Version)


def known(version: str) -> Version:
    """The version as a known one. Raises ``UnknownName`` for any other."""
    for candidate in VERSIONS:
        if candidate == version:
            return candidate
    raise UnknownName("swebench version", version, VERSIONS)


def is_5(version: Version) -> bool:
    """The rules of 5.x: skipped tests count, cut ids are completed, logs that contradict themselves are invalid."""
    return version == "5.0.2"
