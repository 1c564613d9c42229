"""Figures over the evaluations: normalised progress, targets reached, and each problem by itself."""

from __future__ import annotations

import numpy as np

from meco.bench.report import stats
from meco.bench.report.result_figures import colour_slots, contender_legend, drawing_order, line_dashes
from meco.bench.report.result_tables import dim_text, item_name
from meco.bench.report.run_arrays import METRICS, RunArrays
from meco.bench.run.curve import CURVE_SHARES
from meco.figures.figure import Figure
from meco.figures.panel import MUTED, Axis, Band, Line, Mark, Panel
from meco.figures.table import Cell, Column, Table, format_fixed, format_number


def make_progress_figure(results: RunArrays) -> Figure:
    """Mean over problems of the gap still open in f+ν and of the violation left, over the evaluations; nan is a gap."""
    gap = stats.nan_mean(stats.nan_mean(results.open_gap(), 2), 1)  # [M, T]
    left = stats.nan_mean(stats.nan_mean(_violation_left(results), 2), 1)
    percent = 100 * CURVE_SHARES
    panels = [
        Panel(f"f+ν{dim_text(results)}", draw_lines(results, percent, gap),
              Axis("evaluations, % of the budget", (0, 100)), Axis("gap still open", log=True)),
        Panel(f"feasibility first{dim_text(results)}", draw_lines(results, percent, left),
              Axis("evaluations, % of the budget", (0, 100)), Axis("violation left", log=True)),
    ]  # fmt: skip
    caption = (
        "Left: (S - S_best) / (S_0 - S_best), S the least f+ν so far, S_best the best of all methods and runs on the "
        "problem, S_0 the mean first value; mean over runs and problems. Right: violation of the feasibility-first "
        "best (0 once feasible) against the mean first one. Lower is better."
    )
    rows = [
        [
            Cell(label, label),
            Cell(format_number(gap[m, -1]), float(gap[m, -1])),
            Cell(format_number(left[m, -1]), float(left[m, -1])),
        ]
        for m, label in enumerate(results.labels)
    ]
    columns = [Column("Method", head=True), Column("gap at the end, f+ν"), Column("violation left, feasibility first")]
    numbers = Table(item_name(results, "progress"), f"At the end{dim_text(results)}", columns, rows)
    title = f"Normalised convergence{dim_text(results)}"
    return Figure(item_name(results, "progress"), title, panels, caption, contender_legend(results), numbers)


def _violation_left(results: RunArrays) -> np.ndarray:
    """Violation of the feasibility-first best, 0 when feasible, against its mean first value: [M, P, R, T]."""
    nu = results.curves["nu"]
    started = ~np.isnan(nu)
    first = np.take_along_axis(nu, np.argmax(started, axis=-1)[..., None], axis=-1)[..., 0]
    scale = stats.nan_mean(np.where(np.isfinite(first), first, np.nan), (0, 2))
    return nu / np.where(scale > 0, scale, 1.0)[:, None, None]


def draw_lines(results: RunArrays, x: np.ndarray, values: np.ndarray, floor: float = 1e-12) -> list[Mark]:
    """A line for each contender over x [T] from values [M, T], raised to the floor where below; nan is a gap."""
    tint, dash = colour_slots(results), line_dashes(results)
    return [
        Line(x, np.maximum(values[m], floor), tint[m], results.labels[m], 2.2 if tint[m] != MUTED else 1.1, dash[m])
        for m in drawing_order(results)
    ]


def make_ecdf_figure(results: RunArrays) -> Figure:
    """Share of targets reached by each evaluation count, under both metrics."""
    reached = {"score": stats.ecdf(results.open_gap()), "first": _feasible_ecdf(results)}
    percent = 100 * CURVE_SHARES
    axis = Axis("evaluations, % of the budget", (0, 100))
    panels = [
        Panel(
            f"{title}{dim_text(results)}",
            draw_lines(results, percent, reached[k], 0.0),
            axis,
            Axis("targets reached", (0, 1)),
        )
        for k, title in METRICS.items()
    ]
    caption = (
        "41 targets for each problem, evenly on a log scale from the first gap to a ten-thousandth of it. Right: the "
        "same number of targets for the violation of the feasibility-first best, and for f of feasible points where "
        "any run was feasible. Higher is better."
    )
    rows = [
        [Cell(label, label), *(Cell(f"{reached[k][m, -1]:.3f}", float(reached[k][m, -1])) for k in METRICS)]
        for m, label in enumerate(results.labels)
    ]
    columns = [Column("Method", head=True), *(Column(f"targets reached, {t}") for t in METRICS.values())]
    numbers = Table(item_name(results, "ecdf"), f"Targets reached at the end{dim_text(results)}", columns, rows)
    return Figure(
        item_name(results, "ecdf"),
        f"Targets over evaluations{dim_text(results)}",
        panels,
        caption,
        contender_legend(results),
        numbers,
    )


