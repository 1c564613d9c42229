"""Figures of coloured tiles: performance against dimension, feasible runs, and actions over the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meco.bench.report import stats
from meco.bench.report.result_figures import final_performance
from meco.bench.report.result_tables import dim_text, item_name
from meco.bench.report.run_arrays import METRICS, RunArrays
from meco.figures.figure import Figure
from meco.figures.panel import Axis, Line, Mark, Panel, Tile
from meco.figures.table import Cell, Column, Table, format_fixed


def make_heat_figure(sets: Sequence[RunArrays]) -> Figure:
    """Variants against dimensions, one of each set: darker is better, under both metrics; "–" where none ran."""
    labels = list(dict.fromkeys(label for s in sets for label in s.labels))
    panels, tables = [], []
    for metric, title in METRICS.items():
        found = {
            (s.labels[m], s.dim): float(v)
            for s in sets
            for m, v in enumerate(final_performance(s, metric).mean(axis=1))
        }
        tables.append(found)
        known = [v for v in found.values() if np.isfinite(v)]  # an incomplete contender has no mean
        low, high = min(known, default=0.0), max(known, default=0.0)
        marks = []
        for i, label in enumerate(reversed(labels)):
            for k, s in enumerate(sets):
                value = found.get((label, s.dim), float("nan"))
                share = 0.05 + 0.45 * (value - low) / (high - low or 1.0)  # light enough to read the number on it
                text = format_fixed(value, 3)
                marks.append(Tile((k, k + 1), (i, i + 1), share, text, f"{label}, {s.dim}D: {text}"))
        names = tuple((i + 0.5, label) for i, label in enumerate(reversed(labels)))
        dims = tuple((k + 0.5, f"{s.dim}D") for k, s in enumerate(sets))
        x, y = Axis(limits=(0, len(sets)), names=dims), Axis(limits=(0, len(labels)), names=names)
        panels.append(Panel(title, marks, x, y, (460, 60 + 44 * len(labels))))
    caption = "Mean normalised performance over the held-out problems; darker is better."
    name = sets[0].experiment.name
    columns = [Column("Variant", head=True), *(Column(f"{s.dim}D, {t}") for t in METRICS.values() for s in sets)]
    rows = [
        [
            Cell(k, k),
            *(Cell(format_fixed(v, 3), v) for t in tables for s in sets for v in [t.get((k, s.dim), float("nan"))]),
        ]
        for k in labels
    ]
    numbers = Table(f"{name}-heat", "Mean normalised performance", columns, rows)
    return Figure(f"{name}-heat", "Action decoding against dimension", panels, caption, (), numbers)


def make_feasibility_figure(results: RunArrays) -> Figure:
    """Share of feasible runs of every contender on every problem; an empty tile also where none ran."""
    feasible = stats.nan_mean(results.field_values("feasible"), 2)
    order = np.argsort(np.nan_to_num(stats.nan_mean(feasible, 1), nan=-1.0), kind="stable")
    marks = []
    for i, m in enumerate(order):
        for j, problem in enumerate(results.problems):
            value = feasible[m, j]
            text = "–" if np.isnan(value) else f"{100 * value:.0f} %"
            marks.append(Tile((j, j + 1), (i, i + 1), float(value), "", f"{results.labels[m]} on {problem}: {text}"))
    names = tuple((i + 0.5, results.labels[m]) for i, m in enumerate(order))
    few = tuple((j + 0.5, p.removeprefix("UAV-")) for j, p in enumerate(results.problems))
    width = max(460, 130 + 27 * len(few))
    panel = Panel(
        f"feasible runs{dim_text(results)}", marks, Axis(limits=(0, len(few)), names=few),
        Axis(limits=(0, len(order)), names=names), (width, 40 + 20 * len(order)),
    )  # fmt: skip
    caption = "Share of runs that found a feasible point: an empty tile none, full colour all."
    columns = [Column("Method", head=True), *(Column(p) for p in results.problems)]
    rows = [
        [Cell(results.labels[m], results.labels[m]), *(Cell(format_fixed(100 * v, 0), float(v)) for v in feasible[m])]
        for m in order[::-1]
    ]
    numbers = Table(item_name(results, "feasibility"), f"Feasible runs in per cent{dim_text(results)}", columns, rows)
    return Figure(item_name(results, "feasibility"), f"Feasible runs{dim_text(results)}", [panel], caption, (), numbers)


def make_action_figure(results: RunArrays) -> Figure | None:
    """Which actions are chosen over the run: shares of the eleven actions, and the mean.

    A panel for each contender and problem that stored actions; None where no run was steered by a policy.
    """
    panels, rows = [], []
    for m, label in enumerate(results.labels):
        for p, case in enumerate(results.cases):
            trace = results.action_trace(m, p)
            if trace is None:
                continue
            counts, actions = trace
            edges, actions = counts, actions[:, :-1]  # an action holds until the next generation
            marks: list[Mark] = []
            for k in range(11):
                share = np.mean(np.round(actions * 10) == k, axis=0)
                for g in np.flatnonzero(share):
                    text = f"{case.problem}, action {k / 10:g}, {counts[g]:.0f} evaluations: {100 * share[g]:.0f} %"
                    marks.append(
                        Tile((edges[g], edges[g + 1]), (k / 10 - 0.05, k / 10 + 0.05), float(share[g]), "", text)
                    )
            marks.append(Line((edges[1:] + edges[:-1]) / 2, actions.mean(axis=0), 1, "mean action", 1.8))
            title = case.problem if len(results.labels) == 1 else f"{case.problem}, {label}"
            thirds = [float(stats.nan_mean(part.reshape(-1), 0)) for part in np.array_split(actions, 3, axis=1)]
            rows.append([Cell(title, title), *(Cell(format_fixed(mean, 3), mean) for mean in thirds)])
            x = Axis("evaluations", (float(counts[0]), float(edges[-1])))
            panels.append(Panel(title, marks, x, Axis("action", (-0.08, 1.08))))
    if not panels:
        return None
    caption = "Darker: more of the runs chose the action in that generation. The line is the mean over runs."
    columns = [Column("Problem", head=True), *(Column(f"{part} third") for part in ("first", "middle", "last"))]
    numbers = Table(item_name(results, "actions"), "Mean action in each third of the generations", columns, rows)
    return Figure(item_name(results, "actions"), "Actions over the run", panels, caption, (), numbers)
