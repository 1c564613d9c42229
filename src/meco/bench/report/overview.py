"""The top of a page with several suites: one line, their table, one picture, and profiles of who is there how soon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from meco.bench.report import profiles, stats
from meco.bench.report.names import OURS, STEERED, SUITES, shown_name
from meco.bench.report.profile_figures import find_hits
from meco.bench.report.result_tables import compare_with_others
from meco.bench.report.run_arrays import METRICS, RunArrays
from meco.bench.report.sentence import SuiteRanks, compose_sentence
from meco.bench.run.curve import CURVE_SHARES
from meco.errors import MissingExtra
from meco.figures.figure import Figure
from meco.figures.panel import COLOUR_SLOTS, MUTED, Axis, Dot, LegendKey, Line, Panel
from meco.figures.table import Cell, Column, Table, mark_best
from meco.methods import DEFAULT

MOST_METHODS = 10  # rows of the table and of a panel
ACCURACY = 1e-3  # of the profiles on top: the share of the gap that may be open
UNITS = 120  # points of a profile


class Overview(NamedTuple):
    """What stands on top of a page."""

    sentence: str
    table: Table
    figures: list[Figure]  # the picture of the ranks, then profiles where the store has curves


@dataclass(frozen=True)
class SuiteStanding:
    """Who stands where on a suite."""

    title: str
    results: RunArrays

    @cached_property
    def ranks(self) -> dict[str, dict[str, float]]:
        """Average ranks of the methods that ran on every problem, by metric and label."""
        found = {}
        for metric in METRICS:
            table = self.results.rank_table(metric)
            found[metric] = {
                label: float(table[m].mean()) for m, label in enumerate(self.results.labels) if self.results.complete[m]
            }
        return found

    @cached_property
    def feasible(self) -> dict[str, float]:
        """The share of feasible runs by label."""
        rate = stats.nan_mean(self.results.field_values("feasible").reshape(len(self.results.labels), -1), 1)
        return dict(zip(self.results.labels, map(float, rate)))

    @cached_property
    def difference(self) -> float:
        """The critical difference of average ranks (Nemenyi); nan without SciPy."""
        try:
            return stats.critical_difference(len(self.ranks["first"]), len(self.results.cases))
        except MissingExtra:
            return float("nan")

    @property
    def steered(self) -> stats.RankTest | None:
        """The default against the steered method, as the table of pairs has it; None without either, or SciPy."""
        if not {DEFAULT, STEERED} <= set(self.ranks["first"]):
            return None
        labels = self.results.labels
        try:
            return compare_with_others(self.results, "first", labels.index(DEFAULT))[labels.index(STEERED)]
        except MissingExtra:
            return None

    @property
    def summary(self) -> SuiteRanks:
        """What the line on top says it by."""
        return SuiteRanks(self.title, self.ranks["first"], self.difference, self.steered)

    def order(self, metric: str = "first") -> list[str]:
        """The ranked methods by label, best first under a metric."""
        return sorted(self.ranks[metric], key=self.ranks[metric].__getitem__)

    def place(self, label: str) -> int:
        """The place of a method, feasibility first; methods of equal rank share the better place."""
        mine = self.ranks["first"][label]
        return 1 + sum(rank < mine for rank in self.ranks["first"].values())


def compose_overview(sets: Sequence[RunArrays]) -> Overview | None:
    """Of the suites that a page holds; None where there are fewer than two with methods to compare."""
    by_name = {s.experiment.name: s for s in sets if s.records and s.complete.sum() > 1 and s.shape[1] > 1}
    seen = [SuiteStanding(title, by_name[name]) for name, title in SUITES.items() if name in by_name]
    if len(seen) < 2:
        return None
    shown = choose_methods(seen)
    figures = [_draw_ranks(seen, shown), _draw_profiles(seen, shown)]
    return Overview(
        compose_sentence([s.summary for s in seen]), _make_table(seen, shown), [f for f in figures if f is not None]
    )


def choose_methods(seen: Sequence[SuiteStanding]) -> list[str]:
    """At most MOST_METHODS: the default, then those of best places over the suites, ours among them; best first."""
    labels = dict.fromkeys(label for s in seen for label in s.ranks["first"])

    def height(label: str) -> float:
        """Mean rank as a share of the field, over the suites where it ran; the whole field where it did not."""
        shares = [s.ranks["first"][label] / len(s.ranks["first"]) if label in s.ranks["first"] else 1.0 for s in seen]
        return float(np.mean(shares))

    ordered = sorted(labels, key=height)
    must = [label for label in (DEFAULT, *OURS) if label in labels]
    winners = [label for s in seen for label in (s.order("first")[0], s.order("score")[0])]
    chosen = list(dict.fromkeys([*must, *winners, *ordered]))[:MOST_METHODS]
    return sorted(chosen, key=height)


def _make_table(seen: Sequence[SuiteStanding], shown: Sequence[str]) -> Table:
    """Ranks by both metrics, the share of feasible runs below: a column for each suite, a row for each shown method."""
    columns = [Column("Method", head=True)]
    columns += [Column(s.title, f"{len(s.results.cases)} problems, {len(s.ranks['first'])} methods") for s in seen]
    marks = [dict(zip(s.ranks["first"], mark_best([*s.ranks["first"].values()], 9))) for s in seen]
    rows = []
    for label in shown:
        cells = [Cell(shown_name(label), shown_name(label))]
        for s, mark in zip(seen, marks):
            if label not in s.ranks["first"]:
                cells.append(Cell("–", float("nan")))
                continue
            first, score = s.ranks["first"][label], s.ranks["score"][label]
            small = (("spread", f"f+ν {score:.1f}"), ("spread", f"{100 * s.feasible[label]:.0f} % feasible"))
            cells.append(Cell(f"{first:.1f}", first, mark[label], small))
        rows.append(cells)
    foot = [Cell("critical difference"), *(Cell(f"{s.difference:.1f}") for s in seen)]
    size = [Cell("problems, methods"), *(Cell(f"{len(s.results.cases)}, {len(s.ranks['first'])}") for s in seen)]
    caption = (
        "Average rank, feasibility first, then by f+ν, and the share of feasible runs; 1 is best. Ranks closer than "
        "the critical difference may differ by chance (Nemenyi, 0.05). Everyone is in the tables below."
    )
    return Table("suites", "Average ranks on the suites", columns, rows, caption, [size, foot])


def _choose_colours(shown: Sequence[str]) -> dict[str, int]:
    """The colour slots of the methods in the pictures on top, ours first; MUTED where there are no more."""
    ordered = [*(label for label in OURS if label in shown), *(label for label in shown if label not in OURS)]
    return {label: slot if slot < COLOUR_SLOTS else MUTED for slot, label in enumerate(ordered)}


def _draw_ranks(seen: Sequence[SuiteStanding], shown: Sequence[str]) -> Figure:
    """A panel for each suite: average ranks, feasibility first, with intervals over problems."""
    panels, colours = [], _choose_colours(shown)
    for s in seen:
        table = s.results.rank_table("first")
        order = [label for label in s.order() if label in shown]
        heights = {label: float(len(order) - 1 - i) for i, label in enumerate(order)}
        marks = []
        for label in order:
            row = table[s.results.labels.index(label)]
            low, high = stats.bootstrap_interval(row)
            marks.append(Dot((low, float(row.mean()), high), heights[label], colours[label], label))
        names = tuple((height, shown_name(label)) for label, height in heights.items())
        y = Axis(limits=(-0.7, len(order) - 0.3), names=names)
        panels.append(Panel(s.title, marks, Axis("average rank (1 is best)"), y, (300, 62 + 17 * len(order))))
    caption = "Average rank over the problems of each suite, feasibility first, with a 95 % interval over problems."
    return Figure("suites-ranks", "Who stands where", panels, caption)


def _draw_profiles(seen: Sequence[SuiteStanding], shown: Sequence[str]) -> Figure | None:
    """Data profiles of the shown methods on every suite whose curves are stored; None without any."""
    panels, colours = [], _choose_colours(shown)
    for s in seen:
        hits = find_hits(s.results, ACCURACY)
        kept = [m for m, label in enumerate(s.results.labels) if label in shown and not np.isnan(hits[m]).all()]
        if len(kept) < 2:
            continue
        dims = np.array([case.dim for case in s.results.cases], dtype=np.float64)
        budgets = np.array([case.budget for case in s.results.cases])
        most = float(np.max(budgets * CURVE_SHARES[-1] / (dims + 1.0)))
        units = np.linspace(0.0, most, UNITS)
        share = profiles.data_profile(hits, dims, units)
        lines = [
            Line(units, share[m], colours[label], label, 2.4 if label in OURS else 1.2)
            for m, label in ((m, s.results.labels[m]) for m in reversed(kept))
        ]
        x, y = Axis("evaluations / (D + 1)", (0, most)), Axis("solved", (0, 1))
        panels.append(Panel(s.title, lines, x, y, (300, 190)))
    if not panels:
        return None
    legend = [LegendKey(label, slot) for label, slot in colours.items() if slot != MUTED]
    legend += [LegendKey("others", MUTED)] if MUTED in colours.values() else []
    caption = (
        f"Data profiles: the share of problems and runs where all but {ACCURACY:g} of the gap to the best feasible f "
        "of all methods is closed, against evaluations. Higher is better. More profiles are in the folds below."
    )
    return Figure("suites-profiles", "How soon", panels, caption, legend)
