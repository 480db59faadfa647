"""The five rules that say when the persona is written, in order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentmem.longterm.persona_trigger import persona_trigger
from tests.agentmem.parity import upstream_cases


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("persona_trigger"))
def test_as_upstream(case: dict[str, Any]) -> None:
    given = case["input"]
    counters = given["checkpoint"] or {}
    if given["checkpoint_raw"]:
        try:
            counters = json.loads(given["checkpoint_raw"])
        except ValueError:
            counters = {}
    has_scenes = any(name.endswith(".md") for name in given["scene_files"])
    trigger = persona_trigger(counters, has_scenes, given["persona_md"], given["interval"])
    got = (trigger is not None, trigger and trigger.priority, trigger and trigger.detail)
    assert got == tuple(case["expected"][key] for key in ("should", "priority", "detail"))


def test_the_first_rule_that_matches_wins() -> None:
    everything: dict[str, Any] = {
        "request_persona_update": True,
        "scenes_processed": 1,
        "memories_since_last_persona": 60,
    }
    order: list[str | None] = []
    for change in (
        {"request_persona_update": False},
        {"last_persona_at": 5},
        {},
        {"scenes_processed": 2},
        {"memories_since_last_persona": 0},
    ):
        trigger = persona_trigger(everything, has_scenes=True, persona="" if len(order) < 3 else "# P", interval=50)
        order.append(trigger.priority if trigger else None)
        everything |= change
    assert order == ["1", "2", "2.5", "3", "4"]


def test_an_interval_of_0_never_fires() -> None:
    assert persona_trigger({"last_persona_at": 1, "memories_since_last_persona": 9}, True, "# P", 0) is None
