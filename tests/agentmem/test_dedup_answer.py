"""Decisions on duplicates: golden parity, and the checks against what the model was shown."""

from __future__ import annotations

from typing import Any

import pytest

from agentmem.longterm.dedup_answer import Decision, parse_decisions, settle
from tests.agentmem.parity import upstream_cases


def as_golden(decision: Decision) -> dict[str, Any]:
    fields = {
        "record_id": decision.id,
        "action": decision.action,
        "target_ids": list(decision.targets),
        "merged_content": decision.content,
        "merged_type": decision.type,
        "merged_priority": decision.priority,
        "merged_timestamps": None if decision.timestamps is None else list(decision.timestamps),
    }
    return {key: value for key, value in fields.items() if value is not None}


@pytest.mark.golden
@pytest.mark.parametrize("case", upstream_cases("dedup_parse"))
def test_decisions_are_read_as_upstream(case: dict[str, Any]) -> None:
    decisions = parse_decisions(case["input"]["raw"], case["input"]["record_ids"])
    assert list(map(as_golden, decisions)) == case["expected"]["decisions"]


def test_decisions_behind_reasoning_count() -> None:
    raw = '<think>[n1] looks old</think>[{"record_id":"n1","action":"skip","target_ids":[]}]'
    assert parse_decisions(raw, ["n1"]) == [Decision("n1", "skip")]


POOL = {"n1": ["o1", "o2"], "n2": ["o2", "n1"], "n3": []}


@pytest.mark.parametrize(
    ("decisions", "settled"),
    [
        ([Decision("zz", "skip")], {"n1": Decision("n1")}),
        ([Decision("n1", "skip", ("o1",)), Decision("n1", "store")], {"n1": Decision("n1", "skip", ("o1",))}),
        ([Decision("n1", "update", ("made-up",), "c")], {"n1": Decision("n1")}),
        ([Decision("n1", "update", ("o1", "made-up", "o1"), "c")], {"n1": Decision("n1", "update", ("o1",), "c")}),
        ([Decision("n1", "merge", ("o1",), " ")], {"n1": Decision("n1")}),
        ([Decision("n1", "merge", (), "c")], {"n1": Decision("n1")}),
        ([Decision("n3", "skip")], {"n3": Decision("n3")}),
        ([Decision("n1", "skip")], {"n1": Decision("n1", "skip")}),
        ([Decision("n2", "update", ("n1",), "c")], {"n2": Decision("n2", "update", ("n1",), "c")}),
        (
            [Decision("n1", "update", ("o2",), "a"), Decision("n2", "update", ("o2",), "b")],
            {"n1": Decision("n1", "update", ("o2",), "a"), "n2": Decision("n2")},
        ),
    ],
)
def test_only_what_was_shown_can_be_replaced_and_only_once(
    decisions: list[Decision], settled: dict[str, Decision]
) -> None:
    got = settle(decisions, ["n1", "n2", "n3"], POOL)
    assert list(got) == ["n1", "n2", "n3"]
    assert {id: got[id] for id in settled} == settled