def _feasible_ecdf(results: RunArrays) -> np.ndarray:
    """Targets in violation for every problem, and in f for those where any run was feasible: [M, T]."""
    left = _violation_left(results)
    f = results.curves["f"]
    parts, weights = [stats.ecdf(left)], [results.shape[1]]
    solved = ~np.all(np.isnan(f), axis=(0, 2, 3))
    if solved.any():
        kept = f[:, solved]
        best, worst = np.nanmin(kept, axis=(0, 2, 3)), np.nanmax(kept, axis=(0, 2, 3))
        gap = stats.share_of_gap(kept, best, worst)
        gap = np.where(np.isnan(gap) & ~np.isnan(left[:, solved]), np.inf, gap)  # infeasible: no target reached
        parts.append(stats.ecdf(gap))
        weights.append(int(solved.sum()))
    return np.average(np.stack(parts), axis=0, weights=weights)


def make_convergence_figures(results: RunArrays) -> list[Figure]:
    """Each problem by itself: medians with the quartiles as bands, for the contenders brought out."""
    tint, dash = colour_slots(results), line_dashes(results)
    shown = [m for m in drawing_order(results) if tint[m] != MUTED]
    made = []
    for metric, title in METRICS.items():
        if metric == "score":
            values, what = results.curves["score"], "least f+ν so far"
        else:
            values, what = results.curves["nu"], "violation of the best"
        panels = []
        for j, case in enumerate(results.cases):
            x = CURVE_SHARES * case.budget
            marks: list[Mark] = []
            for m in shown:
                marks += draw_band(x, values[m, j], tint[m], results.labels[m], 1e-12, dash[m])
            log = metric == "first" or bool(stats.nan_min(values[shown, j]) > 0)
            axes = Axis("", (0, case.budget)), Axis("", log=log)
            numbers = _make_final_table(results, j, metric, shown)
            panels.append(Panel(case.problem, marks, *axes, (300, 190), table=numbers))
        caption = f"{what[0].upper()}{what[1:]}: median and quartiles of the runs over evaluations."
        if metric == "first":
            caption += " A line that falls out of its panel has become feasible."
        keys = [key for key in contender_legend(results) if key.series != MUTED]
        name = item_name(results, f"convergence-{metric}")
        made.append(Figure(name, f"Convergence, {title}{dim_text(results)}", panels, caption, keys, small=True))
    return made


def _make_final_table(results: RunArrays, j: int, metric: str, shown: list[int]) -> Table:
    """What the contenders `shown` have reached at the end of problem j, best first; missing ones as nan."""
    order = sorted(shown, key=lambda m: float(stats.nan_mean(results.sort_keys(metric)[m, j], 0)))
    rows = []
    for m in order:
        label = results.labels[m]
        if metric == "score":
            made = results.score[m, j][results.exists[m, j]]
            parts = np.quantile(made, [0.5, 0.25, 0.75]) if made.size else np.full(3, np.nan)
            cells = [Cell(format_number(float(v)), float(v)) for v in parts]
        else:
            found = results.feasibility_cells()[m][j]
            cells = [Cell(format_fixed(100 * found.rate, 0), found.rate)]
            cells += [Cell(format_number(v), v) for v in (found.mean, found.violation)]
        rows.append([Cell(label, label), *cells])
    heads = {"score": ("median f+ν", "lower quartile", "upper quartile")}.get(
        metric, ("feasible runs, %", "mean feasible f", "mean violation of the others")
    )
    title = f"{results.problems[j]} at the end"
    return Table(item_name(results, f"{metric}-{j}"), title, [Column("Method", head=True), *map(Column, heads)], rows)


def draw_band(x: np.ndarray, runs: np.ndarray, tint: int, label: str, floor: float = 0.0, dash: str = "") -> list[Mark]:
    """Median and quartiles of runs [R, T] over x [T] where any has begun (is not nan); [] without a finite median."""
    begun = ~np.all(np.isnan(runs), axis=0)
    if not begun.any():
        return []
    with np.errstate(invalid="ignore"):  # between infinite runs there is no quartile, and nothing to draw
        low, middle, high = np.nanquantile(runs[:, begun], [0.25, 0.5, 0.75], axis=0)
    if not np.isfinite(middle).any():
        return []
    some = x[begun]
    if floor and stats.nan_min(middle) >= 0:
        low, middle, high = (np.maximum(v, floor) for v in (low, middle, high))
    return [Band(some, (low, high), tint, label), Line(some, middle, tint, label, 1.8, dash)]
