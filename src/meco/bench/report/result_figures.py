"""The figures of the report, each from the runs of an experiment; both metrics side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meco.bench.plan.contender import AS_PRINTED, SCORE_REWARDED
from meco.bench.report import stats
from meco.bench.report.result_tables import dim_text, format_p, item_name
from meco.bench.report.run_arrays import METRICS, RunArrays
from meco.figures.figure import Figure
from meco.figures.panel import COLOUR_SLOTS, MUTED, Axis, BoxPlot, Dot, LegendKey, Mark, Panel, Segment, Words
from meco.figures.table import Cell, Column, Table, format_fixed
from meco.methods import METHODS

# Colour slots: orange, blue, teal, violet, ochre, pink, green, cyan. Variants of one engine are far apart.
USUAL = ("MeCO", "SHADE", "BP-epsMAg-ES", "CMA-ES", "MA-ES", "SHADE-eps", "SHADE-BOC", "CMA-ES-native")
MECO = ("MeCO", AS_PRINTED, SCORE_REWARDED)  # the paper's method, whatever its training
DASHES = {"ES": "7 3", "model": "2 3", "TR": "10 3 2 3", "DE": "4 2", "GA": "1 3"}  # of families; the others are solid
WIDTH = 500  # of a critical-difference diagram


class Palette:
    """Colour slots for the contenders that figures bring out, the same ones throughout a page."""

    def __init__(self) -> None:
        self._kept = {label: slot for slot, label in enumerate(USUAL)} | dict.fromkeys(MECO, 0)

    def assign_slots(self, sets: Sequence[RunArrays]) -> dict[str, int]:
        """The slots of an experiment's contenders by label, which the palette keeps for them from now on.

        Its own focus comes first, then whoever does best on f+ν, as far as the colours go.
        """
        labels = list(dict.fromkeys(label for s in sets for label in s.labels))
        places: dict[str, list[float]] = {label: [] for label in labels}
        for s in sets:
            for label, rank in zip(s.labels, s.rank_table("score").mean(axis=1)):
                places[label].append(np.inf if np.isnan(rank) else rank)
        best = sorted(labels, key=lambda label: np.mean(places[label]))
        focus = [label for label in sets[0].experiment.report.focus if label in labels]
        chosen = list(dict.fromkeys([*focus[:5], *best]))[:COLOUR_SLOTS]
        found: dict[str, int] = {}
        for label in sorted(chosen, key=lambda label: self._kept.get(label, COLOUR_SLOTS)):
            free = [slot for slot in range(COLOUR_SLOTS) if slot not in found.values()]
            wished = self._kept.get(label, -1)
            found[label] = wished if wished in free else free[-1]
            self._kept.setdefault(label, found[label])
        return found


def colour_slots(results: RunArrays) -> list[int]:
    """The colour slot of every contender [M]; MUTED for those that stay in the background."""
    return [results.slots.get(label, MUTED) for label in results.labels]


def line_dashes(results: RunArrays) -> list[str]:
    """How the lines of every contender [M] are broken: by the family of its method."""
    known = {c.method: METHODS[c.method].family if c.method in METHODS else "" for c in results.contenders}
    return [DASHES.get(known[c.method], "") for c in results.contenders]


def contender_legend(results: RunArrays) -> list[LegendKey]:
    """Brought-out contenders by name, and one entry for the others."""
    keys = [LegendKey(*one) for one in zip(results.labels, colour_slots(results), line_dashes(results))]
    rest = any(key.series == MUTED for key in keys)
    shown = sorted((key for key in keys if key.series != MUTED), key=lambda key: key.series)
    return shown + ([LegendKey("others", MUTED)] if rest else [])


def drawing_order(results: RunArrays) -> list[int]:
    """Contenders in drawing order: the ones brought out last, on top."""
    tint = colour_slots(results)
    return sorted(range(len(tint)), key=lambda m: (tint[m] != MUTED, -tint[m]))


# -- ranks -----------------------------------------------------------------------------------


def make_critical_difference_figure(results: RunArrays) -> Figure | None:
    """Critical-difference diagrams: methods joined by a bar do not differ (Nemenyi, 0.05).

    None with fewer than three methods that ran everywhere, or fewer than two problems.
    """
    if results.complete.sum() < 3 or results.shape[1] < 2:
        return None
    panels, words, averages = [], [], []
    for metric, title in METRICS.items():
        table = results.rank_table(metric)[results.complete]
        averages.append(table.mean(axis=1))
        labels = [label for label, keep in zip(results.labels, results.complete) if keep]
        tint = [s for s, keep in zip(colour_slots(results), results.complete) if keep]
        test = stats.friedman_test(table)
        wide = stats.critical_difference(*table.shape)
        panels.append(_make_critical_diagram(table.mean(axis=1), labels, tint, wide, title))
        words.append(
            f"{title}: Friedman χ² = {test.statistic:.1f}, p {format_p(test.p)}; critical difference {wide:.2f}."
        )
    caption = "Average ranks, best at the left. A bar joins methods whose ranks do not differ (Nemenyi, 0.05). "
    title = f"Critical differences{dim_text(results)}"
    order = np.argsort(averages[0], kind="stable")
    rows = [[Cell(labels[m], labels[m]), *(Cell(format_fixed(v[m], 2), float(v[m])) for v in averages)] for m in order]
    columns = [Column("Method", head=True), *(Column(f"average rank, {t}") for t in METRICS.values())]
    numbers = Table(item_name(results, "critical"), f"Average ranks{dim_text(results)}", columns, rows)
    return Figure(item_name(results, "critical"), title, panels, caption + " ".join(words), (), numbers)


def _make_critical_diagram(
    average: np.ndarray, labels: Sequence[str], tint: Sequence[int], wide: float, title: str
) -> Panel:
    """An axis of average ranks [M], a leg down to each name, bars over groups that differ by at most `wide`."""
    order = np.argsort(average, kind="stable")
    values, m = average[order], len(order)
    groups = stats.find_cliques(values, wide)
    left = (m + 1) // 2
    floor = -1.0 - 0.45 * len(groups)
    room = 7.0 * (max(len(label) for label in labels) + 7)  # pixels that a name and its rank need
    reach = (m - 1) * room / (WIDTH - 2 * room) + 0.3
    gap = 0.01 * (m - 1 + 2 * reach)  # between a stroke and its text
    marks: list[Mark] = [Segment((1, m), (0, 0), width=1.5)]
    marks += [Segment((k, k), (0, 0.25), width=1.0) for k in range(1, m + 1)]
    step = max(1, -(-m // 10))
    marks += [Words(k, 0.7, str(k)) for k in range(1, m + 1, step)]
    marks += [Segment((1, 1 + wide), (1.7, 1.7), width=2.5), Words(1 + wide + gap, 1.7, f"CD {wide:.2f}", "start")]
    for row, (first, last) in enumerate(groups):
        y = -0.6 - 0.45 * row
        marks.append(Segment((values[first] - 0.06, values[last] + 0.06), (y, y), width=4.0))
    for place, which in enumerate(order):
        side = place < left
        y = floor - 0.95 * (place if side else m - 1 - place)
        end = 1 - 0.25 if side else m + 0.25
        series_ = tint[which]
        marks.append(Segment((values[place],) * 2, (0, y), series_, 1.2))
        marks.append(Segment((values[place], end), (y, y), series_, 1.2))
        text = f"{labels[which]}  {values[place]:.2f}" if side else f"{values[place]:.2f}  {labels[which]}"
        spot = end - gap if side else end + gap
        bold = labels[which] in MECO
        marks.append(Words(spot, y, text, "end" if side else "start", bold, None if series_ == MUTED else series_))
    bottom = floor - 0.95 * max(left - 1, 0) - 0.8
    size = (WIDTH, int(20 * (2.4 - bottom)))
    x = Axis(limits=(1 - reach, m + reach), hidden=True)
    return Panel(title, marks, x, Axis(limits=(bottom, 2.4), hidden=True), size)


# -- distributions ---------------------------------------------------------------------------


def make_performance_figure(results: RunArrays) -> Figure:
    """The paper's UAV boxplot: normalised performance of every run, and its feasibility-first counterpart."""
    share = {"score": stats.normalised_performance(results.score), "first": np.empty(0)}
    order = results.sort_keys("first")
    place = np.full(results.shape, np.nan)
    for j in range(results.shape[1]):
        ranks = stats.rank_first_axis(order[:, j].reshape(-1)).reshape(results.shape[0], -1)
        place[:, j] = 1.0 - (ranks - 1) / max(stats.nan_max(ranks) - 1, 1)
    share["first"] = place
    medians = np.array([np.nanmedian(v) for v in share["score"].reshape(results.shape[0], -1)])
    line_up = np.argsort(medians)
    panels = []
    for metric, title in METRICS.items():
        marks = [
            _make_box_plot(share[metric][m], float(i), colour_slots(results)[m], results.labels[m])
            for i, m in enumerate(line_up)
        ]
        names = tuple((float(i), results.labels[m]) for i, m in enumerate(line_up))
        what = "performance" if metric == "score" else "place among all runs"
        y = Axis(limits=(-0.7, len(line_up) - 0.3), names=names)
        size = (460, 60 + 19 * len(line_up))
        panels.append(Panel(title, marks, Axis(f"{what}, 1 is best", (-0.02, 1.02)), y, size))
    caption = (
        "Left: 1 for the best f+ν that any run found on the mission, 0 for the worst (the paper's score). Right: place "
        "of each run among all runs on the mission, feasibility first. Boxes: quartiles; whiskers: 1.5 box lengths."
    )
    rows = []
    for m in line_up[::-1]:
        row = [Cell(results.labels[m], results.labels[m])]
        for metric in METRICS:
            low, middle, high = np.nanquantile(share[metric][m], [0.25, 0.5, 0.75])
            row.append(Cell(f"{middle:.3f}", float(middle), lines=(("spread", f"{low:.2f} to {high:.2f}"),)))
        rows.append(row)
    columns = [Column("Method", head=True), Column("median performance"), Column("median place, feasibility first")]
    numbers = Table(item_name(results, "performance"), "Medians and quartiles", columns, rows)
    return Figure(item_name(results, "performance"), "Normalised performance", panels, caption, (), numbers)


