"""The only caller of a problem: it counts, never passes the budget, and remembers the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.arrays import Array, namespace, rows, to_numpy
from meco.errors import InvalidInput
from meco.problems.evaluation import Evaluation, absent, concat
from meco.problems.problem import Problem, round_half_away
from meco.results import RunResult, feasibility_first, objective_plus_violation
from meco.rules.rule import Key, Population, Progress, best, not_worse


class BudgetSpent(Exception):
    """Raised to a library that asks for one more evaluation than there are."""


class Held(NamedTuple):
    """One candidate per run: key and numbers [B, 1], x [B, 1, D]."""

    key: Key
    x: Array
    f: Array
    nu: Array
    feasible: Array


class Incumbent:
    """The best candidate of each run under one metric; the earlier of equals stays."""

    def __init__(self, metric: Callable[[Evaluation], Key]) -> None:
        self.metric = metric
        self.held: Held | None = None

    def challenge(self, x: Array, ev: Evaluation) -> None:
        """Take the best of these candidates where it beats what is held."""
        key = self.metric(ev)
        i = best(key)[:, None]
        found = Held(Key(rows(key.major, i), rows(key.minor, i)), rows(x, i), *_numbers(ev, i))
        self.held = found if self.held is None else _better(found, self.held)


def _numbers(ev: Evaluation, i: Array) -> tuple[Array, Array, Array]:
    return rows(ev.f, i), rows(ev.nu, i), rows(ev.feasible, i)


def _better(found: Held, held: Held) -> Held:
    xp = namespace(found.f)
    won = ~not_worse(held.key, found.key)
    pairs = zip(found[2:], held[2:])
    key = Key(*(xp.where(won, a, b) for a, b in zip(found.key, held.key)))
    return Held(key, xp.where(won[..., None], found.x, held.x), *(xp.where(won, a, b) for a, b in pairs))


class Evaluator:
    """Runs in lockstep on one problem, or on one problem each (all of equal D).

    Engines speak unit-cube coordinates; the evaluator maps them into the box, rounds
    integer variables, and hands back evaluations in the order asked.
    """

    def __init__(
        self, problems: Problem | Sequence[Problem], budget: int, runs: int = 1, xp: Any = np, device: Any = None
    ) -> None:
        if int(budget) < 1:
            raise InvalidInput(f"budget must be at least 1 evaluation; got {budget}")
        each = [problems] * runs if isinstance(problems, Problem) else list(problems)
        if len(each) != runs:
            raise InvalidInput(f"{runs} runs need one problem or {runs} problems; got {len(each)}")
        if len({p.dim for p in each}) > 1:
            raise InvalidInput(f"runs in lockstep need problems of equal D; got {sorted({p.dim for p in each})}")
        self.problems, self.budget, self.runs, self.xp = each, int(budget), runs, xp
        self.dim = each[0].dim
        self.n_ineq, self.n_eq = max(p.n_ineq for p in each), max(p.n_eq for p in each)
        self.nfev = np.zeros(runs, dtype=np.int64)
        self._failed: Any = 0  # [B], on the device
        self.feasible_best = Incumbent(feasibility_first)
        self.score_best = Incumbent(objective_plus_violation)
        self.snapshot_best = Incumbent(feasibility_first)
        self.last_population: Population | None = None
        self.notes: list[str] = []
        self._rows: list[dict[str, Array]] = []
        self._groups = _group(each)
        self._device = device
        self._place(each)

    def _place(self, each: list[Problem]) -> None:
        """Box, integer mask and tolerances as arrays [B or 1, 1, D] beside the candidates."""
        shared = each[:1] if len(self._groups) == 1 else each

        def put(rows_: list[Any]) -> Array:
            block = np.stack([np.asarray(r, dtype=np.float64) for r in rows_])
            return block if self.xp is np else self.xp.asarray(block, dtype=self.xp.float64, device=self._device)

        self.lower = put([p.lower for p in shared])[:, None, :]
        self.upper = put([p.upper for p in shared])[:, None, :]
        self._ineq_tol = put([p.ineq_tol for p in shared])[:, None, None]
        self._eq_tol = put([p.eq_tol for p in shared])[:, None, None]
        masks = [np.zeros(p.dim) if p.integrality is None else p.integrality for p in shared]
        self._whole = put(masks)[:, None, :] > 0 if np.any(masks) else None

    @property
    def left(self) -> int:
        """Evaluations that the run which spent most may still make."""
        return self.budget - int(self.nfev.max())

    def progress(self, generation: int) -> Progress:
        """How far the runs are."""
        return Progress(int(self.nfev.max()), self.budget, generation)

    def to_box(self, unit: Array) -> Array:
        """Unit-cube coordinates [B, n, D] as the points that are evaluated."""
        xp = namespace(unit)
        x = self.lower + unit * (self.upper - self.lower)
        if self._whole is not None:
            x = xp.where(self._whole, round_half_away(x), x)
        return xp.minimum(xp.maximum(x, self.lower), self.upper)

    def to_unit(self, x: np.ndarray) -> np.ndarray:
        """Points of the first problem's box in unit-cube coordinates."""
        low, high = self.problems[0].lower, self.problems[0].upper
        return np.clip((x - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)

    def evaluate(self, unit: Array, wanted: np.ndarray | None = None) -> Evaluation:
        """Evaluate candidates [B, n, D] in index order while the budget lasts.

        wanted [B, n] leaves some out. What is not evaluated comes back as failed.
        """
        count = unit.shape[1]
        if self.nfev.min() >= self.budget:
            raise BudgetSpent(f"all {self.budget} evaluations are spent")
        if wanted is None and self.nfev.min() == self.nfev.max():
            take = min(count, self.left)
            x = self.to_box(unit[:, :take, :])
            ev = self._call(x)
            self._account(x, ev, take)
            return ev if take == count else concat([ev, absent(ev, count - take)])
        return self._evaluate_some(unit, np.ones((self.runs, count), dtype=bool) if wanted is None else wanted)

    def _evaluate_some(self, unit: Array, wanted: np.ndarray) -> Evaluation:
        """Runs that differ in what they evaluate: one call for each run."""
        allowed = wanted & (np.cumsum(wanted, axis=1) <= (self.budget - self.nfev)[:, None])
        x = self.to_box(unit)
        pieces = []
        for b in range(self.runs):
            chosen = np.flatnonzero(allowed[b])
            if chosen.size == 0:
                pieces.append(None)
                continue
            part = rows(x[b : b + 1], self._index(chosen[None]))
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
        if len(self._groups) == 1:
            return self._finish(*self.problems[0].raw(x))
        xp = self.xp
        parts = []
        for problem, runs in self._groups:
            parts.append(self._padded(problem, xp.take(x, self._index(runs), axis=0)))
        back = self._index(np.argsort(np.concatenate([runs for _, runs in self._groups])))
        return self._finish(*(xp.take(xp.concat(list(p), axis=0), back, axis=0) for p in zip(*parts)))

    def _padded(self, problem: Problem, x: Array) -> tuple[Array, Array, Array]:
        """Raw values with columns of zeros, which no rule can see, up to the batch's widest problem."""
        f, g, h = problem.raw(x)
        return f, _widen(g, self.n_ineq), _widen(h, self.n_eq)

    def _finish(self, f: Array, g: Array, h: Array, run: int | None = None) -> Evaluation:
        pick = slice(None) if run is None or self._ineq_tol.shape[0] == 1 else slice(run, run + 1)
        return Evaluation.of(f, g, h, self._ineq_tol[pick], self._eq_tol[pick])

    def _account(self, x: Array, ev: Evaluation, spent: Any, allowed: np.ndarray | None = None) -> None:
        xp = namespace(ev.f)
        self.nfev = self.nfev + spent
        failures = ev.failed if allowed is None else ev.failed & self._index(allowed)
        self._failed = self._failed + xp.sum(xp.astype(failures, xp.int64), axis=-1)
        self.feasible_best.challenge(x, ev)
        self.score_best.challenge(x, ev)

    def note(self, population: Population | None, extras: dict[str, Array] | None = None) -> None:
        """Record a generation: the incumbents, the surviving population, what the rule did."""
        held, score = self.feasible_best.held, self.score_best.held
        assert held is not None
        assert score is not None
        row = {"nfev": self.nfev, "f": held.f[:, 0], "nu": held.nu[:, 0], "feasible": held.feasible[:, 0]}
        row["score"] = score.key.minor[:, 0]
        if population is not None:
            xp = namespace(population.x)
            self.snapshot_best.challenge(self.to_box(population.x), population.ev)
            self.last_population = population
            row["feasible_share"] = xp.mean(xp.astype(population.ev.feasible, population.x.dtype), axis=-1)
        self._rows.append(row | (extras or {}))

    def results(self, method: str, seeds: Sequence[int]) -> list[RunResult]:
        """One record per run, in NumPy."""
        if not self._rows:
            self.note(None)
        found, score = _host(self.feasible_best.held), _host(self.score_best.held)
        snapshot = _host(self.snapshot_best.held) if self.snapshot_best.held else found
        final = score
        if self.last_population is not None:
            last = Incumbent(objective_plus_violation)
            last.challenge(self.to_box(self.last_population.x), self.last_population.ev)
            final = _host(last.held)
        failed = np.broadcast_to(to_numpy(self._failed), (self.runs,))
        trace = self._trace()
        return [
            RunResult(
                x=found.x[b, 0],
                f=float(found.f[b, 0]),
                nu=float(found.nu[b, 0]),
                feasible=bool(found.feasible[b, 0]),
                x_score=score.x[b, 0],
                score=float(score.key.minor[b, 0]),
                snapshot_x=snapshot.x[b, 0],
                snapshot_f=float(snapshot.f[b, 0]),
                snapshot_nu=float(snapshot.nu[b, 0]),
                final_x=final.x[b, 0],
                final_score=float(final.key.minor[b, 0]),
                nfev=int(self.nfev[b]),
                seed=int(seed),
                method=method,
                problem=self.problems[b].name,
                nfail=int(failed[b]),
                notes=tuple(self.notes),
                trace={k: v[:, b] for k, v in trace.items()},
            )
            for b, seed in enumerate(seeds)
        ]

    def _trace(self) -> dict[str, np.ndarray]:
        names = [k for k in self._rows[-1] if all(k in row for row in self._rows)]
        return {k: np.stack([to_numpy(row[k]) for row in self._rows]) for k in names}


def _host(held: Held | None) -> Held:
    assert held is not None
    key = Key(to_numpy(held.key.major), to_numpy(held.key.minor))
    return Held(key, *(to_numpy(v) for v in held[1:]))


def _group(problems: list[Problem]) -> list[tuple[Problem, np.ndarray]]:
    """Runs that share a problem object are evaluated in one call."""
    members: dict[int, list[int]] = {}
    for run, p in enumerate(problems):
        members.setdefault(id(p), []).append(run)
    return [(problems[runs[0]], np.array(runs)) for runs in members.values()]


def _widen(values: Array, width: int) -> Array:
    missing = width - values.shape[-1]
    if missing == 0:
        return values
    xp = namespace(values)
    zeros = xp.zeros((*values.shape[:-1], missing), dtype=values.dtype, device=values.device)
    return xp.concat([values, zeros], axis=-1)
