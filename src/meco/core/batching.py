"""Problems of runs in lockstep: which are evaluated together, and columns that make them equally wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.box import Box, Scale
from meco.core.categories import Categories
from meco.core.problem import Problem
from meco.core.source import ExtraCalls, Values
from meco.core.streams import CHANCE_STREAM, DeviceStreams, Streams
from meco.errors import InvalidInput


class ProblemBatch:
    """One problem for all runs, or one each (all of equal D): the source of values of benchmarks and training.

    Chance, where a problem takes something from it, is drawn from each run's own stream, number by number as its
    points are called: run b of a batch meets the noise that it meets alone. Without streams all runs have seed 0.
    """

    def __init__(
        self,
        problems: Problem | Sequence[Problem],
        runs: int = 1,
        xp: Any = np,
        device: Any = None,
        streams: Streams | DeviceStreams | None = None,
    ) -> None:
        """One problem for all runs, or as many as runs, of equal D, else InvalidInput; arrays go to the device."""
        self.problems = [problems] * runs if isinstance(problems, Problem) else list(problems)
        if len(self.problems) != runs:
            raise InvalidInput(f"{runs} runs need one problem or {runs} problems; got {len(self.problems)}")
        distinct = list(dict.fromkeys(self.problems))
        if len(dims := sorted({p.dim for p in distinct})) > 1:
            raise InvalidInput(f"runs in lockstep need problems of equal D; got {dims}")
        self.runs, self.xp, self.device = runs, xp, device
        self.names = [p.name for p in self.problems]
        self.strictest = [p.strictest for p in distinct]
        self.finite = all(p.finite for p in distinct)
        self._counts = max(p.n_ineq for p in distinct), max(p.n_eq for p in distinct)
        self.box, self._tolerances = self._make_box_and_tolerances(distinct)
        self._groups, order = _group_runs(self.problems)
        self._to_groups = self._from_groups = None  # where the runs of a group already lie side by side
        if (order != np.arange(runs)).any():
            self._to_groups, self._from_groups = self._index_to_device(order), self._index_to_device(np.argsort(order))
        self._chance: Any = None
        self._group_chance: list[Any] = [None] * len(self._groups)  # the same streams, of the runs of each group
        if any(p.draws for p in distinct):
            self._chance = (streams or Streams([0] * runs, xp, device)).spawn(CHANCE_STREAM)
            members = np.split(order, np.cumsum([count for _, count in self._groups])[:-1])
            self._group_chance = [self._chance.select(theirs) for theirs in members]

    def _make_box_and_tolerances(self, distinct: list[Problem]) -> tuple[Box, tuple[Array, Array]]:
        """The box, arrays [B or 1, 1, D], and tolerances of inequalities and equalities, [B or 1, 1, 1 or C] each."""
        number = {p: k for k, p in enumerate(distinct)}
        which = np.array([number[p] for p in self.problems])

        def to_runs(rows: list[Any]) -> Array:
            """One row for each distinct problem as [B or 1, 1, n], on the device."""
            block = np.stack([np.asarray(row, dtype=np.float64) for row in rows])
            if len(distinct) > 1:
                block = block[which]
            block = block if self.xp is np else self.xp.asarray(block, dtype=self.xp.float64, device=self.device)
            return block[:, None, :]

        masks = [np.zeros(p.dim) if p.integrality is None else p.integrality for p in distinct]
        integer = to_runs(masks) > 0 if np.any(masks) else None
        lower, upper = (to_runs([getattr(p, end) for p in distinct]) for end in ("lower", "upper"))
        box = Box(lower, upper, integer, _make_scale(distinct), categories=self._find_categories(distinct))
        ineq, eq = (
            to_runs(_widen_tolerances([getattr(p, key) for p in distinct], width))
            for key, width in zip(("ineq_tol", "eq_tol"), self._counts)
        )
        return box, (ineq, eq)

    def _find_categories(self, distinct: list[Problem]) -> Categories | None:
        """The categories of the one run of a problem that has some; InvalidInput for several runs, or on a device."""
        if all(p.kinds.categories is None for p in distinct):
            return None
        if self.runs > 1 or self.xp is not np:
            raise InvalidInput(f"{self.names[0]} has categories, which are searched one run at a time, on NumPy")
        return distinct[0].kinds.categories

    def _index_to_device(self, index: np.ndarray) -> Array:
        """An index in the library and on the device of the values."""
        return index if self.xp is np else self.xp.asarray(index, device=self.device)

    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities of the widest problem."""
        return self._counts

    def tolerances(self) -> tuple[Array, Array]:
        """Of inequalities and equalities: [B or 1, 1, 1], or [B or 1, 1, C] where constraints differ in it."""
        return self._tolerances

    def values(self, x: Array) -> Values:
        """f [B, N], g [B, N, p] and h [B, N, q] of every run's own problem at x [B, N, D], as chance has it.

        Moves the streams of chance. Constraints that a run's problem lacks are 0.
        """
        return self._evaluate_groups(x, self._group_chance)

    def true_values(self, x: Array) -> Values | None:
        """What values(x) would give without chance; None where there is none. Moves no stream."""
        return None if self._chance is None else self._evaluate_groups(x, [None] * len(self._groups))

    def _evaluate_groups(self, x: Array, chance: list[Any]) -> Values:
        """Values at x [B, N, D] in the order of the runs; chance: streams of each group, None for the truth."""
        if len(self._groups) == 1:
            return _evaluate_problem(self._groups[0][0], x, chance[0])
        xp, parts, at = self.xp, [], 0
        x = x if self._to_groups is None else xp.take(x, self._to_groups, axis=0)
        for (problem, runs), theirs in zip(self._groups, chance):
            parts.append(self._pad(_evaluate_problem(problem, x[at : at + runs, ...], theirs)))
            at += runs
        values = [xp.concat(list(p), axis=0) for p in zip(*parts)]
        f, g, h = values if self._from_groups is None else [xp.take(v, self._from_groups, axis=0) for v in values]
        return f, g, h

    partial = False  # formulas give all of a candidate's values

    def worst(self) -> float:
        """0: asked only of sources whose answers may have gaps, which problems have not."""
        return 0.0

    def values_of(self, run: int, x: Array) -> Values:
        """Values of points x [1, n, D] of one run; moves its stream of chance."""
        return self._pad(
            _evaluate_problem(self.problems[run], x, None if self._chance is None else self._chance.select([run]))
        )

    def pop_extra_calls(self) -> ExtraCalls | None:
        """A problem is called for what was asked, and nothing else."""
        return None

    def _pad(self, values: Values) -> Values:
        """f [B, N], g and h with columns of zeros, which no rule can see, up to the batch's widest problem."""
        f, g, h = values
        return f, _add_zero_columns(g, self._counts[0]), _add_zero_columns(h, self._counts[1])


