"""Who stands where on a suite, by both metrics, from the tables of its report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from meco.bench.plan.experiments import EXPERIMENTS
from meco.bench.plan.further import EVALUATIONS_PER_VARIABLE
from meco.bench.report import stats
from meco.bench.report.names import SUITES
from meco.bench.report.stats import Feasibility
from meco.methods import DEFAULT
from tools.pages.tables import Table, parse_number, read_long, read_table

SURE = stats.ALPHA  # a p-value below it is no chance
SCORE, FIRST = "rank, f+ν", "rank, feasibility first"
HEADLINE = ("table1", "cec2017-10d", "uav", "rwco", "realworld", "cec2017-30d")  # suites, most important first
JUDGED = {  # every experiment that the default is judged by -> what its problems are called
    **{suite: SUITES[suite] for suite in HEADLINE},
    **SUITES,
    "scales": "CEC2017 in other units",
    "short-cec2017": "CEC2017, 100 evaluations",
    "short-engineering": "engineering problems, 100 evaluations",
    "unseen-10d": "CEC2017, unseen instance, 10 variables",
    "unseen-30d": "CEC2017, unseen instance, 30 variables",
    **{f"budgets-{k}": f"{k} evaluations a variable" for k in EVALUATIONS_PER_VARIABLE},
}
ONE_DIMENSION = {"unseen-10d": ("unseen", 10), "unseen-30d": ("unseen", 30)}  # of an experiment that has several
SHOWN = 4  # suites of the headline: the first of these that were run


@dataclass(frozen=True)
class Standing:
    """Who stands where on a suite, by both metrics."""

    suite: str
    table: Table
    problems: int

    @property
    def title(self) -> str:
        """What the problems of the suite are called."""
        return JUDGED[self.suite]

    @property
    def in_words(self) -> str:
        """The title inside a sentence."""
        return self.title.replace("CEC2017, ", "CEC2017 functions of ")

    @property
    def methods(self) -> list[str]:
        """Every method that ran."""
        return list(self.table)

    def rank(self, method: str, column: str) -> float:
        """The average rank of a method in a column of the table."""
        return parse_number(self.table[method][column])

    def order(self, column: str) -> list[str]:
        """Methods from the first to the last."""
        return sorted((m for m in self.table if self.table[m][column]), key=lambda m: self.rank(m, column))

    def place(self, method: str, column: str) -> int:
        """1 for the first; methods of equal rank share a place."""
        return 1 + sum(self.rank(m, column) < self.rank(method, column) for m in self.order(column))

    def p_value(self, method: str, column: str) -> float:
        """Of the default against a method over the problems, corrected by Holm; an error where that was not tested."""
        experiment, dim = ONE_DIMENSION.get(self.suite, (self.suite, None))
        name = f"{experiment}-pairs-default" + (f"-{dim}d" if dim else "")
        row = (read_table(name) or {}).get(method)
        if row is None:
            raise ValueError(f"results/tables/{name}.csv has no test of {DEFAULT} against {method}")
        return parse_number(row[f"p (Holm), {column.removeprefix('rank, ')}"])

    @cached_property
    def difference(self) -> float:
        """Average ranks further apart than this differ (Nemenyi, 0.05)."""
        return stats.critical_difference(len(self.table), self.problems)

    def level(self, column: str) -> list[str]:
        """Those whom the critical difference does not tell apart from the first."""
        order = self.order(column)
        return [m for m in order[1:] if self.rank(m, column) - self.rank(order[0], column) <= self.difference]

    @cached_property
    def places(self) -> dict[str, dict[str, float]]:
        """Problem -> method -> place, feasibility first."""
        cells = read_feasibility(self.suite)
        return {p: dict(zip(of, stats.feasibility_ranks(list(of.values())))) for p, of in cells.items()}


def read_feasibility(suite: str) -> dict[str, dict[str, Feasibility]]:
    """Problem -> method -> how its runs ended."""
    cells: dict[str, dict[str, Feasibility]] = {}
    for row in read_long(f"{suite}-feasibility-first"):
        facts = (parse_number(row[k]) for k in ("feasible_share", "mean_f", "std_f", "mean_violation"))
        cells.setdefault(row["problem"], {})[row["method"]] = Feasibility(*facts)
    return cells


def read_standing(suite: str) -> Standing | None:
    """The standing on a suite, from its tables; None where it has not been run."""
    experiment, dim = ONE_DIMENSION.get(suite, (suite, None))
    ranks = read_table(f"{experiment}-ranks")
    if ranks is None:
        return None
    if dim is not None:
        columns = {column: f"{dim}D, {column.removeprefix('rank, ')}" for column in (SCORE, FIRST)}
        ranks = {m: {column: row[there] for column, there in columns.items()} for m, row in ranks.items()}
    return Standing(suite, ranks, len(EXPERIMENTS[experiment].cases(dim)))


def headline_standings() -> list[Standing]:
    """Of the suites that the headline shows."""
    return [found for suite in HEADLINE if (found := read_standing(suite)) is not None][:SHOWN]
