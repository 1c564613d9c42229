"""Profiles, expected running times and U-scores of runs: M methods, P problems, R runs, T checkpoints.

A problem is solved to accuracy tau when a run has closed all but a share tau of the gap between a common first value
and the best of all methods (Moré and Wild 2009, eq. 2.2). Under constraints the value is f of a feasible point; where
no run of any method was feasible, it is the violation. Runs that are missing are nan, and do not count.
"""

from __future__ import annotations

import numpy as np

from meco.bench.plan.experiment import load_problem
from meco.bench.run.curve import CURVE_SHARES
from meco.errors import MecoError
from meco.report import stats
from meco.report.frame import ExperimentRuns

ACCURACIES = (1e-1, 1e-3, 1e-5)  # tau
TARGET_GAPS = (1e-1, 1e-2, 1e-4)  # of max(1, |f*|) above the known optimum, for expected running times
TARGETS = 10.0 ** -np.linspace(0.0, 4.0, 41)  # shares of the first gap still open, for the ECDF
LARGEST_RATIO = 32.0  # of a performance profile
POINTS = 120  # of a profile
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
    most = -stats.nan_min(-finite, (0, 2, 3))
    if first is not None:
        most = np.where(solved[:, 0, 0], np.fmax(most, first), most)
    least = stats.nan_min(finite, (0, 2, 3))
    gap = np.where(most > least, most - least, 1.0)
    with np.errstate(invalid="ignore"):
        share = (finite - least[:, None, None]) / gap[:, None, None]
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


def count_duels(order: np.ndarray) -> np.ndarray:
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


# -- of the runs of an experiment ------------------------------------------------------------


def reached(runs: ExperimentRuns, metric: str) -> np.ndarray:
    """Share of targets reached at the checkpoints: [M, T].

    41 targets a problem, from the first gap to a ten-thousandth of it. "first": targets in the violation of every
    problem, and in f of feasible points where any run found one.
    """
    if metric == "score":
        return ecdf(stats.open_gap(runs, runs.curves["score"]))
    left, f = stats.violation_left(runs), runs.curves["f"]
    parts, weights = [ecdf(left)], [len(runs.problems)]
    solved = ~np.all(np.isnan(f), axis=(0, 2, 3))
    if solved.any():
        kept = f[:, solved]
        best, worst = stats.nan_min(kept, (0, 2, 3)), -stats.nan_min(-kept, (0, 2, 3))
        gap = (kept - best[:, None, None]) / np.where(worst > best, worst - best, 1.0)[:, None, None]
        parts.append(ecdf(np.where(np.isnan(gap) & ~np.isnan(left[:, solved]), np.inf, gap)))
        weights.append(int(solved.sum()))
    return np.average(np.stack(parts), axis=0, weights=weights)


def ecdf(open_gap: np.ndarray) -> np.ndarray:
    """Share of (problem, run, target) triples reached: [M, P, R, T] -> [M, T].

    Runs that are nan throughout do not count.
    """
    there = ~np.all(np.isnan(open_gap), axis=-1)
    with np.errstate(invalid="ignore"):
        hits = sum(((open_gap <= target) & there[..., None]).sum(axis=(1, 2)) for target in TARGETS)
    return hits / np.maximum(there.sum(axis=(1, 2)), 1)[:, None] / len(TARGETS)


def profile(runs: ExperimentRuns, what: str, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Abscissae [K] and share solved [M, K] of a "data-profile" or "performance-profile" at accuracy tau."""
    hits = solved_at(runs, tau)
    if what == "data-profile":
        units = np.linspace(0.0, float(np.max(_counts(runs)[:, -1] / (runs.dims + 1.0))), POINTS)
        return units, data_profile(hits, runs.dims, units)
    ratios = np.geomspace(1.0, LARGEST_RATIO, POINTS)
    return ratios, performance_profile(hits, ratios)


def solved_at(runs: ExperimentRuns, tau: float) -> np.ndarray:
    """Evaluations after which a run is solved to tau, feasibility first: [M, P, R], as first_hits() gives them."""
    share = open_share(runs.curves["f"], runs.curves["nu"], stats.anchors(runs)[1])
    return first_hits(share, tau, _counts(runs))


def running_time(runs: ExperimentRuns, gap: float) -> np.ndarray:
    """Expected running time to a gap above the known optimum: [M, P]; infinite where it is not known or not reached."""
    return expected_running_time(first_hits(_gap_to_optimum(runs), gap, _counts(runs)), runs.budgets)


def u_scores(runs: ExperimentRuns) -> tuple[np.ndarray, np.ndarray]:
    """U-scores and the number of duels of each method on each problem: [M, P] each."""
    hits = first_hits(_gap_to_optimum(runs), SOLVED_GAP, _counts(runs))
    scores = count_duels(trial_order(hits, stats.order_keys(runs, "first")))
    there = (~np.isnan(runs.cube("score"))).sum(axis=2)
    return scores, there * (there.sum(axis=0) - there)


def known_optima(runs: ExperimentRuns) -> np.ndarray:
    """f* of each problem: [P]; nan where it is not known or the problem cannot be loaded here."""
    found = np.full(len(runs.cases), np.nan)
    for p, case in enumerate(runs.cases):
        try:
            best = load_problem(case, runs.experiment.files).best_known
        except MecoError:
            continue
        if best is not None and np.isfinite(best):
            found[p] = float(best)
    return found


def _counts(runs: ExperimentRuns) -> np.ndarray:
    """Evaluations at the checkpoints: [P, T]."""
    return runs.budgets[:, None] * CURVE_SHARES


def _gap_to_optimum(runs: ExperimentRuns) -> np.ndarray:
    """(f - f*) / max(1, |f*|) of feasible points: [M, P, R, T]; infinite before there is one, nan for a missing run."""
    best = known_optima(runs)
    gap = (runs.curves["f"] - best[:, None, None]) / np.maximum(1.0, np.abs(best))[:, None, None]
    there = ~np.isnan(runs.cube("score"))
    return np.where(there[..., None], np.where(np.isnan(gap), np.inf, gap), np.nan)
