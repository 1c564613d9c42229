"""What a run found, under both metrics: the only home of metrics, and of the best so far under each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, fused, known_all, namespace, rows, to_numpy, zeros_like
from meco.core.evaluation import Evaluation
from meco.core.rule import Key, best, not_worse
from meco.result import PaperMetrics, Point, Result, RunFacts


def feasibility_first(ev: Evaluation) -> Key:
    """Feasible before infeasible, feasible by f, infeasible by nu: the answer users get."""
    # any feasible point ranks before any violation, also when nu > 0 within the tolerance
    key = Key(namespace(ev.f).where(ev.feasible, -1.0, ev.nu), ev.f)
    return key if ev.intact else key.last_where(ev.failed)


def objective_plus_violation(ev: Evaluation) -> Key:
    """f + nu, the number of the paper's CEC2017 tables."""
    sum_ = ev.f + ev.nu
    key = Key(zeros_like(sum_), sum_)
    return key if ev.intact else key.last_where(ev.failed)


class IncumbentPoint(NamedTuple):
    """One candidate per run: key and numbers [B, 1], x [B, 1, D]."""

    key: Key
    x: Array
    f: Array
    nu: Array
    feasible: Array


class Incumbent:
    """The best candidate of each run under one metric; the earlier of equals stays."""

    remembers = ("point",)

    def __init__(self, metric: Callable[[Evaluation], Key]) -> None:
        self.metric = metric
        self.point: IncumbentPoint | None = None

    def challenge(self, x: Array, ev: Evaluation) -> None:
        """Take the best of these candidates where it beats what is held."""
        ev.nu  # noqa: B018 - made and kept here, since a compiled formula keeps nothing
        if self.point is not None:
            self.point = _best_of(self.metric, self.point, x, ev)
            return
        key = self.metric(ev)
        self.point = _gather(key, x, ev, best(key))

    def host(self) -> IncumbentPoint:
        """What is held, in NumPy."""
        assert self.point is not None
        return self.to_host(self.point)

    @staticmethod
    def to_host(held: IncumbentPoint) -> IncumbentPoint:
        """The same candidates in NumPy."""
        return IncumbentPoint(Key(*(to_numpy(v) for v in held.key)), *(to_numpy(v) for v in held[1:]))


@fused
def _best_of(metric: Callable[[Evaluation], Key], held: IncumbentPoint, x: Array, ev: Evaluation) -> IncumbentPoint:
    """The best of these candidates, or what is held where that is not worse."""
    key = metric(ev)
    i = best(key)
    if isinstance(i, np.ndarray) and i.size == 1:  # the single user's case, on plain numbers
        return held if not_worse(_number(held.key), _number(key, i.item())) else _gather(key, x, ev, i)
    found = _gather(key, x, ev, i)
    lost = not_worse(held.key, found.key)
    return held if known_all(lost) else _better(~lost, found, held)


def _number(key: Key, at: int = 0) -> Key:
    return Key(key.major.item(at), key.minor.item(at))


def _gather(key: Key, x: Array, ev: Evaluation, i: Array) -> IncumbentPoint:
    """Candidate i [B] of each run."""
    if isinstance(i, np.ndarray) and i.size == 1:
        one = slice(at := i.item(), at + 1)
        major, minor, *rest = [a[:, one].copy() for a in (*key, x, ev.f, ev.nu, ev.feasible)]
    else:
        major, minor, *rest = [rows(a, i[:, None]) for a in (*key, x, ev.f, ev.nu, ev.feasible)]
    return IncumbentPoint(Key(major, minor), *rest)


def _better(won: Array, found: IncumbentPoint, held: IncumbentPoint) -> IncumbentPoint:
    xp = namespace(found.f)
    key = Key(*(xp.where(won, a, b) for a, b in zip(found.key, held.key)))
    numbers = (xp.where(won, a, b) for a, b in zip(found[2:], held[2:]))
    return IncumbentPoint(key, xp.where(won[..., None], found.x, held.x), *numbers)


@dataclass(frozen=True, eq=False)
class RunResults(Sequence[Result]):
    """The records of runs in lockstep, each made when it is looked at: thousands of runs cost nothing before."""

    method: str
    seeds: Sequence[int]
    problems: Sequence[str]
    found: IncumbentPoint
    score: IncumbentPoint
    snapshot: IncumbentPoint
    final: IncumbentPoint
    nfev: np.ndarray
    nfail: np.ndarray
    budget: int
    notes: tuple[str, ...]
    trace: Mapping[str, np.ndarray]  # [generations, B, ...] each

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, run: Any) -> Any:
        if isinstance(run, slice):
            return [self[b] for b in range(*run.indices(len(self)))]
        b = range(len(self))[run]
        found, score, snapshot, final = self.found, self.score, self.snapshot, self.final
        facts = RunFacts(
            method=self.method,
            seed=int(self.seeds[b]),
            problem=self.problems[b],
            nfail=int(self.nfail[b]),
            budget=self.budget,
            stop_reason="budget" if int(self.nfev[b]) >= self.budget else "finished",
            notes=self.notes,
        )
        f, nu, feasible = float(found.f[b, 0]), float(found.nu[b, 0]), bool(found.feasible[b, 0])
        reached = f"best feasible f = {f:.10g}" if feasible else f"no feasible point, least violation {nu:.6g}"
        return Result(
            x=found.x[b, 0],
            fun=f,
            success=feasible,
            message=f"{self.method} on {self.problems[b]}, seed {facts.seed}, {self.nfev[b]} evaluations: {reached}.",
            nu=nu,
            score=float(score.key.minor[b, 0]),
            nfev=int(self.nfev[b]),
            nit=len(self.trace["nfev"]) if "nfev" in self.trace else 0,
            trace={k: v[:, b] for k, v in self.trace.items()},
            run=facts,
            paper=PaperMetrics(score.x[b, 0], _point(snapshot, b), _point(final, b), float(final.key.minor[b, 0])),
        )


def _point(held: IncumbentPoint, b: int) -> Point:
    return Point(held.x[b, 0], float(held.f[b, 0]), float(held.nu[b, 0]), bool(held.feasible[b, 0]))
