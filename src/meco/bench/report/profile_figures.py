"""Data and performance profiles, expected running times and U-scores as tables and pictures of a report."""

from __future__ import annotations

import math

import numpy as np

from meco.bench.plan.experiment import load_problem
from meco.bench.report import profiles
from meco.bench.report.curves import draw_lines
from meco.bench.report.result_figures import contender_legend
from meco.bench.report.result_tables import dim_text, item_name
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.curve import CURVE_SHARES
from meco.errors import MecoError
from meco.figures.figure import Figure
from meco.figures.panel import Axis, Panel
from meco.figures.table import Cell, Column, Table, format_fixed, format_number, mark_best

LARGEST_RATIO = 32.0  # of a performance profile: beyond it a method is as slow as it is going to be
POINTS = 120


def make_profile_figures(results: RunArrays) -> list[Figure]:
    """Data and performance profiles at three accuracies, each with its numbers as a table; [] without curves."""
    hits = {tau: find_hits(results, tau) for tau in profiles.ACCURACIES}
    if np.isnan(results.curves["nu"]).all():
        return []
    dims = _problem_dims(results)
    most = float(np.max(_checkpoint_counts(results)[:, -1] / (dims + 1.0)))
    units, ratios = np.linspace(0.0, most, POINTS), np.geomspace(1.0, LARGEST_RATIO, POINTS)
    data = {tau: profiles.data_profile(hits[tau], dims, units) for tau in hits}
    performance = {tau: profiles.performance_profile(hits[tau], ratios) for tau in hits}
    common = (
        "Share of problems and runs solved: all but a share τ of the gap between the first f+ν, or the worst feasible "
        "f if that is larger, and the best feasible f of all methods is closed; by the violation where no run was "
        f"feasible. Evaluations are known to the {len(CURVE_SHARES)} checkpoints of a run, of methods with generations "
        "to their ends. Higher is better."
    )
    return [
        _draw_profile(
            results, "data-profile", "Data profiles (Moré and Wild)", data, units,
            Axis("evaluations / (D + 1)", (0, most)), f"{common} Against groups of D + 1 evaluations.",
            _make_profile_table(results, "data-profile", data, f"solved within {most:.0f} (D + 1) evaluations"),
        ),
        _draw_profile(
            results, "performance-profile", "Performance profiles", performance, ratios,
            Axis("times the evaluations of the best", (1, LARGEST_RATIO), log=True),
            f"{common} At 1: how often a method was the first; run r is compared with run r.",
            _make_profile_table(results, "performance-profile", {t: v[:, :1] for t, v in performance.items()}, "first"),
        ),
    ]  # fmt: skip


def find_hits(results: RunArrays, tau: float) -> np.ndarray:
    """Evaluations after which every run is solved to tau, feasibility first: [M, P, R], as profiles.first_hits()."""
    return profiles.first_hits(_open_share(results), tau, _checkpoint_counts(results))


def _draw_profile(
    results: RunArrays,
    what: str,
    title: str,
    values: dict[float, np.ndarray],
    x: np.ndarray,
    axis: Axis,
    caption: str,
    numbers: Table,
) -> Figure:
    """A figure with a panel for each accuracy tau of values, tau -> share solved [M, T] over x [T]."""
    panels = [
        Panel(f"τ = {tau:g}", draw_lines(results, x, share, 0.0), axis, Axis("solved", (0, 1)))
        for tau, share in values.items()
    ]
    legend = contender_legend(results)
    return Figure(item_name(results, what), f"{title}{dim_text(results)}", panels, caption, legend, numbers)


def _make_profile_table(results: RunArrays, what: str, values: dict[float, np.ndarray], text: str) -> Table:
    """Where the lines of a profile end, at every accuracy tau of values, tau -> share solved [M, T]."""
    columns = [Column("Method", head=True), *(Column(f"τ = {tau:g}") for tau in values)]
    marks = {tau: mark_best([-v for v in share[:, -1]], 3) for tau, share in values.items()}
    rows = [
        [
            Cell(label, label),
            *(Cell(format_fixed(100 * s[m, -1], 0), float(s[m, -1]), marks[tau][m]) for tau, s in values.items()),
        ]
        for m, label in enumerate(results.labels)
    ]
    return Table(item_name(results, what), f"% {text}{dim_text(results)}", columns, rows)


