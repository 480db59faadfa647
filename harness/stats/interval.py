"""An interval with two finite ends, and the checks every statistic starts with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.errors import StatisticsError

FloatArray = npt.NDArray[np.float64]
Numbers = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


class Interval(NamedTuple):
    """Lower and upper end, in the unit of the estimate it belongs to."""

    low: float
    high: float


def as_numbers(values: Numbers, what: str) -> FloatArray:
    """Return `values` as a float array of shape (n,); refuse an empty list and values that are not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise StatisticsError(f"{what}: expected a flat list of numbers, got {array.ndim} dimensions")
    if array.size == 0:
        raise StatisticsError(f"{what}: no values; a statistic needs at least one task")
    if not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array))[0])
        raise StatisticsError(f"{what}: value {where} is {array[where]}; every value must be a finite number")
    return array


def as_pairs(baseline: Numbers, treatment: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return both arms as float arrays of one length; position i is the same task in both."""
    first, second = as_numbers(baseline, "baseline"), as_numbers(treatment, "treatment")
    if first.size != second.size:
        raise StatisticsError(
            f"paired data need the same tasks in both arms: baseline has {first.size}, treatment {second.size}"
        )
    return first, second


def check_share(value: float, what: str) -> float:
    """Return `value` when it lies strictly between 0 and 1 (an alpha, a power, a rate); raise otherwise."""
    if not 0.0 < value < 1.0:
        raise StatisticsError(f"{what} must lie between 0 and 1, got {value}")
    return value


def finite_or_none(value: float) -> float | None:
    """Turn an undefined figure (NaN or infinity) into `None`, which prints as "not measured"."""
    return float(value) if math.isfinite(value) else None


def standard_error(values: FloatArray) -> float | None:
    """sd / sqrt(n) with n - 1 in the variance; `None` for a single value."""
    if values.size < 2:
        return None
    return float(values.std(ddof=1) / math.sqrt(values.size))


def normal_interval(estimate: float, error: float | None, alpha: float) -> Interval | None:
    """estimate +- z * error; `None` when the error is not defined."""
    from scipy.special import ndtri

    if error is None:
        return None
    half = float(ndtri(1.0 - check_share(alpha, "alpha") / 2.0)) * error
    return Interval(estimate - half, estimate + half)


def t_interval(estimate: float, error: float | None, degrees: int, alpha: float) -> Interval | None:
    """estimate +- t * error with `degrees` of freedom; `None` when the error or the quantile is not defined."""
    from scipy.special import stdtrit

    if error is None or degrees < 1:
        return None
    half = float(stdtrit(degrees, 1.0 - check_share(alpha, "alpha") / 2.0)) * error
    return Interval(estimate - half, estimate + half)
