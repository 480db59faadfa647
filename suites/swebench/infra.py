"""Tells a broken environment from a wrong patch by signatures in a log. Advice only: it never changes a verdict.

Signatures of ``swebench`` 5.0.2 (MIT); the first that occurs wins.
"""

from __future__ import annotations

import re

ENVIRONMENT, AMBIGUOUS = "environment", "ambiguous"
_SIGNATURES = tuple(
    (reason, tier, re.compile(pattern, re.MULTILINE))
    for reason, tier, pattern in (
        ("browser_launch_failed", ENVIRONMENT, r"Failed to launch|Failed to connect to the bus"),
        ("display_unavailable", ENVIRONMENT, r"cannot open display|Missing X server|unable to open X display"),
        ("out_of_memory", ENVIRONMENT, r"Cannot allocate memory|OutOfMemoryError|^Killed$"),
        ("container_unavailable", ENVIRONMENT, r"Error response from daemon|Cannot connect to the Docker daemon"),
        ("network_unreachable", ENVIRONMENT, r"Could not resolve host|Temporary failure in name resolution"),
        ("missing_module", AMBIGUOUS, r"Cannot find module|MODULE_NOT_FOUND|ModuleNotFoundError"),
        ("no_tests_collected", AMBIGUOUS, r"no tests ran|collected 0 items"),
        ("tests_timed_out", AMBIGUOUS, r"Timeout error: \d+ seconds exceeded"),
    )
)


def classify(text: str) -> tuple[str, str] | None:
    """(reason, tier) of the first signature in the text; ``None`` without one."""
    return next(((reason, tier) for reason, tier, pattern in _SIGNATURES if pattern.search(text)), None)