def _make_box_plot(values: np.ndarray, y: float, tint: int, label: str) -> BoxPlot:
    """Quartiles of values [n], whiskers of at most 1.5 box lengths, and the points beyond, at height y.

    nan is left out; one value at least must be a number.
    """
    flat = values[~np.isnan(values)]
    first, middle, third = np.quantile(flat, [0.25, 0.5, 0.75])
    reach = 1.5 * (third - first)
    inside = flat[(flat >= first - reach) & (flat <= third + reach)]
    beyond = flat[(flat < first - reach) | (flat > third + reach)]
    values_ = (float(inside.min()), float(first), float(middle), float(third), float(inside.max()))
    return BoxPlot(values_, y, tint, label, tuple(float(v) for v in np.unique(np.round(beyond, 3))))


def make_relative_figure(sets: Sequence[RunArrays]) -> Figure:
    """Mean normalised performance at the end with bootstrap intervals, one row of panels per dimension."""
    panels, rows = [], []
    for results in sets:
        values = {metric: final_performance(results, metric) for metric in METRICS}
        panels += [
            _make_dot_panel(results, values[metric], f"{title}{dim_text(results)}") for metric, title in METRICS.items()
        ]
        for m, label in enumerate(results.labels):
            means = [float(v[m].mean()) for v in values.values()]
            row = [Cell(label, label), Cell(f"{results.dim}D", float(results.dim or 0))]
            rows.append(row + [Cell(format_fixed(v, 4), v) for v in means])
    caption = (
        "f+ν: one minus the gap still open at the end, mean over problems and runs. Feasibility first: one minus the "
        "mean place of the runs among all runs. The interval is a 95 % bootstrap over problems."
    )
    columns = [Column("Method", head=True), Column("D"), *(Column(title) for title in METRICS.values())]
    name = sets[0].experiment.name
    numbers = Table(f"{name}-relative", "Normalised performance", columns, rows)
    return Figure(f"{name}-relative", "Normalised performance at the end", panels, caption, (), numbers)


