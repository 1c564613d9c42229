"""The top of the page: what came out in a sentence, and the one picture that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from meco.bench.plan.contender import AS_PRINTED, SCORE_REWARDED
from meco.bench.report import choice, stats
from meco.bench.report.names import NAMES
from meco.bench.report.result_figures import colour_slots
from meco.bench.report.run_arrays import RunArrays
from meco.figures.figure import Figure
from meco.figures.panel import Axis, Dot, Panel
from meco.figures.table import Cell, Column, Table, format_fixed

OURS = ("MeCO-TR", AS_PRINTED, SCORE_REWARDED, "MeCO")  # whose places are told, where they are not among the first
SAID = {"MeCO": NAMES["MeCO"]}  # in a sentence, where MeCO alone is the library


class Headline(NamedTuple):
    """What stands on top of the page."""

    sentence: str
    figure: Figure


def compose_headline(sets: Sequence[RunArrays]) -> Headline | None:
    """Of the first results with several methods: which one to use on a problem, or who stands where over many.

    None where no results have two methods to compare.
    """
    for results in sets:
        if results.records and results.shape[0] > 1:
            if "choice" in results.experiment.report.views:
                figure = choice.make_best_feasible_figure(results, 0)
                return Headline(choice.compose_advice(results, 0), replace(figure, name="headline"))
            if results.complete.sum() > 1 and results.shape[1] > 1:
                return _rank_headline(results)
    return None


def _rank_headline(results: RunArrays) -> Headline:
    """Average ranks, feasibility first, with their intervals, of the contenders that ran on every problem."""
    table = results.rank_table("first")
    kept = np.flatnonzero(results.complete)
    order = kept[np.argsort(table[kept].mean(axis=1), kind="stable")]
    mean = {int(m): float(table[m].mean()) for m in order}
    rate = stats.nan_mean(results.field_values("feasible").reshape(len(results.labels), -1), 1)
    marks, rows = [], []
    for place, m in enumerate(order):
        low, high = stats.bootstrap_interval(table[m])
        label = results.labels[m]
        marks.append(Dot((low, mean[m], high), float(len(order) - 1 - place), colour_slots(results)[m], label))
        rank = Cell(format_fixed(mean[m], 2), mean[m], lines=(("spread", f"{low:.1f} to {high:.1f}"),))
        rows.append([Cell(label, label), rank, Cell(format_fixed(100 * rate[m], 0), float(rate[m]))])
    names = tuple((float(len(order) - 1 - place), results.labels[m]) for place, m in enumerate(order))
    y = Axis(limits=(-0.7, len(order) - 0.3), names=names)
    panel = Panel("", marks, Axis("average rank, feasibility first (1 is best)"), y, (480, 60 + 20 * len(order)))
    columns = [Column("Method", head=True), Column("average rank"), Column("feasible runs, %")]
    caption = "Average rank over the problems, feasibility first, with a 95 % interval over problems."
    numbers = Table("headline", "Average ranks, feasibility first", columns, rows)
    title = f"{results.experiment.title}: who stands where"
    return Headline(
        _compose_sentence(results, order, mean, rate), Figure("headline", title, [panel], caption, (), numbers)
    )


def _compose_sentence(results: RunArrays, order: np.ndarray, mean: dict[int, float], rate: np.ndarray) -> str:
    """Who comes first and second, and where our own methods stand.

    order are numbers of contenders, best first, at least two; mean rank by number; rate [M] of feasible runs.
    """

    def describe(m: int) -> str:
        name = SAID.get(results.labels[m], results.labels[m])
        return f"{name} (average rank {mean[m]:.1f}, feasible in {100 * rate[m]:.0f} % of its runs)"

    first, second = int(order[0]), int(order[1])
    budgets = sorted({case.budget for case in results.cases})
    spent = f"{budgets[0]:,}" if len(budgets) == 1 else f"{budgets[0]:,} to {budgets[-1]:,}"
    text = (
        f"{results.experiment.title}: of {len(order)} methods on {results.shape[1]} problems, {spent} evaluations a "
        f"run, {describe(first)} comes first, {describe(second)} second"
    )
    places = {results.labels[m]: place for place, m in enumerate(order)}
    behind = [places[name] for name in OURS if places.get(name, 0) > 1]
    return text + "".join(f"; {describe(int(order[place]))} is number {place + 1}" for place in behind) + "."