def _make_scale(distinct: list[Problem]) -> Scale | None:
    """The scale of a problem with variables on a logarithmic one, None without; InvalidInput beside other problems."""
    if all(p.kinds.log is None for p in distinct):
        return None
    from meco.core.log_scale import LogScale

    first, *others = distinct
    if others or first.kinds.log is None:
        raise InvalidInput("runs in lockstep on a problem with variables on a logarithmic scale need that one problem")
    return LogScale(first.kinds.log, first.lower, first.upper)


def _evaluate_problem(problem: Any, x: Array, chance: Any) -> Values:
    """Values of x [B, N, D]: the truth, or what streams of chance, one for each run, make of it. Moves the streams."""
    draws = 0 if chance is None else getattr(problem, "draws", 0)
    values: Values = problem.disturbed(x, chance.normal(x.shape[1], draws)) if draws else problem.raw(x)
    return values


def _group_runs(problems: list[Problem]) -> tuple[list[tuple[Any, int]], np.ndarray]:
    """Group runs that share a problem object, or whose formulas stack: each group is evaluated in one call.

    Gives (what evaluates the group, number of its runs) for each group, and the runs' numbers [B] group by group.
    """
    members: dict[Any, list[int]] = {}
    for run, p in enumerate(problems):
        members.setdefault(getattr(p.formula, "stacks_with", id(p)), []).append(run)
    groups = [(_join_problems([problems[run] for run in runs]), len(runs)) for runs in members.values()]
    return groups, np.concatenate([np.array(runs) for runs in members.values()])


def _join_problems(problems: list[Problem]) -> Any:
    """One object with raw(x [B, N, D]) for these problems, at least one: itself, or the stack of their formulas."""
    if all(p is problems[0] for p in problems):
        return problems[0]
    formula: Any = problems[0].formula
    return formula.stack(problems)


def _widen_tolerances(tolerances: Sequence[float | np.ndarray], width: int) -> list[np.ndarray]:
    """Tolerances as vectors: [1] where each problem has one number, else [C], with 0 for columns that are padded."""
    if not any(np.ndim(t) for t in tolerances):
        return [np.full(1, t) for t in tolerances]
    return [np.pad(t, (0, width - np.size(t))) if np.ndim(t) else np.full(width, t) for t in tolerances]


def _add_zero_columns(values: Array, width: int) -> Array:
    """Values [..., n] with columns of zeros up to width >= n: [..., width]; themselves where none is missing."""
    missing = width - values.shape[-1]
    if missing == 0:
        return values
    xp = namespace(values)
    zeros = xp.zeros((*values.shape[:-1], missing), dtype=values.dtype, device=values.device)
    return xp.concat([values, zeros], axis=-1)
