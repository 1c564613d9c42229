"""Ranks, tests, intervals and curves that compare methods. M methods, P problems, R runs; smaller is better.

Ranks, intervals and curves need NumPy alone; the tests and the critical difference need SciPy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from meco.errors import load_extra

ALPHA = 0.05
RANKED_DIGITS = 12  # of means that are ranked: beyond them is rounding
TARGETS = 10.0 ** -np.linspace(0.0, 4.0, 41)  # shares of the first gap still open, for the ECDF


def _scipy_stats() -> Any:
    """SciPy's statistics; MissingExtra where SciPy is not installed."""
    return load_extra("scipy.stats", "peers", "a significance test")


def rank_first_axis(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 along the first axis: [n, ...]; equal values share the mean of theirs, nan stays nan."""
    values = np.asarray(values, dtype=np.float64)
    less = np.nansum(values[:, None] > values[None], axis=1)  # how many are smaller
    same = np.nansum(values[:, None] == values[None], axis=1)
    return np.where(np.isnan(values), np.nan, less + (same + 1) / 2)


def round_digits(values: np.ndarray) -> np.ndarray:
    """Values with RANKED_DIGITS significant digits: means that differ by the order of their sums alone become equal."""
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exponent = np.floor(np.log10(np.abs(values)))
        mantissa = values / 10.0**exponent
        rounded = np.round(mantissa, RANKED_DIGITS - 1) * 10.0**exponent
    return np.where(np.isfinite(rounded) & (values != 0.0), rounded, values)


def nan_mean(values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Mean along axes of [...] of what is not nan; nan where nothing is left."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, np.where(there, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def nan_min(values: np.ndarray, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Least along axes of [...] of what is not nan; nan where nothing is left."""
    least = np.where(np.isnan(values), np.inf, values).min(axis=axis)
    return np.where(np.isnan(values).all(axis=axis), np.nan, least)


def nan_max(values: np.ndarray, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Greatest along axes of what is not nan; nan where nothing is left."""
    return -nan_min(-values, axis)


def feasibility_order(feasible: np.ndarray, f: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """Runs as numbers whose order is feasibility first: feasible by f, then infeasible by nu; [...] -> [...].

    Only the order means something. What did not run (nu is nan) stays nan.
    """
    flat = [np.asarray(a).reshape(-1) for a in (feasible, f, nu)]
    there = ~np.isnan(flat[2].astype(np.float64))
    major = np.where(flat[0].astype(bool), 0.0, 1.0)
    minor = np.where(flat[0].astype(bool), flat[1], flat[2])
    _, place = np.unique(np.stack([major, minor], axis=1), axis=0, return_inverse=True)
    return np.where(there, place.reshape(-1).astype(np.float64), np.nan).reshape(np.shape(feasible))


class Feasibility(NamedTuple):
    """Runs of one method on one problem under feasibility first."""

    rate: float  # share of feasible runs
    mean: float  # f over the feasible runs, nan without any
    std: float
    violation: float  # mean nu over the infeasible runs, nan without any


def summarize_feasibility(feasible: np.ndarray, f: np.ndarray, nu: np.ndarray) -> Feasibility:
    """How often runs [R] were feasible, and how good; runs that are not there are nan in nu, and all nan gives nan."""
    there = ~np.isnan(nu)
    ok, bad = there & feasible, there & ~feasible
    if not there.any():
        return Feasibility(*[float("nan")] * 4)
    return Feasibility(
        ok.sum() / there.sum(),
        float(f[ok].mean()) if ok.any() else float("nan"),
        float(f[ok].std()) if ok.any() else float("nan"),
        float(nu[bad].mean()) if bad.any() else float("nan"),
    )


def feasibility_ranks(cells: list[Feasibility]) -> np.ndarray:
    """Ranks of methods on one problem [M]: more feasible runs first, then smaller mean f, or violation if none.

    nan for one without runs.
    """
    rate = np.array([c.rate for c in cells])
    second = round_digits(np.array([c.mean if c.rate > 0 else c.violation for c in cells]))
    order = np.stack([-rate, second], axis=1)
    _, place = np.unique(order, axis=0, return_inverse=True)
    return rank_first_axis(np.where(np.isnan(rate), np.nan, place.reshape(-1)))


class Friedman(NamedTuple):
    """Whether average ranks differ at all."""

    statistic: float  # chi-squared, corrected for ties
    p: float


def friedman_test(table: np.ndarray) -> Friedman:
    """Friedman's test on ranks [M, P] without nan (Demšar 2006): all methods equal on all problems? Needs SciPy."""
    m, p = table.shape
    spread = np.sum((table.mean(axis=1) - (m + 1) / 2) ** 2) * p
    variance = np.sum((table - (m + 1) / 2) ** 2) / (p * (m - 1))  # (m^2 + m) / 12 without ties
    statistic = spread / variance if variance > 0 else 0.0
    return Friedman(float(statistic), float(_scipy_stats().chi2.sf(statistic, m - 1)))


def critical_difference(methods: int, problems: int, alpha: float = ALPHA) -> float:
    """Nemenyi: average ranks further apart than this differ (q_alpha sqrt(M (M+1) / (6 P))). Needs SciPy."""
    q = _scipy_stats().studentized_range.ppf(1 - alpha, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * problems)))


def find_cliques(average: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """Widest groups of methods within the critical difference: (first, last) places in average [M], which is sorted."""
    found: list[tuple[int, int]] = []
    for first in range(len(average)):
        last = first
        while last + 1 < len(average) and average[last + 1] - average[first] <= difference:
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def holm_correction(p: np.ndarray) -> np.ndarray:
    """p-values [n] corrected for n tests by Holm's step-down rule; nan takes no part."""
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p)[: int(np.sum(~np.isnan(p)))]
    steps = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    out = np.full(p.shape, np.nan)
    out[order] = np.minimum(steps, 1.0)
    return out


