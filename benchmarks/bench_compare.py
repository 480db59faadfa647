"""Speed of the decisions: comparing two runs of 20,000 calls, promised under 3 s, and gating one of them.

Run with `pytest benchmarks/bench_compare.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.compare.comparison import Comparison, compare
from harness.compare.load import load_pairs
from harness.compare.render import tables
from harness.gate.baseline import read_baseline, write_baseline
from harness.gate.checks import GateResult, check
from harness.gate.limits import Limits
from harness.gate.load import load_run
from harness.tables import to_text
from harness.types import TaskRow
from tests.harness.made_runs import make_recipe, make_rows, write_run

TASKS, CALLS = 500, 40


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two live runs of 500 tasks in ten sessions, 40 calls a task."""
    folder = tmp_path_factory.mktemp("runs")
    recipe = make_recipe(tasks=TASKS, per_session=50, arms=("agentmem",))

    def rows(seed: int, factor: float) -> tuple[TaskRow, ...]:
        made = make_rows(recipe, "agentmem", seed=seed, flips=0.3, factor=factor)
        return tuple(replace(row, calls=CALLS, repairs=5, actions=CALLS, actions_unsupported=1) for row in made)

    return write_run(folder / "a", recipe, rows(1, 1.0)), write_run(folder / "b", recipe, rows(2, 0.7))


def test_compare_two_runs_of_20000_calls(benchmark: BenchmarkFixture, runs: tuple[Path, Path]) -> None:
    def run() -> Comparison:
        found = compare(load_pairs(runs))
        assert "ratio" in to_text(tables(found))
        return found

    assert benchmark(run).suites[0].tasks == TASKS
    if benchmark.stats is not None:  # None under --benchmark-disable
        assert benchmark.stats.stats.min < 3.0


def test_gate_a_run_of_20000_calls(benchmark: BenchmarkFixture, runs: tuple[Path, Path]) -> None:
    kept = runs[0].parent / "baseline.json"
    write_baseline(kept, load_run(runs[0], exact=True), "2026-01-31")

    def run() -> GateResult:
        return check(read_baseline(kept), load_run(runs[1], exact=True), Limits())

    assert benchmark(run).checks