def _make_dot_panel(results: RunArrays, values: np.ndarray, title: str) -> Panel:
    """The mean over problems of values [M, P] of every contender, best at the top; one with any nan has no dot."""
    order = np.argsort(np.nan_to_num(values.mean(axis=1), nan=-np.inf))
    marks: list[Mark] = []
    for i, m in enumerate(order):
        if not np.isnan(values[m]).any():
            low, high = stats.bootstrap_interval(values[m])
            marks.append(
                Dot((low, float(values[m].mean()), high), float(i), colour_slots(results)[m], results.labels[m])
            )
    names = tuple((float(i), results.labels[m]) for i, m in enumerate(order))
    y = Axis(limits=(-0.7, len(order) - 0.3), names=names)
    return Panel(title, marks, Axis("higher is better"), y, (460, 56 + 20 * len(order)))


def final_performance(results: RunArrays, metric: str) -> np.ndarray:
    """One minus the gap still open at the end ("score"), or one minus the mean place of the runs ("first"): [M, P].

    nan where a contender has no run.
    """
    if metric == "first":
        return 1.0 - stats.pooled_ranks(results.sort_keys("first"))
    best, first = results.anchors
    return 1.0 - stats.nan_mean(stats.share_of_gap(results.score[..., None], best, first)[..., 0], 2)