def wilcoxon_p(a: np.ndarray, b: np.ndarray) -> float:
    """p of the two-sided signed-rank test on pairs [P] without nan; 1 when they are all equal. Needs SciPy."""
    if np.all(a == b):
        return 1.0
    return float(_scipy_stats().wilcoxon(a, b).pvalue)


def rank_sum_p(a: np.ndarray, b: np.ndarray) -> float:
    """p of the two-sided rank-sum test (Mann-Whitney) of two methods' runs [R] on one problem; 1 when all are equal.

    nan is left out. Needs SciPy.
    """
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    return 1.0 if np.unique([*a, *b]).size == 1 else float(_scipy_stats().mannwhitneyu(a, b).pvalue)


def least_rank_sum_p(a: int, b: int) -> float:
    """The least p that the rank-sum test can have with so many runs of two methods: all of one before all of the other.

    >>> least_rank_sum_p(3, 3), round(least_rank_sum_p(4, 4), 3)
    (0.1, 0.029)
    """
    return min(1.0, 2.0 / math.comb(a + b, a))


class RankTest(NamedTuple):
    """Whether two methods' runs differ in place over the problems, and in which direction."""

    p: float
    ahead: bool  # the first one's runs have the better mean place


def compare_ranks(mine: np.ndarray, other: np.ndarray) -> RankTest:
    """Signed-rank test over problems on the mean places of two methods' runs [P, R].

    Only these two methods are ranked, so that p does not depend on who else took part. On a single problem
    the runs themselves are compared, by the test that counts wins and losses.
    """
    places = pooled_ranks(np.stack([mine, other]))
    p = rank_sum_p(mine[0], other[0]) if len(mine) == 1 else wilcoxon_p(*places)
    return RankTest(p, bool(places[0].mean() < places[1].mean()))


class WinTieLoss(NamedTuple):
    """On how many problems one method did better, the same, or worse than another."""

    wins: int
    ties: int
    losses: int


def win_tie_loss(mine: np.ndarray, other: np.ndarray, alpha: float = ALPHA) -> WinTieLoss:
    """Problems on which runs [P, R] differ by a rank-sum test (Mann-Whitney, two-sided), by direction; less wins.

    Problems that one of them has no run on do not count. Needs SciPy.
    """
    tallies = {"wins": 0, "ties": 0, "losses": 0}
    for a, b in zip(mine, other):
        if np.isnan(a).all() or np.isnan(b).all():
            continue
        below = np.sum(a[:, None] < b) - np.sum(a[:, None] > b)
        tallies["ties" if rank_sum_p(a, b) >= alpha or below == 0 else "wins" if below > 0 else "losses"] += 1
    return WinTieLoss(**tallies)


def pooled_ranks(values: np.ndarray) -> np.ndarray:
    """Mean place of each method's runs among all runs on a problem, 0 best to 1 worst: [M, P, R] -> [M, P].

    Missing runs are nan; nan for a method without any.
    """
    m, p, _ = values.shape
    out = np.full((m, p), np.nan)
    for j in range(p):
        place = rank_first_axis(values[:, j].reshape(-1)).reshape(m, -1)
        count = np.sum(~np.isnan(place))
        with np.errstate(all="ignore"):
            out[:, j] = (np.nansum(place, axis=1) / np.sum(~np.isnan(place), axis=1) - 1) / max(count - 1, 1)
    return out


def bootstrap_interval(
    values: np.ndarray, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the mean of values [n], n > 0; drawn anew with replacement, the same for the same seed."""
    values = np.asarray(values, dtype=np.float64)
    index = np.random.default_rng(seed).integers(len(values), size=(draws, len(values)))
    means = values[index].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def normalised_performance(score: np.ndarray) -> np.ndarray:
    """The paper's UAV score: 1 for the best f+nu any run found on a mission, 0 for the worst; [M, P, R].

    nan for a missing run; all are 1 where all found the same.
    """
    with np.errstate(invalid="ignore"):
        finite = np.where(np.isfinite(score), score, np.nan)
        best = nan_min(finite, (0, 2))[:, None]  # [P, 1]
        worst = nan_max(finite, (0, 2))[:, None]
        share = (worst - score) / np.where(worst > best, worst - best, 1.0)
    share = np.where(np.isnan(score), np.nan, np.where(np.isposinf(score), 0.0, share))
    return np.where((worst == best) & ~np.isnan(score), 1.0, share)


def share_of_gap(curves: np.ndarray, best: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Share of the first gap still open: (S - S_best) / (S_0 - S_best), per problem; curves [M, P, R, T].

    The difference itself where S_0 is not above S_best.
    """
    gap = np.where(first > best, first - best, 1.0)
    with np.errstate(invalid="ignore"):  # where nothing finite was found
        return (curves - best[:, None, None]) / gap[:, None, None]


def ecdf(open_gap: np.ndarray, targets: np.ndarray = TARGETS) -> np.ndarray:
    """Share of (problem, run, target) triples reached by each evaluation count: [M, P, R, T] -> [M, T].

    open_gap falls with time; a target is reached when the gap is no larger. nan is not reached,
    and runs that are nan throughout do not count.
    """
    there = ~np.all(np.isnan(open_gap), axis=-1)  # [M, P, R]
    reached = np.zeros(open_gap.shape[:1] + open_gap.shape[-1:])
    with np.errstate(invalid="ignore"):
        for target in targets:
            hit = (open_gap <= target) & there[..., None]
            reached += hit.sum(axis=(1, 2))
    return reached / np.maximum(there.sum(axis=(1, 2)), 1)[:, None] / len(targets)
