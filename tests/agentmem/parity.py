"""Golden cases of the memory that show no defect of upstream."""

from __future__ import annotations

from typing import Any

from tests.golden import golden_cases


def upstream_cases(kind: str) -> list[Any]:
    """The cases of a kind without the mark ``bug``; where ours deviates on purpose, a test of its own says how."""
    return [case for case in golden_cases(f"memory/{kind}.jsonl") if not case.values[0].get("bug")]
