"""Ranks, tests and intervals of methods (columns) over problems (rows). Smaller is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.errors import load_extra
from meco.report.frame import ExperimentRuns

ALPHA = 0.05
RANKED_DIGITS = 12  # of means before they are ranked: what is beyond them depends on the order of a sum


def _scipy_stats() -> Any:
    return load_extra("scipy.stats", "report", "a significance test")


def round_digits(values: Any) -> Any:
    """Round a frame or series to RANKED_DIGITS significant digits."""
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log10(np.abs(values)))
        rounded = (values / 10.0**exponent).round(RANKED_DIGITS - 1) * 10.0**exponent
    return rounded.where(np.isfinite(rounded) & (values != 0.0), values)


def ranks(runs: ExperimentRuns, metric: str, among: list[str] | None = None, survivors: bool = False) -> Any:
    """Rank of each complete method on each problem: a frame, problems by methods.

    metric is "score" (mean least f + nu) or "first" (share of feasible runs, then mean f of these, then mean
    violation). ``survivors`` takes the surviving populations, as the paper's numbers do.
    """
    labels = [label for label in runs.complete if among is None or label in among]
    table = runs.table[runs.table.label.isin(labels)]
    if metric == "score":
        column = "final_score" if survivors else "score"
        mean = table.pivot_table(column, "problem", "label", aggfunc="mean", observed=False)[labels]
        return round_digits(mean).rank(axis=1)
    return rank_cells(summarize_feasibility(table, "snapshot_" if survivors else ""))[labels]


def rank_cells(cells: Any) -> Any:
    """Ranks on each problem by what summarize_feasibility() gave: problems by methods."""
    second = round_digits(cells.mean_f.where(cells.feasible_share > 0, cells.mean_violation))
    names = list(cells.index.names)
    keys = cells.assign(second=second).reset_index().sort_values(["feasible_share", "second"], ascending=[False, True])
    place = keys.groupby(["feasible_share", "second"], sort=False, dropna=False).ngroup()
    return keys.assign(place=place).pivot(index=names[0], columns=names[1], values="place").rank(axis=1)


def summarize_feasibility(table: Any, prefix: str = "") -> Any:
    """Runs, share of feasible ones, mean and deviation of their f, mean violation of the others, of each method."""
    feasible = table[prefix + "feasible"].astype(bool)
    f, nu = table[prefix + "f"], table[prefix + "nu"]
    by = table.assign(ok=feasible, good=f.where(feasible), bad=nu.where(~feasible))
    groups = by.groupby(["problem", "label"], observed=True)
    with np.errstate(all="ignore"):
        return groups.agg(
            runs=("ok", "size"),
            feasible_share=("ok", "mean"),
            mean_f=("good", "mean"),
            std_f=("good", lambda values: values.std(ddof=0)),
            mean_violation=("bad", "mean"),
        )


def order_keys(runs: ExperimentRuns, metric: str) -> np.ndarray:
    """Numbers that order the runs on each problem: [M, P, R], smaller is better, nan where a run is missing."""
    return runs.cube("score") if metric == "score" else runs.cube(_place_column(runs))


def _place_column(runs: ExperimentRuns) -> str:
    """Add the place of every run on its problem, feasibility first, and give the name of that column."""
    if "place" not in runs.table:
        table = runs.table
        second = table.f.where(table.feasible, table.nu)
        keys = table.assign(second=second).sort_values(["feasible", "second"], ascending=[False, True])
        place = keys.groupby(["feasible", "second"], sort=False, dropna=False).ngroup()
        runs.table["place"] = place.astype(float)
    return "place"


def pooled_places(order: np.ndarray) -> np.ndarray:
    """Mean place of each method's runs among all runs of a problem, 0 best to 1 worst: [M, P, R] -> [M, P]."""
    stats = _scipy_stats()
    out = np.full(order.shape[:2], np.nan)
    for p in range(order.shape[1]):
        place = stats.rankdata(order[:, p].reshape(-1), nan_policy="omit").reshape(order.shape[0], -1)
        count = np.sum(~np.isnan(order[:, p]))
        place = np.where(np.isnan(order[:, p]), np.nan, place)
        there = np.sum(~np.isnan(place), axis=1)
        out[:, p] = np.where(there, (np.nansum(place, axis=1) / np.maximum(there, 1) - 1) / max(count - 1, 1), np.nan)
    return out


def bootstrap_interval(values: Any, draws: int = 2000) -> tuple[float, float]:
    """95 % percentile interval of the mean of values [n]; the same draws every time."""
    values = np.asarray(values, dtype=np.float64)
    index = np.random.default_rng(0).integers(len(values), size=(draws, len(values)))
    low, high = np.quantile(values[index].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def friedman_p(ranks: Any) -> float:
    """p of Friedman's test that all methods are equal, corrected for ties; ranks: problems by methods."""
    m, p = ranks.shape[1], len(ranks)
    spread = float(((ranks.mean() - (m + 1) / 2) ** 2).sum()) * p
    variance = float(((ranks - (m + 1) / 2) ** 2).to_numpy().sum()) / (p * (m - 1))
    return float(_scipy_stats().chi2.sf(spread / variance if variance > 0 else 0.0, m - 1))


def critical_difference(methods: int, problems: int) -> float:
    """Nemenyi's critical difference of average ranks at 0.05: q sqrt(M (M + 1) / (6 P))."""
    q = _scipy_stats().studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * problems)))


