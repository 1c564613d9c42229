"""Stored runs of an experiment as a data frame: one row per run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.plan.run import TestCase
from meco.bench.run.curve import CURVE_NAMES, CURVE_POINTS, read_curve
from meco.bench.run.run_record import RunRecord, read_actions
from meco.bench.run.store_contents import StoreContents
from meco.errors import load_extra

METRICS = {"score": "f+ν", "first": "feasibility first"}


@dataclass(frozen=True, eq=False)
class ExperimentRuns:
    """The stored runs of one experiment at one dimension.

    ``table`` has a row per run: label and problem (categorical, in the order of the plan), run (number of the
    seed, from 0) and the fields of RunRecord. Methods without any run are not in it; ``missing`` says why.
    """

    experiment: Experiment
    dim: int | None
    contenders: tuple[Contender, ...]
    cases: tuple[TestCase, ...]
    table: Any  # pandas.DataFrame
    missing: Any  # pandas.DataFrame: label, problem, planned, found, reason
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def labels(self) -> list[str]:
        """Names of the methods, in the order of the plan."""
        return list(self.table.label.cat.categories)

    @property
    def problems(self) -> list[str]:
        """Names of the problems, in the order of the plan."""
        return list(self.table.problem.cat.categories)

    @property
    def suffix(self) -> str:
        """End of a table's name where the experiment has several dimensions: "-50d"; else ""."""
        return f"-{self.dim}d" if len(self.experiment.dims) > 1 else ""

    @property
    def title_suffix(self) -> str:
        """The same for titles: ", 50D"."""
        return f", {self.dim}D" if len(self.experiment.dims) > 1 else ""

    def name(self, what: str) -> str:
        """File name of a table or figure."""
        return f"{self.experiment.name}-{what}{self.suffix}"

    @cached_property
    def complete(self) -> list[str]:
        """Methods that have a run on every problem; only these are ranked."""
        seen = self.table.groupby("label", observed=False).problem.nunique()
        return [label for label in self.labels if seen[label] == len(self.problems)]

    @cached_property
    def budgets(self) -> np.ndarray:
        """Evaluations per run of each problem: [P]."""
        return np.array([case.budget for case in self.cases], dtype=np.float64)

    @cached_property
    def dims(self) -> np.ndarray:
        """Number of variables of each problem: [P]."""
        return np.array([case.dim for case in self.cases], dtype=np.float64)

    def cube(self, column: str) -> np.ndarray:
        """A numeric column as [M, P, R], nan where a run is missing."""
        if column not in self._kept:
            out = np.full(self._shape, np.nan)
            out[self._index] = self.table[column].to_numpy(dtype=np.float64)
            self._kept[column] = out
        return self._kept[column]

    @cached_property
    def curves(self) -> dict[str, np.ndarray]:
        """score, f and nu at the checkpoints: [M, P, R, T]; nan without a stored curve."""
        out = {name: np.full((*self._shape, CURVE_POINTS), np.nan) for name in CURVE_NAMES}
        columns = self.table[["curve", "score", "f"]].itertuples(index=False)
        for where, row in zip(zip(*self._index), columns):
            for name, values in read_curve(*row).items():
                out[name][where] = values
        return out

    def actions(self, label: str, problem: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Evaluations [G] and the actions taken there [R, G]; None where none are stored."""
        rows = self.table[(self.table.label == label) & (self.table.problem == problem)]
        found = [read_actions(blob) for blob in rows.actions if blob]
        if not found:
            return None
        length = min(trace.shape[1] for trace in found)
        return found[0][0, :length], np.stack([trace[1, :length] for trace in found])

    @cached_property
    def _shape(self) -> tuple[int, int, int]:
        return len(self.labels), len(self.problems), int(self.table.run.max()) + 1

    @cached_property
    def _index(self) -> tuple[np.ndarray, ...]:
        """Where each row of the table stands in a cube."""
        return self.table.label.cat.codes.to_numpy(), self.table.problem.cat.codes.to_numpy(), self.table.run.to_numpy()


def read_runs(contents: StoreContents, experiment: Experiment, dim: int | None = None) -> ExperimentRuns | None:
    """The stored runs of an experiment at one dimension; None where nothing has run."""
    pandas = load_extra("pandas", "report", "a report")
    cases = tuple(dict.fromkeys(experiment.cases(dim)))
    rows: list[dict[str, Any]] = []
    missing: list[dict[str, Any]] = []
    for contender in experiment.contenders:
        for case in cases:
            planned = experiment.runs_of(contender, case)
            found = [(k, contents.runs[run]) for k, run in enumerate(planned) if run in contents.runs]
            rows += [_make_row(contender, case, k, record) for k, record in found]
            if len(found) < len(planned):
                reasons = [contents.failures[run] for run in planned if run in contents.failures]
                cell = {"label": contender.label, "problem": case.problem, "planned": len(planned)}
                missing.append(cell | {"found": len(found), "reason": reasons[0] if reasons else "not run yet"})
    if not rows:
        return None
    table = pandas.DataFrame(rows)
    kept = [c for c in experiment.contenders if (table.label == c.label).any()]
    table["label"] = pandas.Categorical(table.label, [c.label for c in kept])
    table["problem"] = pandas.Categorical(table.problem, [case.problem for case in cases])
    columns = ["label", "problem", "planned", "found", "reason"]
    return ExperimentRuns(experiment, dim, tuple(kept), cases, table, pandas.DataFrame(missing, columns=columns))


def _make_row(contender: Contender, case: TestCase, number: int, record: RunRecord) -> dict[str, Any]:
    """One row of the data frame."""
    return {"label": contender.label, "method": contender.method, "problem": case.problem, "run": number} | asdict(
        record
    )
