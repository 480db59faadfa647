"""Parity of every statistic with the cases of stats.jsonl, each at its own tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.errors import StatisticsError
from harness.stats import attempts, bootstrap, clusters, multiple, paired, permutation, power, published, rates, ratios
from tests.golden import golden_cases

Given = dict[str, Any]


def mcnemar(given: Given) -> Given:
    result = paired.mcnemar(given["baseline_only_pass"], given["treatment_only_pass"])
    return {"p_exact_two_sided": result.p_exact, "p_mid": result.p_mid, "p_chi2_corrected": result.p_chi2}


def proportion_interval(given: Given) -> Given:
    values = given["successes"], given["n"], given["alpha"]
    return {"wilson": rates.wilson_interval(*values), "clopper_pearson": rates.clopper_pearson_interval(*values)}


def unpaired_rates(given: Given) -> Given:
    result = rates.unpaired_rates(tuple(given["treatment"]), tuple(given["baseline"]))
    return {
        "z": result.z,
        "p_two_sided": result.p,
        "difference": result.difference,
        "newcombe_ci95": result.newcombe,
        "fisher_p": result.fisher_p,
    }


def paired_difference(given: Given) -> Given:
    arms = given["baseline"], given["treatment"]
    options = {"seed": given["seed"], "resamples": given["resamples"], "alpha": given["alpha"]}
    result, table = paired.paired_difference(*arms, **options), paired.outcome_table(*arms)
    test = paired.mcnemar(table.baseline_only, table.treatment_only) if table else None
    return {
        "mean_baseline": result.mean_baseline,
        "mean_treatment": result.mean_treatment,
        "difference": result.difference,
        "se_unpaired": result.se_unpaired,
        "se_paired": result.se_paired,
        "normal_ci_paired": result.normal,
        "bootstrap_percentile_ci": result.bootstrap,
        "bootstrap_bca_ci": bootstrap.bca_interval(*arms, **options),
        "pearson_r": result.correlation,
        "treatment_only": table.treatment_only if table else None,
        "baseline_only": table.baseline_only if table else None,
        "mcnemar_exact_p": test.p_exact if test else None,
        "scipy_percentile_identical": True,  # a remark of whoever made the case
    }


def token_ratio(given: Given) -> Given:
    arms = given["baseline_tokens"], given["treatment_tokens"]
    result = ratios.token_ratio(*arms, seed=given["seed"], resamples=given["resamples"], alpha=given["alpha"])
    return {
        "ratio_of_totals": result.ratio,
        "reduction_percent": result.reduction_percent,
        "bootstrap_percentile_ci": result.bootstrap,
        "delta_se": result.delta_se,
        "delta_log_ci": result.delta,
        "geometric_mean_ratio": result.geometric_mean,
        "geometric_ci_t": result.geometric,
        "wilcoxon_signed_rank_p": permutation.wilcoxon_p(*arms),
    }


def clustered_se(given: Given) -> Given:
    result = clusters.clustered_mean(given["values"], given["cluster"])
    return {
        "mean": result.mean,
        "n": result.n,
        "clusters": result.clusters,
        "se_clt_ddof1": result.se_clt,
        "se_clustered_miller": result.se_miller,
        "se_cr0": result.se_cr0,
        "se_cr1_small_sample": result.se_cr1,
        "design_effect_cr0_over_clt": result.design_effect,
        "t_ci95_cr1": result.t,
    }


def cluster_bootstrap(given: Given) -> Given:
    options = {"seed": given["seed"], "resamples": given["resamples"], "alpha": given["alpha"]}
    interval = clusters.cluster_mean_interval(given["differences"], given["session"], **options)
    return {"mean": sum(given["differences"]) / len(given["differences"]), "percentile_ci": interval}


def cluster_token_ratio(given: Given) -> Given:
    options = {"seed": given["seed"], "resamples": given["resamples"], "alpha": given["alpha"]}
    result = ratios.session_token_ratio(
        given["baseline_tokens"], given["treatment_tokens"], given["session"], **options
    )
    return {
        "ratio_of_totals": result.ratio,
        "percentile_ci": result.bootstrap,
        "session_ratios": result.session_ratios,
    }


def design_effect(given: Given) -> Given:
    result = clusters.design_effect(given["tasks_per_session"], given["icc"], given["n_tasks"])
    return {"design_effect": result.factor, "effective_n": result.effective_n}


def pass_at_k(given: Given) -> Given:
    values = given["num_samples"], given["num_correct"], given["k"]
    most = min(values[0]) if isinstance(values[0], list) else values[0]
    if given["k"] > most:
        with pytest.raises(StatisticsError, match="cannot be estimated"):
            attempts.pass_at_k(*values)
    result = attempts.pass_at_k(*values, reference=given["k"] > most)
    return {"per_task": result.per_task, "mean": result.mean}


def pass_hat_k(given: Given) -> Given:
    result = attempts.reliability(given["rewards_by_task"])
    return {
        "average_reward": result.average_reward,
        "pass_hat_k": {str(k): value for k, value in result.hat},
    }


def paired_permutation(given: Given) -> Given:
    arms = given["baseline"], given["treatment"]
    result = permutation.sign_flip(*arms, seed=0)
    return {
        "mean_difference": result.difference,
        "sign_flip_exact_p": result.p,
        "wilcoxon_p": permutation.wilcoxon_p(*arms),
    }


def holm(given: Given) -> Given:
    result = multiple.holm(given["p_values"], given["alpha"])
    return {"adjusted": result.adjusted, "reject": result.reject}


def mcnemar_power(given: Given) -> Given:
    design = given["n"], given["discordant_rate"], given["difference"], given["alpha"]
    rate, difference, alpha = design[1:]
    return {
        "power_exact_test": power.mcnemar_power(*design),
        "power_normal": power.mcnemar_power_normal(*design),
        "n_for_80_percent_connor": power.mcnemar_sample_size(rate, difference, 0.8, alpha),
        "n_for_80_percent_exact_first": lambda: power.mcnemar_sample_size_exact(rate, difference, 0.8, alpha),
    }


def minimum_detectable_difference(given: Given) -> Given:
    return {"difference": power.minimum_detectable_difference(**given)}


def unpaired_sample_size(given: Given) -> Given:
    result = power.unpaired_sample_size(**given)
    return {"n_per_arm_pooled_z": result.pooled_z, "n_per_arm_arcsine": result.arcsine}


def miller_sample_size(given: Given) -> Given:
    return {"n": power.attempts_sample_size(**given)}


def published_arithmetic(given: Given, expected: Given) -> Given:
    printed = expected["published_relative_gain_percent"]
    decimals = len(str(printed).partition(".")[2])
    gain = published.percent_change(given["baseline_percent"], given["treatment_percent"])
    result: Given = {
        "relative_gain_percent": gain,
        "published_relative_gain_percent": printed,
        "relative_gain_matches": published.prints_as(gain, printed, decimals),
    }
    if given["baseline_tokens_m"] is not None:
        change = published.percent_change(given["baseline_tokens_m"], given["treatment_tokens_m"])
        result["token_change_percent"] = change
        result["published_token_change_percent"] = expected["published_token_change_percent"]
        result["token_change_matches_2dp"] = published.prints_as(change, expected["published_token_change_percent"], 2)
    return result


PRINTED_GAIN = {"WideSearch": 51.52, "SWE-bench": 9.93, "AA-LCR": 7.95, "PersonaMem": 59}


def denominator_feasibility(given: Given) -> Given:
    gain = PRINTED_GAIN[given["suite"]]
    result = published.feasible_denominators(
        given["percent"], given["decimals"], gain=gain, gain_decimals=0 if gain == 59 else 2
    )
    return {
        "round_sizes_that_fit_after_rounding": result.round_sizes,
        "smallest_exact_denominators": result.exact,
        "all_that_fit_up_to_1000": result.count,
        "first_that_fit": result.first,
        "fit_including_the_published_relative_gain": result.with_gain,
    }


KINDS: dict[str, Callable[[Given], Given]] = {
    function.__name__: function
    for function in (
        mcnemar,
        proportion_interval,
        unpaired_rates,
        paired_difference,
        token_ratio,
        clustered_se,
        cluster_bootstrap,
        cluster_token_ratio,
        design_effect,
        pass_at_k,
        pass_hat_k,
        paired_permutation,
        holm,
        mcnemar_power,
        minimum_detectable_difference,
        unpaired_sample_size,
        miller_sample_size,
        denominator_feasibility,
    )
}


def assert_close(got: Any, expected: Any, tolerance: float, where: str) -> None:
    if callable(got):
        got = got()
    if isinstance(expected, bool) or expected is None or isinstance(expected, str):
        assert got == expected, where
    elif isinstance(expected, dict):
        assert set(got) == set(expected), where
        for key, value in expected.items():
            assert_close(got[key], value, tolerance, f"{where}.{key}")
    elif isinstance(expected, list):
        assert got is not None and len(got) == len(expected), where
        for index, value in enumerate(expected):
            assert_close(got[index], value, tolerance, f"{where}[{index}]")
    else:
        assert got is not None and abs(got - expected) <= tolerance, f"{where}: {got} is not {expected}"


@pytest.mark.golden
@pytest.mark.parametrize("case", golden_cases("stats.jsonl"))
def test_golden(case: Given) -> None:
    if case["kind"] == "published_arithmetic":
        got = published_arithmetic(case["input"], case["expected"])
    else:
        got = KINDS[case["kind"]](case["input"])
    for key, value in case["expected"].items():
        assert key in got, f"{case['id']}: nothing computes {key}"
        assert_close(got[key], value, case["abs_tolerance"], f"{case['id']}.{key}")