def holm(p: Any) -> Any:
    """p-values (a series) corrected by Holm's step-down rule; nan takes no part."""
    ordered = p.dropna().sort_values()
    return (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1.0).reindex(p.index)


def rank_sum_p(a: np.ndarray, b: np.ndarray) -> float:
    """p of the two-sided rank-sum test of the runs of two methods on one problem; 1 where all are equal."""
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    return 1.0 if np.unique([*a, *b]).size == 1 else float(_scipy_stats().mannwhitneyu(a, b).pvalue)


def compare(order: np.ndarray, labels: list[str], base: str) -> Any:
    """One method against each other one: a frame with wins, ties, losses, p (Holm) and whether base is ahead.

    order [M, P, R] as order_keys() gives it. Wins and losses count problems by a rank-sum test of the runs at
    0.05; p is of a signed-rank test over problems on the mean places of the runs of these two methods.
    """
    pandas = load_extra("pandas", "report", "a table")
    mine = order[labels.index(base)]
    rows = {}
    for label, other in zip(labels, order):
        if label == base:
            continue
        counts = {"wins": 0, "ties": 0, "losses": 0}
        for a, b in zip(mine, other):
            if np.isnan(a).all() or np.isnan(b).all():
                continue
            below = np.sum(a[:, None] < b) - np.sum(a[:, None] > b)
            tie = rank_sum_p(a, b) >= ALPHA or below == 0
            counts["ties" if tie else "wins" if below > 0 else "losses"] += 1
        places = pooled_places(np.stack([mine, other]))
        if len(mine) == 1:
            p = rank_sum_p(mine[0], other[0])
        else:
            p = 1.0 if np.array_equal(*places) else float(_scipy_stats().wilcoxon(*places).pvalue)
        rows[label] = {**counts, "p": p, "ahead": bool(places[0].mean() < places[1].mean())}
    found = pandas.DataFrame.from_dict(rows, orient="index", columns=["wins", "ties", "losses", "p", "ahead"])
    return found.assign(p=holm(found.p.astype(float)))


def open_gap(runs: ExperimentRuns, score: np.ndarray) -> np.ndarray:
    """(S - S_best) / (S_0 - S_best) of score [M, P, R, T]: S_best of all runs, S_0 the mean first value."""
    best, first = anchors(runs)
    gap = np.where(first > best, first - best, 1.0)
    with np.errstate(invalid="ignore"):
        return (score - best[:, None, None]) / gap[:, None, None]


def anchors(runs: ExperimentRuns) -> tuple[np.ndarray, np.ndarray]:
    """Least f + nu of any run, and the mean first one, of each problem: [P] each."""
    by = runs.table.groupby("problem", observed=False)
    first = runs.table.first_score.where(np.isfinite(runs.table.first_score))
    mean = first.groupby(runs.table.problem, observed=False).mean()
    return by.score.min().to_numpy(dtype=np.float64), mean.to_numpy(dtype=np.float64)


def violation_left(runs: ExperimentRuns) -> np.ndarray:
    """Violation of the feasibility-first best, 0 once feasible, relative to its mean first value: [M, P, R, T]."""
    nu = runs.curves["nu"]
    first = np.take_along_axis(nu, np.argmax(~np.isnan(nu), axis=-1)[..., None], axis=-1)[..., 0]
    scale = nan_mean(np.where(np.isfinite(first), first, np.nan), (0, 2))
    return nu / np.where(scale > 0, scale, 1.0)[:, None, None]


def nan_mean(values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Mean of what is not nan; nan where nothing is left, without a warning."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    with np.errstate(invalid="ignore"):
        return np.where(count > 0, np.where(there, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def nan_min(values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Least of what is not nan; nan where nothing is left, without a warning."""
    least = np.where(np.isnan(values), np.inf, values).min(axis=axis)
    return np.where(np.isnan(values).all(axis=axis), np.nan, least)


def final_performance(runs: ExperimentRuns, metric: str) -> Any:
    """1 - the gap still open at the end ("score"), or 1 - the mean place of the runs ("first"): problems by methods."""
    pandas = load_extra("pandas", "report", "a table")
    if metric == "first":
        values = 1.0 - pooled_places(order_keys(runs, "first"))
    else:
        values = 1.0 - nan_mean(open_gap(runs, runs.cube("score")[..., None])[..., 0], 2)
    return pandas.DataFrame(values.T, index=runs.problems, columns=runs.labels)
