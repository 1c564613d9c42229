"""Which method to use on a problem: how often feasible, how good f, how soon, and a sentence that says it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.bench.report import stats
from meco.bench.report.curves import draw_band
from meco.bench.report.result_figures import colour_slots, contender_legend, drawing_order, line_dashes
from meco.bench.report.result_tables import dim_text, format_p, item_name
from meco.bench.report.run_arrays import RunArrays
from meco.bench.run.curve import CURVE_SHARES
from meco.errors import MissingExtra
from meco.figures.figure import Figure
from meco.figures.panel import Axis, Mark, Panel
from meco.figures.table import Cell, Column, Table, format_number, mark_best
from meco.files.names import safe_name

LEVEL = 1e-6  # of a median: what differs by less is a tie
NEAR = 1e-4  # of the best f of all runs: a run that comes so near has found it
ROUNDING = 1e-12  # of the range of f: what is nearer than this differs by rounding, also where the best f is 0
FEW = 4  # runs from which on two methods can be told apart at all
ENOUGH = 20  # runs of each from which on a difference that is not seen hardly matters
TOO_FEW = "so few runs cannot tell them apart: give --runs 10 or more"
QUARTERS = (0.26, 0.5, 0.74, 1.0)  # of the budget, as near as the checkpoints are


class Standing(NamedTuple):
    """The runs of one method on one problem."""

    label: str
    runs: int
    feasible: int
    median: float  # f of all runs, infinite for those that are infeasible
    best: float
    near: int  # runs that came within NEAR of the best f of all methods
    reached: float  # the median, or the best f of all methods where the median is near it
    violation: float  # median
    soon: float  # median evaluations to the first feasible point
    seconds: float  # mean

    def sort_key(self) -> tuple[float, ...]:
        """What sorts methods: more feasible runs, the smaller median f, more runs near the best, less violation.

        Medians near the best f of all are equal until as many runs came near it.
        """
        runs = max(self.runs, 1)
        return -self.feasible / runs, self.reached, -self.near / runs, self.median, self.violation


def rank_contenders(results: RunArrays, j: int) -> list[tuple[int, Standing]]:
    """Contenders that have runs on problem number j, best first: the number of each in `results`, and its standing.

    [] where nothing has run. An infeasible run counts as f = inf.
    """
    there = results.exists[:, j]
    feasible = np.nan_to_num(results.field_values("feasible")[:, j]).astype(bool)
    f = np.where(feasible, results.field_values("f")[:, j], np.inf)
    best, margin = _find_best(f[there], results.curves["f"][:, j])
    nu, soon, seconds = (results.field_values(name)[:, j] for name in ("nu", "feasible_at", "seconds"))
    made = []
    for m, label in enumerate(results.labels):
        kept = there[m]
        if not kept.any():
            continue
        first = np.where(feasible[m], soon[m], np.inf)[kept]
        median = float(_upper_median(f[m][kept]))
        made.append((m, Standing(
            label, int(kept.sum()), int(feasible[m].sum()), median, float(f[m][kept].min()),
            int((f[m][kept] <= best + margin).sum()), best if median <= best + margin else median,
            float(np.median(nu[m][kept])), float(_upper_median(first)), float(seconds[m][kept].mean()),
        )))  # fmt: skip
    return sorted(made, key=lambda pair: pair[1].sort_key())


def _find_best(f: np.ndarray, curves: np.ndarray) -> tuple[float, float]:
    """The best f of all runs [n], and how far above it a run is near; -inf and 0 where none was feasible.

    curves holds every f on the way, nan where there is none: by their range, what is rounding is known.
    """
    found = f[np.isfinite(f)]
    if not found.size:
        return -np.inf, 0.0
    best, most = float(found.min()), float(np.max(curves[np.isfinite(curves)], initial=found.max()))
    return best, max(NEAR * abs(best), ROUNDING * (most - best))


def _upper_median(values: np.ndarray) -> float:
    """The median of values [n], nan of none; of two in the middle the upper where one of them is infinite."""
    if not len(values):
        return float("nan")
    low, high = np.sort(values)[[(len(values) - 1) // 2, len(values) // 2]]
    return float((low + high) / 2) if np.isfinite(high) else float(high)


def make_choice_items(results: RunArrays) -> list[Table | Figure]:
    """A table and a figure for each problem, in turn."""
    made: list[Table | Figure] = []
    for j in range(results.shape[1]):
        made += [make_standing_table(results, j), make_best_feasible_figure(results, j)]
    return made


def _item_name(results: RunArrays, j: int, what: str) -> str:
    """The file name of a table or figure about one problem."""
    return item_name(results, what if results.shape[1] == 1 else f"{what}-{safe_name(results.problems[j])}")


def make_standing_table(results: RunArrays, j: int) -> Table:
    """f, feasible runs, how soon and how long on problem j, a row for each method, best first; one must have run."""
    found = [one for _, one in rank_contenders(results, j)]
    least = found[0].median
    shown = [least if _is_tie(found[0], one) else one.median for one in found]
    marks = mark_best([value if np.isfinite(value) else np.nan for value in shown])
    rows = [
        [
            Cell(one.label, one.label),
            Cell(f"{one.feasible} of {one.runs}", one.feasible / one.runs),
            Cell(_format_value(one.median), one.median, mark),
            Cell(_format_value(one.best), one.best),
            Cell(f"{one.near} of {one.runs}", one.near / one.runs),
            Cell(format_number(one.violation), one.violation),
            Cell(f"{one.soon:.0f}" if np.isfinite(one.soon) else "–", one.soon),
            Cell(format_number(one.seconds, 2), one.seconds),
        ]
        for one, mark in zip(found, marks)
    ]
    columns = [
        Column("Method", head=True),
        Column("feasible runs"),
        Column("median f", "of all runs, an infeasible one counting as infinite"),
        Column("best f", "of all runs that found a feasible point"),
        Column("runs near the best", f"within {100 * NEAR:g} % of the best f of all methods"),
        Column("median violation"),
        Column("evaluations to feasible", "median; a run that found no feasible point counts as never"),
        Column("seconds a run", "of one core, the function included"),
    ]
    case = results.cases[j]
    title = f"{case.problem} after {case.budget:,} evaluations{dim_text(results)}"
    return Table(_item_name(results, j, "choice"), title, columns, rows, compose_advice(results, j))


def make_best_feasible_figure(results: RunArrays, j: int) -> Figure:
    """Best feasible f over the evaluations on problem j: median and quartiles, from where most runs are feasible.

    A method of which no run was feasible has no line.
    """
    case, tint, dash, x = (
        results.cases[j],
        colour_slots(results),
        line_dashes(results),
        CURVE_SHARES * results.cases[j].budget,
    )
    f = results.curves["f"][:, j]  # [M, R, T], nan before a point is feasible
    begun = ~np.isnan(results.curves["nu"][:, j])
    values = np.where(np.isnan(f) & begun, np.inf, f)
    marks: list[Mark] = []
    for m in drawing_order(results):
        marks += draw_band(x, values[m], tint[m], results.labels[m], dash=dash[m])
    finite = values[np.isfinite(values)]
    log = bool(finite.size and finite.min() > 0 and finite.max() > 10 * finite.min())
    axes = Axis("evaluations", (0, case.budget)), Axis("best feasible f", log=log)
    columns = [Column("Method", head=True), *(Column(f"after {share * case.budget:.0f}") for share in QUARTERS)]
    marks_at = [int(np.argmin(np.abs(CURVE_SHARES - share))) for share in QUARTERS]
    medians = [[_upper_median(values[m, begun[m, :, t], t]) for t in marks_at] for m in range(len(results.labels))]
    rows = [[Cell(k, k), *(Cell(_format_value(v), v) for v in row)] for k, row in zip(results.labels, medians)]
    name = _item_name(results, j, "best-feasible")
    title = f"Best feasible f over evaluations, {case.problem}{dim_text(results)}"
    caption = "Median and quartiles of the runs; a line begins where most runs have found a feasible point."
    numbers = Table(name, "Median best feasible f", columns, rows)
    return Figure(name, title, [Panel(case.problem, marks, *axes)], caption, contender_legend(results), numbers)


def _format_value(value: float) -> str:
    """A number with six digits; a dash for what is not finite."""
    return format_number(value, 6) if np.isfinite(value) else "–"


# -- the sentence ----------------------------------------------------------------------------


def compose_advice(results: RunArrays, j: int) -> str:
    """A text: which method to use on problem j, and how sure that is, or why nothing can be advised."""
    found, case = rank_contenders(results, j), results.cases[j]
    if not found:
        return f"On {case.problem} nothing has run yet."
    (first, best), *others = found
    if not any(one.feasible for _, one in found):
        return _describe_infeasible(case, best, [one for _, one in others])
    level = [one for _, one in others if _is_tie(best, one)]
    if level:
        return _describe_tie(case, best, level, [one for _, one in others if not _is_tie(best, one)])
    said = f"On {case.problem} use {best.label}: {_describe_standing(best)} after {case.budget:,} evaluations."
    if not others:
        return said
    (second, near), worst = others[0], others[-1][1]
    sure = _describe_certainty(results, j, first, second)
    return f"{said} {near.label} comes next ({_describe_standing(near)}); {sure}." + (
        f" {worst.label} is last ({_describe_standing(worst)})." if len(others) > 1 else ""
    )


def _describe_infeasible(case: Any, best: Standing, others: list[Standing]) -> str:
    """The sentences where no method found a feasible point: who came nearest, and what that may mean."""
    said = f"On {case.problem} no method found a feasible point in {case.budget:,} evaluations"
    violation = f"median violation {format_number(best.violation)}"
    if others and all(abs(one.violation - best.violation) <= LEVEL * abs(best.violation) for one in others):
        return (
            f"{said}; all came equally near ({violation}): there may be no feasible point. A larger --budget would "
            "tell more, or a look at which constraint is violated."
        )
    nearest = f"{best.label} came nearest ({violation})" if others else violation
    return f"{said}; {nearest}: try a larger --budget."


def _is_tie(best: Standing, other: Standing) -> bool:
    """Whether two methods were feasible and near the best as often, with medians that differ by rounding alone."""
    same = all(
        count * other.runs == theirs * best.runs
        for count, theirs in ((best.feasible, other.feasible), (best.near, other.near))
    )
    return same and bool(np.isfinite(best.median)) and abs(other.median - best.median) <= LEVEL * abs(best.median)


def _describe_tie(case: Any, best: Standing, level: list[Standing], others: list[Standing]) -> str:
    """The sentence where several methods are equally good; others are those behind them."""
    names = ", ".join([best.label, *(one.label for one in level[:-1])]) + f" and {level[-1].label}"
    said = f"On {case.problem} {names} tie: {_describe_standing(best)} after {case.budget:,} evaluations; "
    few = min(one.runs for one in (best, *level)) < FEW
    said += f"{TOO_FEW}." if few else "any of them will do."
    return said + (f" {others[0].label} comes next ({_describe_standing(others[0])})." if others else "")


def _describe_standing(one: Standing) -> str:
    """How often a method was feasible, its median f, and how often it came near the best of all, in words."""
    seen = f"feasible in {one.feasible} of {one.runs} runs"
    if not one.feasible:
        return seen
    median = f", median f {_format_value(one.median)}" if np.isfinite(one.median) else ""
    return f"{seen}{median}, {one.near} of {one.runs} within {100 * NEAR:g} % of the best of all"


def _describe_certainty(results: RunArrays, j: int, first: int, second: int) -> str:
    """Whether chance can explain that method `first` is ahead of `second`, in words; few runs or no SciPy say so."""
    order = results.sort_keys("first")[:, j]
    runs = int(min(np.sum(~np.isnan(order[m])) for m in (first, second)))
    if runs < FEW:
        return TOO_FEW
    try:
        p = stats.rank_sum_p(order[first], order[second])
    except MissingExtra:
        return "how sure that is needs SciPy"
    if p < stats.ALPHA:
        return f"chance does not explain the difference (rank-sum test, p {format_p(p)})"
    if runs < ENOUGH:
        return (
            f"{runs} runs of each are too few to tell whether that is chance (rank-sum test, p {format_p(p)}): give "
            f"--runs {ENOUGH} or more"
        )
    return f"chance may explain the difference (rank-sum test, p {format_p(p)}, {runs} runs of each)"
