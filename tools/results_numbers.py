"""What the pages tell of results/tables and of benchmarks/results/control.json: standings of suites, and steering."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from meco.experiments.report import stats
from meco.experiments.report.stats import Feasibility
from meco.methods import DEFAULT as DEFAULT

ROOT = Path(__file__).parent.parent
TABLES, CONTROL = ROOT / "results" / "tables", ROOT / "benchmarks" / "results" / "control.json"
OURS = ("TR", "TR-ES", "MeCO-TR")
SCORE, FIRST = "rank, f+ν", "rank, feasibility first"
SUITES = {  # experiment -> what its problems are called
    "table1": "CEC2017, 50 variables",
    "cec2017-10d": "CEC2017, 10 variables",
    "uav": "UAV missions",
    "rwco": "real-world problems",
    "realworld": "engineering problems",
    "cec2017-30d": "CEC2017, 30 variables",
}
SHOWN = 4  # suites of the headline: the first of these that were run

Table = dict[str, dict[str, str]]  # row -> column -> text


def read(name: str) -> Table | None:
    """A table by its first column; None where the experiment has not been run."""
    file = TABLES / f"{name}.csv"
    if not file.is_file():
        return None
    with file.open(newline="", encoding="utf-8") as lines:
        head, *rows = csv.reader(lines)
    return {row[0]: dict(zip(head[1:], row[1:])) for row in rows}


def read_long(name: str) -> list[dict[str, str]]:
    """The rows of a table that has one for each problem and method."""
    with (TABLES / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def value(text: str) -> float:
    return float(text) if text else float("nan")


@dataclass(frozen=True)
class Standing:
    """Who stands where on a suite, by both metrics."""

    suite: str
    table: Table
    problems: int

    @property
    def title(self) -> str:
        return SUITES[self.suite]

    @property
    def methods(self) -> list[str]:
        return list(self.table)

    def rank(self, method: str, column: str) -> float:
        return value(self.table[method][column])

    def order(self, column: str) -> list[str]:
        """Methods from the first to the last."""
        return sorted((m for m in self.table if self.table[m][column]), key=lambda m: self.rank(m, column))

    def place(self, method: str, column: str) -> int:
        """1 for the first; methods of equal rank share a place."""
        return 1 + sum(self.rank(m, column) < self.rank(method, column) for m in self.order(column))

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
        cells: dict[str, dict[str, Feasibility]] = {}
        for row in read_long(f"{self.suite}-feasibility-first"):
            facts = (value(row[k]) for k in ("feasible_share", "mean_f", "std_f", "mean_violation"))
            cells.setdefault(row["problem"], {})[row["method"]] = Feasibility(*facts)
        return {p: dict(zip(of, stats.feasibility_ranks(list(of.values())))) for p, of in cells.items()}


def standing(suite: str) -> Standing | None:
    ranks, feasible = read(f"{suite}-ranks"), read(f"{suite}-feasibility")
    if ranks is None or feasible is None:
        return None
    return Standing(suite, ranks, len(next(iter(feasible.values()))))


def standings() -> list[Standing]:
    """Of the suites that the headline shows."""
    return [found for suite in SUITES if (found := standing(suite)) is not None][:SHOWN]


# -- steering --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Steering:
    """Final quantiles of the learned policy and of what it is judged against, problem by problem."""

    names: list[str]
    families: np.ndarray  # [P]
    quantiles: np.ndarray  # [P, names]

    def of(self, name: str) -> np.ndarray:
        return self.quantiles[:, self.names.index(name)]

    def mean(self, name: str) -> float:
        return float(self.of(name).mean())

    def without(self, ending: str) -> Steering:
        """The problems of the families whose names end otherwise."""
        kept = np.array([not family.endswith(ending) for family in self.families])
        return Steering(self.names, self.families[kept], self.quantiles[kept])

    @property
    def constant(self) -> str:
        """The constant that is best on these problems."""
        return max((n for n in self.names if n.startswith("theta")), key=self.mean)

    def p(self, name: str, policy: str = "MeCO-TR") -> float:
        """Two-sided signed-rank test over problems."""
        return stats.wilcoxon(self.of(policy), self.of(name))

    def gains(self, name: str, policy: str = "MeCO-TR") -> dict[str, float]:
        """Family -> mean lead of the policy, the largest first."""
        lead = self.of(policy) - self.of(name)
        found = {str(f): float(lead[self.families == f].mean()) for f in np.unique(self.families)}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def control() -> dict[str, Any]:
    """What was kept of the training and of its judgement."""
    return dict(json.loads(CONTROL.read_text(encoding="utf-8")))


def steering(chosen: str = "confirm") -> Steering:
    kept = control()[chosen]
    rows = kept["problems"]
    return Steering(kept["names"], np.array([r[0] for r in rows]), np.array([r[4:] for r in rows], dtype=float))
