"""What a run found, under both metrics: the only home of metrics, and of the best so far under each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from meco.arrays import Array, anywhere, everywhere, namespace, rows, to_numpy
from meco.problems.evaluation import Evaluation
from meco.rules.rule import Key, best, not_worse


def feasibility_first(ev: Evaluation) -> Key:
    """Feasible before infeasible, feasible by f, infeasible by nu: the answer users get."""
    # any feasible point ranks before any violation, also when nu > 0 within the tolerance
    key = Key(namespace(ev.f).where(ev.feasible, -1.0, ev.nu), ev.f)
    return key if ev.intact else key.last_where(ev.failed)


def objective_plus_violation(ev: Evaluation) -> Key:
    """f + nu, the number of the paper's CEC2017 tables."""
    total = ev.f + ev.nu
    key = Key(namespace(total).zeros_like(total), total)
    return key if ev.intact else key.last_where(ev.failed)


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
        found = Key(rows(key.major, i), rows(key.minor, i))
        if self.held is None:
            self.held = _gather(found, x, ev, i)
            return
        won = ~not_worse(self.held.key, found)
        if everywhere(won):
            self.held = _gather(found, x, ev, i)
        elif anywhere(won):  # where nothing improved, nothing is copied
            self.held = _better(won, _gather(found, x, ev, i), self.held)

    def host(self) -> Held:
        """What is held, in NumPy."""
        assert self.held is not None
        return self.hosted(self.held)

    @staticmethod
    def hosted(held: Held) -> Held:
        """The same candidates in NumPy."""
        return Held(Key(*(to_numpy(v) for v in held.key)), *(to_numpy(v) for v in held[1:]))


def _gather(key: Key, x: Array, ev: Evaluation, i: Array) -> Held:
    return Held(key, rows(x, i), rows(ev.f, i), rows(ev.nu, i), rows(ev.feasible, i))


def _better(won: Array, found: Held, held: Held) -> Held:
    xp = namespace(found.f)
    key = Key(*(xp.where(won, a, b) for a, b in zip(found.key, held.key)))
    numbers = (xp.where(won, a, b) for a, b in zip(found[2:], held[2:]))
    return Held(key, xp.where(won[..., None], found.x, held.x), *numbers)


@dataclass(frozen=True, eq=False)
class RunResult:
    """The best points of one run.

    Over all evaluated points: x, f, nu, feasible (feasibility first) and x_score, score
    (least f + nu). Over surviving populations, as the paper's own figures are: snapshot_*
    (feasibility first, best so far) and final_* (least f + nu, last population).
    """

    x: np.ndarray
    f: float
    nu: float
    feasible: bool
    x_score: np.ndarray
    score: float
    snapshot_x: np.ndarray
    snapshot_f: float
    snapshot_nu: float
    snapshot_feasible: bool
    final_x: np.ndarray
    final_score: float
    nfev: int
    seed: int
    method: str = ""
    problem: str = ""
    nfail: int = 0
    notes: tuple[str, ...] = ()
    trace: Mapping[str, np.ndarray] = field(default_factory=dict)  # a row per generation

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else f"infeasible, nu={self.nu:.6g}"
        return (
            f"RunResult({self.method} on {self.problem}, seed {self.seed}: f={self.f:.6g} ({state}), "
            f"score={self.score:.6g}, nfev={self.nfev})"
        )
