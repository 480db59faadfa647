"""Speed of the statistics: bootstrap with 10,000 resamples over 500 tasks x 8 metrics, promised under 2 s.

Run with `pytest benchmarks/bench_stats.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.stats.bootstrap import percentile_interval, ratio_draws
from harness.stats.interval import Interval
from harness.stats.permutation import sign_flip_of

TASKS, METRICS, RESAMPLES = 500, 8, 10_000


def test_bootstrap_of_500_tasks_and_8_metrics(benchmark: BenchmarkFixture) -> None:
    values = np.random.default_rng(1).random((TASKS, METRICS))

    def run() -> list[Interval]:
        draws = ratio_draws(values, np.ones_like(values), seed=1, resamples=RESAMPLES)
        return [percentile_interval(draws[:, metric]) for metric in range(METRICS)]

    intervals = benchmark(run)
    means = values.mean(axis=0)
    assert all(low < mean < high for (low, high), mean in zip(intervals, means, strict=True))
    if benchmark.stats is not None:  # None under --benchmark-disable
        assert benchmark.stats.stats.min < 2.0


@pytest.mark.parametrize("tasks", [20, 500])
def test_sign_flips(benchmark: BenchmarkFixture, tasks: int) -> None:
    differences = np.random.default_rng(2).normal(size=tasks)
    assert 0.0 < benchmark(sign_flip_of, differences, seed=1).p <= 1.0
