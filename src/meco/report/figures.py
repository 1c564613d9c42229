"""The figures of a report, each from the runs of an experiment. Both metrics stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.bench.plan.contender import AS_PRINTED, RELAXED, SCORE_REWARDED
from meco.bench.run.curve import CURVE_SHARES
from meco.methods import METHODS
from meco.plot.style import COLOURS, GRID, INK, MUTED, label_text, make_figure, save, styled, to_svg
from meco.report import profiles, stats, tables
from meco.report.frame import METRICS, ExperimentRuns
from meco.report.tables import Table

MECO = (AS_PRINTED, RELAXED, SCORE_REWARDED)  # the paper's method under every training
DASHES = {"ES": (0, (5, 2)), "model": (0, (1, 1.5)), "TR": "-.", "DE": (0, (3, 1)), "GA": ":"}  # others: solid
LEAST = 1e-12  # of a logarithmic axis
WIDTH = 9.0  # inches of a full-width figure


@dataclass(frozen=True)
class Picture:
    """A figure of a report with its title, caption and the table of its numbers."""

    name: str
    title: str
    figure: Any  # matplotlib.figure.Figure
    caption: str = ""
    table: Table | None = None

    @property
    def svg(self) -> str:
        """SVG text for a page."""
        return to_svg(self.figure, self.name, inline=True)

    def save(self, path: Any) -> None:
        """Write it as its name ends: .svg, .png or .pdf."""
        save(self.figure, path)


class Palette:
    """Colours of the methods in focus, the same on a whole page; other methods are grey."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = dict.fromkeys(MECO, COLOURS[0])

    def choose(self, sets: Sequence[ExperimentRuns]) -> dict[str, str]:
        """A colour for each method of an experiment: first its focus, then the best by mean rank."""
        labels = list(dict.fromkeys(label for runs in sets for label in runs.labels))
        places = {label: [stats.ranks(r, "score").mean().get(label, np.inf) for r in sets] for label in labels}
        best = sorted(labels, key=lambda label: float(np.mean(places[label])))
        focus = [label for label in sets[0].experiment.report.focus if label in labels]
        chosen = list(dict.fromkeys([*focus[:5], *best]))[: len(COLOURS)]
        found: dict[str, str] = {}
        for label in sorted(chosen, key=lambda label: label not in self._kept):
            free = [colour for colour in COLOURS if colour not in found.values()]
            wished = self._kept.get(label, "")
            found[label] = wished if wished in free else free[0]
            self._kept.setdefault(label, found[label])
        return {label: found.get(label, MUTED) for label in labels}


Colours = dict[str, str]


def _dashes(runs: ExperimentRuns) -> dict[str, Any]:
    """Line styles by the family of each method."""
    families = {c.label: METHODS[c.method].family if c.method in METHODS else "" for c in runs.contenders}
    return {label: DASHES.get(family, "-") for label, family in families.items()}


def _draw_lines(axes: Any, runs: ExperimentRuns, x: np.ndarray, values: np.ndarray, colours: Colours) -> None:
    """A line for each method from values [M, K]; methods in focus on top."""
    dashes = _dashes(runs)
    for m, label in enumerate(runs.labels):
        front = colours[label] != MUTED
        style = {"color": colours[label], "lw": 2.0 if front else 0.9, "zorder": 3 if front else 2}
        axes.plot(x, values[m], ls=dashes[label] if front else "-", label=label_text(label), **style)


def _add_legend(figure: Any, axes: Any, colours: Colours, columns: int = 4) -> None:
    """The methods in focus below a figure, and one entry for the others."""
    from matplotlib.lines import Line2D

    lines = {line.get_label(): line for line in axes.get_lines()}
    shown = [label for label, colour in colours.items() if colour != MUTED and label_text(label) in lines]
    handles = [lines[label_text(label)] for label in shown]
    names = [label_text(label) for label in shown]
    if any(colour == MUTED for colour in colours.values()):
        handles.append(Line2D([], [], color=MUTED, lw=0.9))
        names.append("others")
    figure.legend(handles, names, loc="outside lower center", ncols=columns)


