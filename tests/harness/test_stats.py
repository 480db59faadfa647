"""What the statistics promise beyond the golden cases: symmetries, limits, coverage, and refusals that name the fault."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import StatisticsError
from harness.stats import attempts, bootstrap, clusters, multiple, paired, permutation, power, published, rates, ratios

counts = st.integers(0, 60)
scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40)
quick = settings(max_examples=40, deadline=None)


def arms(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [first for first, _ in pairs], [second for _, second in pairs]


@quick
@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_rate_intervals_hold_the_rate_and_mirror(pair: tuple[int, int]) -> None:
    k, n = pair
    for interval in (rates.wilson_interval, rates.clopper_pearson_interval):
        low, high = interval(k, n)
        assert 0.0 <= low <= k / n <= high <= 1.0
        mirrored = interval(n - k, n)
        assert math.isclose(low, 1.0 - mirrored.high, abs_tol=1e-9)
        assert interval(k, n, 0.01).low <= low and high <= interval(k, n, 0.01).high


@quick
@given(counts, counts)
def test_mcnemar_is_symmetric_and_a_probability(b: int, c: int) -> None:
    test, mirror = paired.mcnemar(b, c), paired.mcnemar(c, b)
    assert (test.p_exact, test.p_mid) == (mirror.p_exact, mirror.p_mid)
    assert 0.0 < test.p_mid <= test.p_exact <= 1.0


@quick
@given(scores)
def test_swapping_the_arms_mirrors_the_difference(pairs: list[tuple[float, float]]) -> None:
    first, second = arms(pairs)
    there = paired.paired_difference(first, second, seed=3, resamples=200)
    back = paired.paired_difference(second, first, seed=3, resamples=200)
    assert math.isclose(there.difference, -back.difference, abs_tol=1e-12)
    assert math.isclose(there.bootstrap.low, -back.bootstrap.high, abs_tol=1e-9)
    assert there.se_paired == pytest.approx(back.se_paired)


def test_one_task_has_no_error_and_none_is_not_zero() -> None:
    result = paired.paired_difference([0.0], [1.0], seed=1, resamples=10)
    assert (result.se_paired, result.normal, result.correlation) == (None, None, None)
    assert result.difference == 1.0


def test_outcome_table_counts_and_refuses_fractions() -> None:
    assert paired.outcome_table([1, 1, 0, 0, 0], [1, 0, 1, 0, 0]) == paired.Table(1, 1, 1, 2)
    assert paired.outcome_table([0.5, 1], [1, 1]) is None


@quick
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 1000))
def test_draws_in_blocks_equal_the_draws_at_once(units: int, resamples: int, seed: int) -> None:
    whole = np.random.default_rng(seed).integers(0, units, size=(resamples, units))
    expected = np.stack([np.bincount(row, minlength=units) for row in whole])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "CELLS_AT_ONCE", 7)
        blocks = list(bootstrap.draw_counts(seed, units, resamples))
    assert np.array_equal(np.concatenate(blocks), expected)


def test_clustered_error_grows_with_dependence() -> None:
    values = [1.0] * 10 + [0.0] * 10
    alone = clusters.clustered_mean(values, list(range(20)))
    together = clusters.clustered_mean(values, [i // 5 for i in range(20)])
    assert alone.se_cr1 == pytest.approx(alone.se_clt)
    assert together.se_cr1 is not None and alone.se_cr1 is not None and together.se_cr1 > 2 * alone.se_cr1
    wide = clusters.cluster_mean_interval(values, [i // 5 for i in range(20)], seed=1, resamples=2000)
    narrow = clusters.cluster_mean_interval(values, list(range(20)), seed=1, resamples=2000)
    assert wide.high - wide.low > narrow.high - narrow.low


def test_one_cluster_says_not_measured() -> None:
    result = clusters.clustered_mean([0.0, 1.0, 1.0], ["a", "a", "a"])
    assert result.clusters == 1 and result.se_cr1 is None and result.t is None


def test_design_effect_of_the_session_of_fifty() -> None:
    effect = clusters.design_effect(50, 0.05, 500)
    assert effect.factor == pytest.approx(3.45) and round(effect.effective_n) == 145


def test_cluster_interval_covers_the_truth() -> None:
    """Thirty sessions with a shared effect: 95 % intervals should hold 0 about 95 times in 100."""
    generator = np.random.default_rng(7)
    sessions = [i // 5 for i in range(150)]
    covered = 0
    for seed in range(100):
        shared = np.repeat(generator.normal(size=30), 5)
        low, high = clusters.cluster_mean_interval(
            shared + generator.normal(size=150), sessions, seed=seed, resamples=400
        )
        covered += low <= 0.0 <= high
    assert 86 <= covered <= 100


@quick
@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0.1, 10)), min_size=1, max_size=30))
def test_token_ratios_of_a_constant_factor_are_that_factor(pairs: list[tuple[int, float]]) -> None:
    baseline = [float(tokens) for tokens, _ in pairs]
    factor = pairs[0][1]
    treatment = [tokens * factor for tokens in baseline]
    by_task = ratios.token_ratio(baseline, treatment, seed=1, resamples=50)
    by_session = ratios.session_token_ratio(
        baseline, treatment, [i // 4 for i in range(len(pairs))], seed=1, resamples=50
    )
    for value in (by_task.ratio, by_task.geometric_mean, *by_task.bootstrap, by_session.ratio, *by_session.bootstrap):
        assert value == pytest.approx(factor)
    assert by_session.geometric == pytest.approx((factor, factor))


def test_session_ratio_interval_is_the_delta_interval_when_no_task_shares() -> None:
    baseline, treatment = [100.0, 220.0, 310.0, 90.0, 150.0], [60.0, 150.0, 170.0, 70.0, 80.0]
    alone = ratios.session_token_ratio(baseline, treatment, list("abcde"), seed=1, resamples=50)
    shared = ratios.session_token_ratio(baseline, treatment, list("aabbb"), seed=1, resamples=50)
    by_task = ratios.token_ratio(baseline, treatment, seed=1, resamples=50)
    assert alone.t is not None and by_task.delta is not None and by_task.delta_se is not None
    assert alone.t.low < by_task.delta.low < by_task.ratio < by_task.delta.high < alone.t.high  # t is wider than z
    assert math.log(alone.t.high / alone.ratio) == pytest.approx(2.7764 * by_task.delta_se / by_task.ratio, rel=1e-4)
    assert shared.t is not None and shared.t.high - shared.t.low > 0
    assert ratios.session_token_ratio(baseline, treatment, list("aaaaa"), seed=1, resamples=50).t is None


def test_ratio_without_treatment_tokens_has_no_geometric_mean() -> None:
    result = ratios.session_token_ratio([10, 10], [0, 5], ["a", "b"], seed=1, resamples=50)
    assert result.ratio == 0.25 and result.geometric_mean is None and result.geometric is None


@quick
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_bound_the_rate(case: tuple[int, int, int]) -> None:
    n, c, k = case
    at, hat = attempts.pass_at_k(n, [c], k).mean, attempts.pass_hat_k(n, [c], k).mean
    assert -1e-12 <= hat <= c / n + 1e-12 and c / n - 1e-12 <= at <= 1.0 + 1e-12
    assert math.isclose(at, 1.0 - attempts.pass_hat_k(n, [n - c], k).mean, abs_tol=1e-12)


def test_missing_attempts_count_as_failures() -> None:
    result = attempts.reliability([[1, 1], [1]])
    assert dict(result.hat) == {1: 0.75, 2: 0.5} and dict(result.at) == {1: 0.75, 2: 1.0}


@quick
@given(scores)
def test_sign_flip_is_symmetric(pairs: list[tuple[float, float]]) -> None:
    first, second = arms(pairs)
    there, back = (permutation.sign_flip(*order, seed=5, flips=400) for order in ((first, second), (second, first)))
    assert there.p == pytest.approx(back.p, abs=0.15) and 0.0 < there.p <= 1.0
    assert there.exact == (sum(a != b for a, b in pairs) <= permutation.EXACT_UP_TO)


def test_sampled_sign_flip_agrees_with_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.array([0.3, -0.1, 0.4, 0.2, -0.05, 0.25, 0.1, 0.35, -0.2, 0.15])
    exact = permutation.sign_flip_of(differences, seed=1)
    monkeypatch.setattr(permutation, "EXACT_UP_TO", 0)
    sampled = permutation.sign_flip_of(differences, seed=1, flips=2_500)
    assert exact.exact and not sampled.exact and abs(exact.p - sampled.p) < 0.02


@quick
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(values: list[float]) -> None:
    result = multiple.holm(values)
    assert all(adjusted >= p for adjusted, p in zip(result.adjusted, values, strict=True))
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranked = [result.adjusted[i] for i in order]
    assert ranked == sorted(ranked) and ranked[-1] <= 1.0


def test_power_and_detectable_difference_agree() -> None:
    smallest = power.minimum_detectable_difference(300, 0.2)
    assert smallest is not None
    assert power.mcnemar_power_normal(300, 0.2, smallest) == pytest.approx(0.8, abs=1e-9)
    assert power.mcnemar_sample_size(0.2, smallest) == pytest.approx(300, abs=1e-6)
    assert power.mcnemar_power(300, 0.2, smallest) == pytest.approx(0.8, abs=0.06)


def test_exact_power_without_an_effect_stays_below_alpha() -> None:
    assert power.mcnemar_power(200, 0.2, 0.0) <= 0.05
    assert power.mcnemar_power(5, 0.9, 0.5) < 0.01  # five pairs can never reject at 5 %


def test_printed_percentages() -> None:
    assert published.prints_as(51.515, 51.52, 2) and not published.prints_as(58.33, 59, 0)
    assert 500 in published.feasible_denominators([58.4, 64.2], 1).exact
    assert 40 in published.feasible_denominators([33, 50], 0).round_sizes  # 13/40 = 32.5 %, printed by rounding up


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("no values", lambda: paired.paired_difference([], [], seed=1)),
    ("baseline has 1, treatment 2", lambda: paired.paired_difference([1], [1, 0], seed=1)),
    ("value 1 is nan", lambda: paired.paired_difference([1, math.nan], [1, 0], seed=1)),
    ("0 <= successes <= n", lambda: rates.wilson_interval(3, 2)),
    ("0 <= successes <= n", lambda: rates.wilson_interval(0, 0)),
    ("alpha must lie between 0 and 1", lambda: rates.wilson_interval(1, 2, 1.5)),
    ("discordant counts cannot be negative", lambda: paired.mcnemar(-1, 2)),
    ("k = 5 cannot be estimated", lambda: attempts.pass_at_k(3, [1], 5)),
    ("k = 2 cannot be estimated", lambda: attempts.pass_hat_k([3, 1], [1, 1], 2)),
    ("4 successes of 3", lambda: attempts.pass_at_k(3, [4], 1)),
    ("one attempt of every task", lambda: attempts.reliability([[1], []])),
    ("baseline tokens of task 1 are 0", lambda: ratios.token_ratio([5, 0], [1, 1], seed=1)),
    ("2 values but 1 cluster names", lambda: clusters.clustered_mean([1, 0], ["a"])),
    ("impossible for sessions of 50", lambda: clusters.design_effect(50, -0.5, 500)),
    ("a p value lies between 0 and 1", lambda: multiple.holm([1.2])),
    ("at least that share of discordant tasks", lambda: power.mcnemar_power(10, 0.1, 0.2)),
    ("cannot be found", lambda: power.mcnemar_sample_size(0.1, 0.0)),
    ("cannot be told apart", lambda: power.unpaired_sample_size(0.3, 0.3)),
    ("denominator of zero", lambda: bootstrap.ratio_draws(np.ones(1), np.zeros(1), seed=1)),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[message for message, _ in REFUSED])
def test_undefined_figures_are_refused_by_name(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(StatisticsError, match=message.replace("(", r"\(")):
        call()
