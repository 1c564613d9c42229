"""Profiles, expected running times and U-scores of runs: M methods, P problems, R runs, T checkpoints.

A problem is solved to accuracy tau when a run has closed all but a share tau of the gap between a common first value
and the best of all methods (Moré and Wild 2009, eq. 2.2). Under constraints the value is f of a feasible point; where
no run of any method was feasible, it is the violation. Runs that are missing are nan, and do not count.
"""

from __future__ import annotations

import numpy as np

from meco.bench.report import stats

ACCURACIES = (1e-1, 1e-3, 1e-5)  # tau
TARGET_GAPS = (1e-1, 1e-2, 1e-4)  # of max(1, |f*|) above the known optimum, for expected running times
SOLVED_GAP = 1e-8  # of max(1, |f*|): a trial that comes so near has reached the target of the U-score


def open_share(f: np.ndarray, nu: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
    """The share of the gap that is open at every checkpoint, feasibility first: [M, P, R, T].

    f is nan where the best point is infeasible, nu is its violation. Infinite while infeasible, where others are not.
    The gap begins at the worst feasible f of any run, or at first [P], the merit f + nu of the first points, if that is
    larger: where feasible points lie close together, what methods make of a tolerance would decide otherwise.
    """
    solved = ~np.all(np.isnan(f), axis=(0, 2, 3))[:, None, None]  # [P, 1, 1]
    value = np.where(solved, f, nu)
    finite = np.where(np.isfinite(value), value, np.nan)
    most = stats.nan_max(finite, (0, 2, 3))
    if first is not None:
        most = np.where(solved[:, 0, 0], np.fmax(most, first), most)
    share = stats.share_of_gap(finite, stats.nan_min(finite, (0, 2, 3)), most)
    missing = np.all(np.isnan(nu), axis=-1, keepdims=True)
    return np.where(missing, np.nan, np.where(np.isnan(share), np.inf, share))


def first_hits(open_gap: np.ndarray, tau: float, counts: np.ndarray) -> np.ndarray:
    """Evaluations after which a run is solved to tau, infinite where it never is, nan where it is missing: [M, P, R].

    counts [P, T] are the evaluations at the checkpoints: a run is known to be solved at the first one that says so.
    """
    hit = np.nan_to_num(open_gap, nan=np.inf) <= tau
    first = np.argmax(hit, axis=-1)
    at = np.take_along_axis(np.broadcast_to(counts[:, None], open_gap.shape[1:])[None], first[..., None], axis=-1)
    found = np.where(hit.any(axis=-1), at[..., 0], np.inf)
    return np.where(np.all(np.isnan(open_gap), axis=-1), np.nan, found)


def _share_within(cost: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Share of the runs that exist (cost [M, P, R] is not nan) that cost at most so much: [M, len(most)]; 0 of none."""
    there = ~np.isnan(cost)
    within = (cost[..., None] <= most) & there[..., None]
    return within.sum(axis=(1, 2)) / np.maximum(there.sum(axis=(1, 2)), 1)[:, None]


def data_profile(hits: np.ndarray, dims: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Share of problems and runs solved within so many simplex gradients of D + 1 evaluations: [M, units].

    Moré and Wild, eq. 2.8: d_s(kappa) = share of t_ps / (D_p + 1) <= kappa; hits [M, P, R], dims [P].
    """
    return _share_within(hits / (dims[None, :, None] + 1.0), units)


def performance_profile(hits: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Share of problems and runs solved within so many times the evaluations of the best method: [M, ratios].

    Dolan and Moré; hits [M, P, R] as first_hits() gives them. Run r of a method is compared with run r of the
    others; what none solved counts for none.
    """
    best = stats.nan_min(hits, 0)
    with np.errstate(invalid="ignore"):
        return _share_within(np.where(np.isposinf(hits), np.inf, hits / best), ratios)


def expected_running_time(hits: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """Evaluations of all runs until they hit, or in vain (budgets [P]), for each hit: [M, P]; infinite without any.

    hits [M, P, R] are infinite where a run never hit, nan where it is missing.
    """
    spent = np.where(np.isposinf(hits), budgets[None, :, None], np.nan_to_num(hits)).sum(axis=2)
    count = np.isfinite(hits).sum(axis=2)
    return np.where(count > 0, spent / np.maximum(count, 1), np.inf)


def trial_order(hits: np.ndarray, final: np.ndarray) -> np.ndarray:
    """Trials on each problem in order, smaller is better: [M, P, R].

    A trial that reached the target comes before one that did not, the faster one first; others by what they ended
    with, given as numbers whose order counts (Price, Kumar and Suganthan 2023: trial-based dominance). nan in final,
    a missing trial, stays nan.
    """
    out = np.empty(final.shape)
    for j in range(final.shape[1]):
        there = ~np.isnan(final[:, j])
        reached = np.isfinite(hits[:, j])
        keys = np.stack([~reached.ravel(), np.where(reached, hits[:, j], np.nan_to_num(final[:, j])).ravel()], axis=1)
        _, place = np.unique(keys, axis=0, return_inverse=True)
        out[:, j] = np.where(there, place.reshape(there.shape), np.nan)
    return out


def u_scores(order: np.ndarray) -> np.ndarray:
    """For each method and problem, trials of the others that its trials beat, a tie as half: [M, P, R] -> [M, P].

    Missing trials are nan, and neither win nor lose.
    """
    methods = len(order)
    out = np.zeros(order.shape[:2])
    for m in range(methods):
        mine = order[m][:, :, None]  # [P, R, 1]
        for k in range(methods):
            if k != m:
                other = order[k][:, None, :]
                out[m] += np.sum(mine < other, axis=(1, 2)) + 0.5 * np.sum(mine == other, axis=(1, 2))
    return out