def _percent_axis(axes: Any, **more: Any) -> None:
    axes.set(xlabel="evaluations, % of the budget", xlim=(0, 100), **more)


# -- ranks -----------------------------------------------------------------------------------


def draw_critical(runs: ExperimentRuns, colours: Colours) -> Picture | None:
    """Critical-difference diagrams: a bar joins methods whose ranks do not differ significantly (Nemenyi, 0.05)."""
    table = tables.make_critical_table(runs)
    if table is None:
        return None
    rows = (len(runs.complete) + 1) // 2
    with styled():
        figure, axes = make_figure(WIDTH, 2 * (1.5 + 0.23 * rows), 2, 1)
        for ax, (metric, title) in zip(axes[:, 0], METRICS.items()):
            _draw_critical_diagram(ax, stats.ranks(runs, metric), colours, title)
    caption = (
        f"Average ranks, best at the left. A bar joins methods whose ranks do not differ significantly. {table.caption}"
    )
    return Picture(table.name, f"Critical differences{runs.title_suffix}", figure, caption, table)


def _draw_critical_diagram(ax: Any, ranks: Any, colours: Colours, title: str) -> None:
    """An axis of average ranks with a leg down to each name, and bars over groups that do not differ."""
    mean = ranks.mean().sort_values()
    m, wide = len(mean), stats.critical_difference(len(mean), len(ranks))
    bars, last = [], -1
    for i, value in enumerate(mean):
        j = int(np.searchsorted(mean.to_numpy(), value + wide, side="right")) - 1
        if j > max(i, last):
            bars.append((value, mean.iloc[j]))
            last = j
    for row, (low, high) in enumerate(bars):
        ax.plot([low - 0.05, high + 0.05], [-0.5 - 0.35 * row] * 2, lw=3, color=INK, solid_capstyle="round")
    floor, left = -0.9 - 0.35 * len(bars), (m + 1) // 2
    for i, (label, value) in enumerate(mean.items()):
        first = i < left
        y, end = floor - (i if first else m - 1 - i), 0.8 if first else m + 0.2
        tint = INK if colours[label] == MUTED else colours[label]
        ax.plot([value, value, end], [0, y, y], color=tint, lw=0.9)
        text = f"{label_text(label)}  {value:.2f}" if first else f"{value:.2f}  {label_text(label)}"
        at = {"xytext": (-4 if first else 4, 0), "textcoords": "offset points", "ha": "right" if first else "left"}
        ax.annotate(text, (end, y), va="center", color=tint, fontsize=9, **at, annotation_clip=False)
    ax.plot([1, 1 + wide], [2.4, 2.4], color=INK, lw=2.5)
    words = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 9}
    ax.annotate(f"critical difference {wide:.2f}", (1 + wide, 2.4), **words)
    for k in range(1, m + 1, max(1, -(-m // 12))):
        ax.plot([k, k], [0, 0.3], color=INK, lw=1)
        ax.text(k, 0.5, str(k), ha="center", va="bottom", fontsize=9)
    ax.plot([1, m], [0, 0], color=INK, lw=1)
    margin = 0.32 * m
    ax.set(xticks=[], yticks=[], xlim=(1 - margin, m + margin), ylim=(floor - left, 3.0), title=title)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)


def draw_suite_ranks(standings: dict[str, ExperimentRuns], shown: Sequence[str], colours: Colours) -> Picture:
    """A panel for each suite: average ranks, feasibility first, with intervals."""
    rows = -(-len(standings) // 3)
    with styled():
        figure, axes = make_figure(WIDTH, rows * (0.7 + 0.2 * len(shown)), rows, 3)
        for ax, (title, runs) in zip(axes.flat, standings.items()):
            ranks = stats.ranks(runs, "first")
            _draw_dots(ax, ranks[[label for label in ranks if label in shown]], colours, best_low=True)
            ax.set_title(title)
            ax.set_xlabel("average rank")
        for ax in list(axes.flat)[len(standings) :]:
            ax.set_axis_off()
    caption = "Average rank over the problems of each suite, feasibility first, with 95 % intervals over problems."
    return Picture("suites-ranks", "Average ranks on the suites", figure, caption)


def _draw_dots(ax: Any, values: Any, colours: Colours, best_low: bool) -> None:
    """A dot with its bootstrap interval for each column of values (problems by methods), the best at the top."""
    mean = values.mean(skipna=False).dropna().sort_values(ascending=not best_low)
    for y, (label, value) in enumerate(mean.items()):
        low, high = stats.bootstrap_interval(values[label])
        tint = INK if colours.get(label, MUTED) == MUTED else colours[label]
        ax.plot([low, high], [y, y], color=tint, lw=1.4)
        ax.plot([value], [y], "o", color=tint, ms=5)
    ax.set_yticks(range(len(mean)), [label_text(label) for label in mean.index])
    ax.set_ylim(-0.7, len(mean) - 0.3)
    ax.grid(axis="y", visible=False)


# -- over the evaluations ------------------------------------------------------------------------


def draw_progress(runs: ExperimentRuns, colours: Colours) -> Picture:
    """Mean over problems of the gap still open and the violation left, over the evaluations."""
    gap = stats.nan_mean(stats.nan_mean(stats.open_gap(runs, runs.curves["score"]), 2), 1)
    left = stats.nan_mean(stats.nan_mean(stats.violation_left(runs), 2), 1)
    panels = [("f+ν", "gap still open", gap), ("feasibility first", "violation left", left)]
    with styled():
        figure, axes = make_figure(WIDTH, 4.3, 1, 2)
        for ax, (title, what, values) in zip(axes[0], panels):
            _draw_lines(ax, runs, 100 * CURVE_SHARES, np.maximum(values, LEAST), colours)
            _percent_axis(ax, yscale="log", ylabel=what, title=f"{title}{runs.title_suffix}")
        _add_legend(figure, axes[0, 0], colours)
    caption = (
        "Left: (S − S_best) / (S_0 − S_best) with S the least f+ν so far, S_best the best of all runs on the problem "
        "and S_0 the mean first value. Right: violation of the best point relative to its mean first value. "
        "Means over runs and problems; lower is better."
    )
    table = tables.make_progress_table(runs)
    return Picture(table.name, f"Normalised convergence{runs.title_suffix}", figure, caption, table)


def draw_ecdf(runs: ExperimentRuns, colours: Colours) -> Picture:
    """Share of targets reached over the evaluations."""
    with styled():
        figure, axes = make_figure(WIDTH, 4.3, 1, 2, sharey=True)
        for ax, (metric, title) in zip(axes[0], METRICS.items()):
            _draw_lines(ax, runs, 100 * CURVE_SHARES, profiles.reached(runs, metric), colours)
            _percent_axis(ax, ylim=(0, 1), title=f"{title}{runs.title_suffix}")
        axes[0, 0].set_ylabel("share of targets reached")
        _add_legend(figure, axes[0, 0], colours)
    caption = (
        "41 targets for each problem, evenly spaced on a logarithmic scale from the first gap to a ten-thousandth of "
        "it. Right: targets in the violation, and in f of feasible points where any run was feasible."
    )
    table = tables.make_ecdf_table(runs)
    return Picture(table.name, f"Targets reached{runs.title_suffix}", figure, caption, table)


def draw_profiles(runs: ExperimentRuns, colours: Colours) -> list[Picture]:
    """Data and performance profiles at three accuracies; [] without stored curves."""
    if np.isnan(runs.curves["nu"]).all():
        return []
    made = []
    for what, title, x_label in (
        ("data-profile", "Data profiles", "evaluations / (D + 1)"),
        ("performance-profile", "Performance profiles", "evaluations relative to the fastest method"),
    ):
        with styled():
            figure, axes = make_figure(WIDTH, 4.0, 1, len(profiles.ACCURACIES), sharey=True)
            for ax, tau in zip(axes[0], profiles.ACCURACIES):
                x, values = profiles.profile(runs, what, tau)
                _draw_lines(ax, runs, x, values, colours)
                ax.set(title=f"τ = {tau:g}", xlim=(x[0], x[-1]), ylim=(0, 1))
                if what == "performance-profile":
                    ax.set_xscale("log", base=2)
            axes[0, 0].set_ylabel("share solved")
            axes[0, 1].set_xlabel(x_label)
            _add_legend(figure, axes[0, 0], colours)
        caption = (
            "Share of problems and runs that closed all but a share τ of the gap between the first value and the best "
            "feasible f of all methods; by the violation where no run was feasible."
        )
        table = tables.make_profile_table(runs, what)
        made.append(Picture(table.name, f"{title}{runs.title_suffix}", figure, caption, table))
    return made


def draw_convergence(runs: ExperimentRuns, colours: Colours) -> list[Picture]:
    """Each problem by itself: median and quartiles of the methods in focus, a figure for each metric."""
    made = []
    shown = [label for label in runs.labels if colours[label] != MUTED]
    for metric, title in METRICS.items():
        curve = runs.curves["score" if metric == "score" else "nu"]
        rows = -(-len(runs.problems) // 4)
        with styled():
            figure, axes = make_figure(WIDTH, 1.75 * rows + 0.6, rows, 4)
            for p, ax in enumerate(axes.flat):
                if p >= len(runs.problems):
                    ax.set_axis_off()
                    continue
                for label in shown:
                    draw_band(
                        ax, CURVE_SHARES * runs.budgets[p], curve[runs.labels.index(label), p], colours[label], label
                    )
                ax.set_title(label_text(runs.problems[p]), fontsize=9)
                ax.tick_params(labelsize=7.5)
                ax.set_xticks([0, runs.budgets[p] / 2, runs.budgets[p]])
                drawn = np.concatenate([line.get_ydata() for line in ax.get_lines()] or [np.zeros(1)])
                if np.any(drawn > 0) and (metric == "first" or np.nanmin(drawn) > 0):
                    ax.set_yscale("log")
                    ax.minorticks_off()
            first = max(axes.flat, key=lambda ax: len(ax.get_lines()))
            _add_legend(figure, first, {label: colours[label] for label in shown}, 4)
        what = "least f+ν so far" if metric == "score" else "violation of the best point so far"
        caption = f"Median and quartiles of the {what}."
        if metric == "first":
            caption += " A line that leaves its panel has become feasible."
        name = runs.name(f"convergence-{metric}")
        made.append(Picture(name, f"Convergence, {title}{runs.title_suffix}", figure, caption))
    return made


def draw_band(ax: Any, x: np.ndarray, values: np.ndarray, colour: str, label: str) -> None:
    """Median and quartiles of runs [R, T] from where one has begun."""
    begun = ~np.all(np.isnan(values), axis=0)
    if not begun.any():
        return
    with np.errstate(invalid="ignore"):
        low, high = np.nanquantile(values[:, begun], [0.25, 0.75], axis=0, method="nearest")
        middle = np.nanmedian(values[:, begun], axis=0)
    if np.isfinite(middle).any():
        ax.fill_between(x[begun], low, high, color=colour, alpha=0.18, lw=0)
        ax.plot(x[begun], middle, color=colour, lw=1.5, label=label_text(label))


def draw_best_feasible(runs: ExperimentRuns, p: int, colours: Colours) -> Picture:
    """Best feasible f over the evaluations on one problem: median and quartiles."""
    f, nu = runs.curves["f"][:, p], runs.curves["nu"][:, p]
    values = np.where(np.isnan(f) & ~np.isnan(nu), np.inf, f)
    with styled():
        figure, axes = make_figure(WIDTH * 0.75, 4.0)
        ax = axes[0, 0]
        for m, label in enumerate(runs.labels):
            draw_band(ax, CURVE_SHARES * runs.budgets[p], values[m], colours[label], label)
        finite = values[np.isfinite(values)]
        if finite.size and finite.min() > 0 and finite.max() > 10 * finite.min():
            ax.set_yscale("log")
        ax.set(xlabel="evaluations", ylabel="best feasible f", xlim=(0, runs.budgets[p]))
        if ax.get_lines():
            _add_legend(figure, ax, colours)
    name = runs.name("best-feasible" if len(runs.problems) == 1 else f"best-feasible-{runs.problems[p]}")
    caption = "Median and quartiles of the runs; a line begins where most runs have found a feasible point."
    return Picture(name, f"Best feasible f, {runs.problems[p]}{runs.title_suffix}", figure, caption)


# -- distributions and shares --------------------------------------------------------------------


def draw_performance(runs: ExperimentRuns, colours: Colours) -> Picture:
    """The paper's UAV box plot, and the same for places feasibility first."""
    found, table = tables.performance(runs), tables.make_performance_table(runs)
    order = list(table.frame.index)[::-1]
    with styled():
        figure, axes = make_figure(WIDTH, 1.0 + 0.22 * len(order), 1, 2, sharey=True)
        for ax, (metric, title) in zip(axes[0], METRICS.items()):
            values = [found[metric][runs.labels.index(label)] for label in order]
            boxes = ax.boxplot(
                [v[~np.isnan(v)] for v in values], orientation="horizontal", patch_artist=True, widths=0.6,
                flierprops={"marker": ".", "markersize": 3, "markeredgecolor": GRID}, medianprops={"color": INK},
                whiskerprops={"color": INK}, capprops={"color": INK},
            )  # fmt: skip
            for box, label in zip(boxes["boxes"], order):
                box.set(facecolor=colours[label], edgecolor=INK, alpha=0.75, linewidth=0.8)
            ax.set(
                title=title, xlabel="performance" if metric == "score" else "place among all runs", xlim=(-0.02, 1.02)
            )
            ax.grid(axis="y", visible=False)
        axes[0, 0].set_yticks(range(1, len(order) + 1), [label_text(label) for label in order])
    caption = f"{table.caption} Boxes: quartiles; whiskers: 1.5 box lengths."
    return Picture(table.name, f"Normalised performance{runs.title_suffix}", figure, caption, table)


def draw_relative(sets: Sequence[ExperimentRuns], colours: Colours) -> Picture:
    """Mean normalised performance at the end with intervals, a row of panels for each dimension."""
    count = max(len(runs.labels) for runs in sets)
    with styled():
        figure, axes = make_figure(WIDTH, len(sets) * (0.9 + 0.21 * count), len(sets), 2)
        for row, runs in zip(axes, sets):
            for ax, (metric, title) in zip(row, METRICS.items()):
                _draw_dots(ax, stats.final_performance(runs, metric), colours, best_low=False)
                ax.set(title=f"{title}{runs.title_suffix}", xlabel="higher is better")
    table = tables.make_relative_table(sets)
    caption = f"{table.caption} Intervals: 95 % bootstrap over problems."
    return Picture(table.name, "Normalised performance at the end", figure, caption, table)


def _draw_tiles(ax: Any, values: Any, texts: Any = None) -> None:
    """Coloured tiles of a frame: darker is larger."""
    numbers = values.to_numpy(dtype=np.float64)
    low, high = 0.0, 1.0
    if texts is not None and not np.isnan(numbers).all():
        least, most = np.nanmin(numbers), np.nanmax(numbers)
        low, high = least - 0.15 * (most - least), most + 0.9 * (most - least or 1.0)
    ax.pcolormesh(numbers, cmap="Blues", vmin=low, vmax=high, edgecolors="white", linewidth=0.6)
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, [label_text(str(name)) for name in values.columns])
    ax.set_yticks(np.arange(values.shape[0]) + 0.5, [label_text(str(name)) for name in values.index])
    ax.tick_params(length=0)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    if texts is not None:
        for (i, j), text in np.ndenumerate(texts.to_numpy()):
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=9, color="#101418")


def draw_heat(sets: Sequence[ExperimentRuns]) -> Picture:
    """Mean normalised performance: variants by dimensions, both metrics."""
    table = tables.make_heat_table(sets)
    with styled():
        figure, axes = make_figure(WIDTH, 0.9 + 0.42 * len(table.frame), 1, 2, sharey=True)
        for ax, title in zip(axes[0], METRICS.values()):
            names = [name for name in table.frame.columns if name.endswith(title)]
            part = table.frame[names].rename(columns=lambda name: name.split(",")[0])
            _draw_tiles(ax, part, table.texts()[names])
            ax.set_title(title)
        axes[0, 1].invert_yaxis()  # shared axes were inverted twice
    caption = "Mean normalised performance over the held-out problems; darker is better."
    return Picture(table.name, "Performance by dimension", figure, caption, table)


def draw_feasible_share(runs: ExperimentRuns) -> Picture:
    """Share of feasible runs of every method on every problem."""
    table = tables.make_feasible_share_table(runs)
    with styled():
        figure, axes = make_figure(max(WIDTH * 0.6, 1.6 + 0.27 * len(runs.problems)), 0.7 + 0.22 * len(table.frame))
        _draw_tiles(axes[0, 0], table.frame.rename(columns=lambda name: name.removeprefix("UAV-")))
        axes[0, 0].tick_params(axis="x", labelrotation=90 if len(runs.problems) > 12 else 0, labelsize=8.5)
        axes[0, 0].xaxis.tick_top()
    caption = "Share of runs that found a feasible point: white none, dark all."
    return Picture(table.name, f"Feasible runs{runs.title_suffix}", figure, caption, table)


def draw_actions(runs: ExperimentRuns) -> Picture | None:
    """Shares of the eleven actions over the run, and their mean; None where no run stored actions."""
    table = tables.make_action_table(runs)
    if table is None:
        return None
    found = [
        (problem if len(runs.labels) == 1 else f"{problem}, {label}", trace)
        for label in runs.labels
        for problem in runs.problems
        if (trace := runs.actions(label, problem)) is not None
    ]
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    with styled():
        figure, axes = make_figure(WIDTH, 2.6 * rows, rows, columns, sharex=True, sharey=True)
        for ax, (title, (counts, actions)) in zip(axes.flat, found):
            taken = actions[:, :-1]  # an action holds until the next generation
            share = np.stack([(np.round(10 * taken) == k).mean(axis=0) for k in range(11)])
            ax.pcolormesh(counts, (np.arange(12) - 0.5) / 10, share, cmap="Blues", vmin=0, vmax=1, rasterized=True)
            ax.plot((counts[1:] + counts[:-1]) / 2, taken.mean(axis=0), color=COLOURS[1], label="mean")
            ax.set_title(label_text(title), fontsize=9)
        for ax in list(axes.flat)[len(found) :]:
            ax.set_axis_off()
        for ax in axes[-1]:
            ax.set_xlabel("evaluations")
        for ax in axes[:, 0]:
            ax.set_ylabel("action")
    caption = "Share of the runs that took each action, darker for more, and the mean action."
    return Picture(table.name, "Actions over the run", figure, caption, table)


def draw_routes(runs: ExperimentRuns, colours: Colours) -> Picture:
    """The best run of each method on each mission, feasibility first."""
    from meco.bench.run.run_record import read_design
    from meco.plot.mission import draw_ground
    from meco.problems.uav.mission import load_mission

    rows = -(-len(runs.cases) // 2)
    with styled():
        figure, axes = make_figure(WIDTH, 4.4 * rows, rows, 2)
        for ax, case in zip(axes.flat, runs.cases):
            mission = load_mission(case.problem)
            draw_ground(ax, mission)
            for label in runs.labels:
                part = runs.table[(runs.table.label == label) & (runs.table.problem == case.problem)]
                if part.empty:
                    continue
                best = part.assign(second=part.f.where(part.feasible, part.nu)).sort_values(
                    ["feasible", "second"], ascending=[False, True]
                ).iloc[0]  # fmt: skip
                corners = mission.route(read_design(best.x, case.dim)) / 1000.0
                ax.plot(
                    *corners.T, color=colours[label], lw=1.8, marker="o", ms=3.5,
                    ls="-" if best.feasible else (0, (4, 2)), label=label_text(label),
                )  # fmt: skip
            ax.set_title(case.problem)
        for ax in list(axes.flat)[len(runs.cases) :]:
            ax.set_axis_off()
        _add_legend(figure, axes[0, 0], colours)
    table = tables.make_route_table(runs)
    caption = "The best run of each method, feasibility first; a dashed route is infeasible. Axes in kilometres."
    return Picture(table.name, "Routes", figure, caption, table)
