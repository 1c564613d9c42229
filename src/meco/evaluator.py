"""The only caller of a problem: it counts, never passes the budget, and remembers the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from meco.arrays import Array, GrowingRows, fused, fusing, namespace, rows, surely, to_numpy
from meco.errors import InvalidInput
from meco.problems.evaluation import Evaluation, absent, concat
from meco.problems.problem import Problem, round_half_away
from meco.results import Incumbent, RunResults, feasibility_first, objective_plus_violation
from meco.rules.rule import Population, Progress

TOGETHER = 512  # generations that are noted before their notes are stacked, which takes less memory


class BudgetSpent(Exception):
    """Raised to a library that asks for one more evaluation than there are."""


class Evaluator:
    """Runs in lockstep on one problem, or on one problem each (all of equal D).

    Engines speak unit-cube coordinates; the evaluator maps them into the box, rounds
    integer variables, and hands back evaluations in the order asked.
    """

    renews = ("_failed",)  # arrays that every evaluation makes anew, beside those of the best points
    placed = ("lower", "upper", "_width", "_ineq_tol", "_eq_tol", "whole", "_least_whole", "_most_whole")  # by _place

    def __init__(
        self, problems: Problem | Sequence[Problem], budget: int, runs: int = 1, xp: Any = np, device: Any = None
    ) -> None:
        if int(budget) < 1:
            raise InvalidInput(f"budget must be at least 1 evaluation; got {budget}")
        each = [problems] * runs if isinstance(problems, Problem) else list(problems)
        if len(each) != runs:
            raise InvalidInput(f"{runs} runs need one problem or {runs} problems; got {len(each)}")
        self.shared = list(dict.fromkeys(each))  # each problem once
        if len(dims := sorted({p.dim for p in self.shared})) > 1:
            raise InvalidInput(f"runs in lockstep need problems of equal D; got {dims}")
        self.problems, self.budget, self.runs, self.xp = each, int(budget), runs, xp
        self.dim = each[0].dim
        self.n_ineq, self.n_eq = max(p.n_ineq for p in self.shared), max(p.n_eq for p in self.shared)
        self.recordable = all(p.recordable for p in self.shared)
        # candidates are numbers: where values are known to be too, a device is not asked; NumPy is, at little cost
        self._finite = xp is not np and all(p.finite for p in self.shared)
        self.nfev = np.zeros(runs, dtype=np.int64)
        self._most, self._even = 0, True  # largest of nfev, and whether all are equal
        self._failed: Any = 0  # [B], on the device
        self.feasible_best = Incumbent(feasibility_first)
        self.score_best = Incumbent(objective_plus_violation)
        self.snapshot_best = Incumbent(feasibility_first)
        self.last_population: Population | None = None
        self.notes: list[str] = []
        self._rows: list[dict[str, Array]] = []  # of generations that are not among the traced ones yet
        self._traced: dict[str, GrowingRows] | None = None
        self._device = device
        self.scale: Any = None  # of variables that are not linear in the unit cube
        self._groups, order = _group(each)
        self._forth = self._back = None  # where the runs of a group already lie side by side
        if (order != np.arange(runs)).any():
            self._forth, self._back = self._index(order), self._index(np.argsort(order))
        self._place(each)

    def _place(self, each: list[Problem]) -> None:
        """Box, integer mask and tolerances as arrays [B or 1, 1, D] beside the candidates."""
        shared = self.shared
        number = {p: k for k, p in enumerate(shared)}
        which = np.array([number[p] for p in each])

        def put(rows_: list[Any]) -> Array:
            block = np.stack([np.asarray(r, dtype=np.float64) for r in rows_])
            if len(shared) > 1:
                block = block[which]
            return block if self.xp is np else self.xp.asarray(block, dtype=self.xp.float64, device=self._device)

        self.lower = put([p.lower for p in shared])[:, None, :]
        self.upper = put([p.upper for p in shared])[:, None, :]
        self._width = self.upper - self.lower
        self._ineq_tol = put(_same_width([p.ineq_tol for p in shared], self.n_ineq))[:, None, :]
        self._eq_tol = put(_same_width([p.eq_tol for p in shared], self.n_eq))[:, None, :]
        masks = [np.zeros(p.dim) if p.integrality is None else p.integrality for p in shared]
        self.whole = put(masks)[:, None, :] > 0 if np.any(masks) else None
        self._least_whole = put([np.ceil(p.lower) for p in shared])[:, None, :]
        self._most_whole = put([np.floor(p.upper) for p in shared])[:, None, :]

    def tolerances(self) -> tuple[Array, Array]:
        """Of inequalities and equalities: [B or 1, 1, 1], or [B or 1, 1, C] where constraints differ in it."""
        return self._ineq_tol, self._eq_tol

    @property
    def over(self) -> bool:
        """Whether every run has spent its evaluations."""
        return self._most >= self.budget and (self._even or bool(self.nfev.min() >= self.budget))

    @property
    def left(self) -> int:
        """Evaluations that the run which spent most may still make."""
        return self.budget - self._most

    def has_for_all(self, points: int) -> bool:
        """Whether every run may make so many evaluations more, and has made as many as the others."""
        return self._even and points <= self.left

    def counts(self) -> tuple[int, int]:
        """Inequalities and equalities of the widest problem."""
        return self.n_ineq, self.n_eq

    def progress(self, generation: int) -> Progress:
        """How far the runs are."""
        return Progress(self._most, self.budget, generation)

    def to_box(self, unit: Array) -> Array:
        """Unit-cube coordinates [B, n, D] as the points that are evaluated."""
        x = _mapped(unit, self.lower, self._width, self.upper)
        x = x if self.scale is None else self.scale.to_box(unit, x)
        if self.whole is None:
            return x
        xp = namespace(unit)
        rounded = xp.minimum(xp.maximum(round_half_away(x), self._least_whole), self._most_whole)
        return xp.where(self.whole, rounded, x)

    def to_unit(self, x: np.ndarray) -> np.ndarray:
        """Points of the first problem's box in unit-cube coordinates."""
        low, high = self.problems[0].lower, self.problems[0].upper
        unit = np.clip((x - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
        return unit if self.scale is None else self.scale.to_unit(x, unit)

    def evaluate(self, unit: Array, wanted: np.ndarray | None = None) -> Evaluation:
        """Evaluate candidates [B, n, D] in index order while the budget lasts.

        wanted [B, n] leaves some out. What is not evaluated comes back as failed.
        """
        count = unit.shape[1]
        if self.over:
            raise BudgetSpent(f"all {self.budget} evaluations are spent")
        if wanted is None and self._even:
            if count <= self.left:
                return self._evaluate_all(unit)
            lacking = count - self.left
            with fusing(False):  # the cut generation comes once
                ev = self._evaluate_all(unit[:, : self.left, :])
            return concat([ev, absent(ev, lacking)])
        return self._evaluate_some(unit, np.ones((self.runs, count), dtype=bool) if wanted is None else wanted)

    def _evaluate_all(self, unit: Array) -> Evaluation:
        x = self.to_box(unit)
        ev = self._call(x)
        self._account(x, ev, unit.shape[1])
        return ev

    def peek(self, unit: Array) -> Evaluation:
        """Values that are neither counted nor remembered: for differences that stand in for known derivatives."""
        return self._call(self.to_box(unit))

    def _evaluate_some(self, unit: Array, wanted: np.ndarray) -> Evaluation:
        """Runs that differ in what they evaluate: one call for each run."""
        allowed = wanted & (np.cumsum(wanted, axis=1) <= (self.budget - self.nfev)[:, None])
        if not allowed.any():
            raise BudgetSpent("the runs that want more have spent their evaluations")
        x = self.to_box(unit)
        pieces: list[Evaluation | None] = []
        for b in range(self.runs):
            chosen = np.flatnonzero(allowed[b])
            if chosen.size == 0:
                pieces.append(None)
                continue
            part = rows(x[b : b + 1, ...], self._index(chosen[None]))
            pieces.append(self._finish(*self._padded(self.problems[b], part), b))
        like = next(p for p in pieces if p is not None)
        ev = concat([self._spread(p, allowed[b], like) for b, p in enumerate(pieces)], axis=0)
        self._account(x, ev, allowed.sum(axis=1), allowed)
        return ev

    def _spread(self, part: Evaluation | None, allowed: np.ndarray, like: Evaluation) -> Evaluation:
        """Put evaluated rows back at their places among the rows asked for."""
        gap = absent(like.map(lambda a: a[:1]), 1)
        full = gap if part is None else concat([part, gap])
        last = 0 if part is None else part.f.shape[1]
        place = np.where(allowed, np.cumsum(allowed) - 1, last)
        return full.map(lambda a: rows(a, self._index(place[None])))

    def _index(self, index: np.ndarray) -> Array:
        return index if self.xp is np else self.xp.asarray(index, device=self._device)

    def _call(self, x: Array) -> Evaluation:
        return self._finish(*self._raw(x))

    def _raw(self, x: Array) -> tuple[Array, Array, Array]:
        """f [B, N], g [B, N, p] and h [B, N, q] of every run's own problem."""
        if len(self._groups) == 1:
            return self._groups[0][0].raw(x)
        xp, parts, at = self.xp, [], 0
        x = x if self._forth is None else xp.take(x, self._forth, axis=0)
        for problem, runs in self._groups:
            parts.append(self._padded(problem, x[at : at + runs, ...]))
            at += runs
        values = [xp.concat(list(p), axis=0) for p in zip(*parts)]
        f, g, h = values if self._back is None else [xp.take(v, self._back, axis=0) for v in values]
        return f, g, h

    def _padded(self, problem: Any, x: Array) -> tuple[Array, Array, Array]:
        """Raw values with columns of zeros, which no rule can see, up to the batch's widest problem."""
        f, g, h = problem.raw(x)
        return f, _widen(g, self.n_ineq), _widen(h, self.n_eq)

    def _finish(self, f: Array, g: Array, h: Array, run: int | None = None) -> Evaluation:
        pick = slice(None) if run is None or self._ineq_tol.shape[0] == 1 else slice(run, run + 1)
        return Evaluation.of(f, g, h, self._ineq_tol[pick, ...], self._eq_tol[pick, ...], self._finite)

    def _account(self, x: Array, ev: Evaluation, spent: Any, allowed: np.ndarray | None = None) -> None:
        xp = namespace(ev.f)
        self.nfev = self.nfev + spent
        self._most = self._most + spent if self._even and allowed is None else int(self.nfev.max())
        self._even = allowed is None or bool((self.nfev == self._most).all())
        if not ev.intact:
            failures = ev.failed if allowed is None else ev.failed & self._index(allowed)
            self._failed = self._failed + xp.sum(xp.astype(failures, xp.int64), axis=-1)
        self.feasible_best.challenge(x, ev)
        self.score_best.challenge(x, ev)

    def count(self, points: int) -> None:
        """Evaluations that a device has made of every run by itself."""
        self.nfev = self.nfev + points
        self._most += points

    def note(
        self, population: Population | None, extras: dict[str, Array] | None = None, overwritten: bool = False
    ) -> None:
        """Record a generation: incumbents, survivors, what the rule did; copies of what the next one overwrites."""
        held, score = self.feasible_best.held, self.score_best.held
        assert held is not None
        assert score is not None
        row = {"nfev": self.nfev, "f": held.f[:, 0], "nu": held.nu[:, 0], "feasible": held.feasible[:, 0]}
        row["score"] = score.key.minor[:, 0]
        if population is not None:
            if not self._survivors_cannot_improve():
                self.snapshot_best.challenge(population.x, population.ev)  # unit coordinates, mapped at the end
            self.last_population = population  # of this generation, until the next one is noted
            row["feasible_share"] = population.ev.feasible_share
        row |= extras or {}
        self._rows.append({k: namespace(v).asarray(v, copy=True) for k, v in row.items()} if overwritten else row)
        if len(self._rows) >= TOGETHER:
            self.trace()

    def _survivors_cannot_improve(self) -> bool:
        """Whether the best survivor of each run already is the best point evaluated."""
        survivor, point = self.snapshot_best.held, self.feasible_best.held
        assert point is not None
        if survivor is None:
            return False
        same = survivor.key.minor == point.key.minor
        return surely(same) and surely(survivor.key.major == point.key.major)

    def results(self, method: str, seeds: Sequence[int]) -> RunResults:
        """One record per run, in NumPy."""
        if not self._rows and self._traced is None:
            self.note(None)
        found, score = self.feasible_best.host(), self.score_best.host()
        snapshot = found
        if self.snapshot_best.held is not None:
            held = self.snapshot_best.held
            snapshot = Incumbent.hosted(held._replace(x=self.to_box(held.x)))
        final = score
        if self.last_population is not None:
            last = Incumbent(objective_plus_violation)
            last.challenge(self.to_box(self.last_population.x), self.last_population.ev)
            final = last.host()
        failed = np.broadcast_to(to_numpy(self._failed), (self.runs,))
        names, bests = [p.name for p in self.problems], (found, score, snapshot, final)
        return RunResults(method, list(seeds), names, *bests, self.nfev, failed, tuple(self.notes), self.trace())

    def take_trace(self, trace: Mapping[str, np.ndarray]) -> None:
        """Put [G, B, ...] by name in the place of what was recorded so far."""
        self._rows.clear()
        self._traced = {k: GrowingRows(*v.shape[1:], dtype=v.dtype) for k, v in trace.items()}
        for k, values in trace.items():
            self._traced[k].extend(values)

    def trace_of(self, run: int = 0) -> dict[str, np.ndarray]:
        """What was recorded of every generation of a run, by name."""
        return {k: v[:, run] for k, v in self.trace().items()}

    def trace(self) -> dict[str, np.ndarray]:
        """What was recorded of every generation, by name; each is stacked once, however often this is asked."""
        if self._rows:
            known = self._rows[-1] if self._traced is None else self._traced
            names = [k for k in known if all(k in row for row in self._rows)]
            more = {k: _stacked([row[k] for row in self._rows]) for k in names}
            if self._traced is None:
                self._traced = {k: GrowingRows(*v.shape[1:], dtype=v.dtype) for k, v in more.items()}
            self._traced = {k: self._traced[k] for k in names}
            for k, values in more.items():
                self._traced[k].extend(values)
            self._rows.clear()
        return {k: kept.all for k, kept in (self._traced or {}).items()}  # none of a search that was begun anew


@fused
def _mapped(unit: Array, lower: Array, width: Array, upper: Array) -> Array:
    return namespace(unit).minimum(lower + unit * width, upper)  # rounding can pass the upper bound only


def _group(problems: list[Problem]) -> tuple[list[tuple[Any, int]], np.ndarray]:
    """Runs that share a problem object, or whose formulas stack, are evaluated in one call.

    What evaluates each group with its number of runs, and the runs [B] group by group.
    """
    members: dict[Any, list[int]] = {}
    for run, p in enumerate(problems):
        members.setdefault(getattr(p.formula, "stacks_with", id(p)), []).append(run)
    groups = [(_together([problems[run] for run in runs]), len(runs)) for runs in members.values()]
    return groups, np.concatenate([np.array(runs) for runs in members.values()])


def _together(problems: list[Problem]) -> Any:
    """What evaluates these problems in one raw(x [B, N, D])."""
    if all(p is problems[0] for p in problems):
        return problems[0]
    formula: Any = problems[0].formula
    return formula.stack(problems)


def _stacked(values: list[Array]) -> np.ndarray:
    """Arrays of equal shape as one in host memory, in one transfer."""
    if len(values) == 1:  # asked after every generation: no stacking
        return to_numpy(values[0])[None]
    if isinstance(values[0], np.ndarray):
        return np.array(values)  # in a third of the time that stacking takes
    return to_numpy(namespace(values[0]).stack(values))


def _same_width(tolerances: Sequence[float | np.ndarray], width: int) -> list[np.ndarray]:
    """Tolerances as vectors: [1] where each problem has one, else [C]; a column of zeros is within any."""
    if not any(np.ndim(t) for t in tolerances):
        return [np.full(1, t) for t in tolerances]
    return [np.pad(t, (0, width - np.size(t))) if np.ndim(t) else np.full(width, t) for t in tolerances]


def _widen(values: Array, width: int) -> Array:
    missing = width - values.shape[-1]
    if missing == 0:
        return values
    xp = namespace(values)
    zeros = xp.zeros((*values.shape[:-1], missing), dtype=values.dtype, device=values.device)
    return xp.concat([values, zeros], axis=-1)