def make_running_time_table(results: RunArrays) -> Table | None:
    """Expected running times to targets above the known optimum, where a problem has one; None where none has."""
    best = _known_optima(results)
    known = ~np.isnan(best)
    if not known.any():
        return None
    dims, counts = _problem_dims(results)[known], _checkpoint_counts(results)[known]
    f = results.curves["f"][:, known]
    columns = [Column("Method", head=True)]
    times = []
    for gap in profiles.TARGET_GAPS:
        above = (f - best[known][:, None, None]) / np.maximum(1.0, np.abs(best[known]))[:, None, None]
        hits = profiles.first_hits(_unreached(above, results.exists[:, known]), gap, counts)
        times.append(profiles.expected_running_time(hits, counts[:, -1]) / dims)
        columns += [Column(f"problems, {gap:g}"), Column(f"ERT / D, {gap:g}")]
    rows = []
    for m, label in enumerate(results.labels):
        cells = [Cell(label, label)]
        for each in times:
            reached = np.isfinite(each[m])
            middle = float(np.median(each[m][reached])) if reached.any() else math.inf
            cells += [Cell(str(int(reached.sum())), int(reached.sum())), Cell(format_number(middle), middle)]
        rows.append(cells)
    caption = (
        f"{int(known.sum())} of {len(known)} problems have a known optimum f*. A target is f* + gap · max(1, |f*|) "
        "at a feasible point. Problems: on how many any run reached it. ERT: evaluations of all runs, until they "
        "reached it or in vain, for each run that did, per variable; median over the problems that were reached."
    )
    title = f"Expected running time{dim_text(results)}"
    return Table(item_name(results, "ert"), title, columns, rows, caption)


def make_u_score_table(results: RunArrays) -> Table:
    """U-scores as CEC 2025 uses them, in sum and as a share of all duels; a row for each contender."""
    best = _known_optima(results)
    gap = (results.curves["f"] - best[:, None, None]) / np.maximum(1.0, np.abs(best))[:, None, None]
    hits = profiles.first_hits(_unreached(gap, results.exists), profiles.SOLVED_GAP, _checkpoint_counts(results))
    order = profiles.trial_order(hits, results.sort_keys("first"))
    scores = profiles.u_scores(order)
    runs = results.exists.sum(axis=2)  # [M, P]
    duels = runs * (runs.sum(axis=0) - runs)
    share = scores.sum(axis=1) / np.maximum(duels.sum(axis=1), 1)
    marks = mark_best([-v for v in share], 3)
    rows = [
        [
            Cell(results.labels[m], results.labels[m]),
            Cell(format_fixed(scores[m].sum(), 1), float(scores[m].sum())),
            Cell(format_fixed(100 * share[m], 1), float(share[m]), marks[m]),
        ]
        for m in np.argsort(-share, kind="stable")
    ]
    caption = (
        "Every run against every run of the others on the same problem: a run that came within 1e-8 of the known "
        "optimum beats one that did not, and a slower one; otherwise the better end wins, feasibility first. A tie "
        "is half a win (Price, Kumar and Suganthan 2023, as CEC 2025 ranks). Higher is better."
    )
    columns = [Column("Method", head=True), Column("U-score"), Column("duels won, %")]
    return Table(item_name(results, "u-score"), f"U-scores{dim_text(results)}", columns, rows, caption)


def _checkpoint_counts(results: RunArrays) -> np.ndarray:
    """Evaluations at the checkpoints of every problem: [P, T]."""
    return np.array([case.budget for case in results.cases])[:, None] * CURVE_SHARES


def _problem_dims(results: RunArrays) -> np.ndarray:
    """Variables of every problem: [P]."""
    return np.array([case.dim for case in results.cases], dtype=np.float64)


def _open_share(results: RunArrays) -> np.ndarray:
    """The share of the gap that is open, feasibility first: [M, P, R, T]; runs that are missing stay open."""
    return profiles.open_share(results.curves["f"], results.curves["nu"], results.anchors[1])


def _unreached(gap: np.ndarray, exists: np.ndarray) -> np.ndarray:
    """Gaps over the evaluations, infinite while there is none, nan for runs that are missing: [M, P, R, T]."""
    return np.where(exists[..., None], np.where(np.isnan(gap), np.inf, gap), np.nan)


def _known_optima(results: RunArrays) -> np.ndarray:
    """f* of every problem, nan where it is not known or the problem cannot be loaded here: [P]."""
    found = np.full(len(results.cases), np.nan)
    for j, case in enumerate(results.cases):
        try:
            best = load_problem(case, results.experiment.files).best_known
        except MecoError:
            continue
        found[j] = np.nan if best is None else float(np.asarray(best))
    return np.where(np.isfinite(found), found, np.nan)
