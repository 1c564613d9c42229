"""SciPy's constrained differential evolution, COBYQA and COBYLA, which drive themselves."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from meco.core.capabilities import InfiniteBounds
from meco.core.engine import Task
from meco.core.metrics import feasibility_first
from meco.core.rule import best
from meco.engines.external import FailureCeiling, contain_warnings, load_library
from meco.engines.external.own_loop import EvaluatorCallbacks, LocalSearch, OwnLoopEngine
from meco.errors import InvalidInput


@cache
def load_scipy() -> ModuleType:
    """SciPy's optimizers; MissingExtra, which says how to get them, where they are not installed."""
    return load_library("scipy.optimize", "a SciPy method")


class DifferentialEvolution(OwnLoopEngine):
    """best1bin with Lampinen's rule; equalities as |h| <= eq_tol."""

    name = "SciPy-DE"

    def __init__(self, task: Task, pop_size: int = 50) -> None:
        """Populations below 5 are refused. MissingExtra without SciPy."""
        if pop_size < 5:
            raise InvalidInput(f"SciPy-DE needs a pop_size of at least 5; got {pop_size}")
        load_scipy()
        self.task, self.size = task, int(pop_size)
        self.random = task.rng.generator(0)

    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """SciPy's routine from uniform points; of its stops none is used, it ends with the budget."""
        first = 0.5 + (
            np.clip((self._first_points(self.size) - 0.5) + 0.5, 0.0, 1.0) - 0.5
        )  # as the routine rounds them
        callbacks.evaluate(first)  # what it asks first anyway: how many constraints there are must be said before
        load_scipy().differential_evolution(
            lambda x: self._objective_at(callbacks, x),
            bounds=[(0.0, 1.0)] * self.task.dim,
            init=first,
            constraints=self._make_constraints(callbacks),
            rng=self.random,
            maxiter=self.task.budget,  # the evaluator ends the search
            tol=0.0,
            polish=False,
            updating="deferred",
            vectorized=True,
        )

    def _objective_at(self, callbacks: EvaluatorCallbacks, x: np.ndarray) -> np.ndarray:
        """f of the columns of x [D, S]: [S]; failed points are infinite, which the routine understands."""
        ev = callbacks.evaluate(x.T)
        return np.where(ev.failed[0], np.inf, ev.f[0])

    def _make_constraints(self, callbacks: EvaluatorCallbacks) -> Any:
        """Tolerated inequalities and |h| <= eq_tol as one vectorized constraint; () where there are none."""
        n_con = self.task.n_ineq + self.task.n_eq
        if n_con == 0:
            return ()

        def constraints(x: np.ndarray) -> np.ndarray:
            if x.ndim == 1:  # asked once, for the number of constraints
                return np.zeros(n_con)
            ev = callbacks.evaluate(x.T)
            over = np.concatenate([ev.g[0] - self.task.ineq_tol, np.abs(ev.h[0]) - self.task.eq_tol], axis=1)
            return np.where(ev.failed[0][:, None], np.inf, over).T

        return load_scipy().NonlinearConstraint(constraints, -np.inf, 0.0)


class Cobyqa(OwnLoopEngine):
    """Trust-region SQP with quadratic models, from the best of some random points, again and again."""

    name = "COBYQA"

    def __init__(
        self, task: Task, starts_from: int | None = None, radius: float = 0.1, final_radius: float = 1e-6
    ) -> None:
        """A start is the best of starts_from uniform points, at least 1. MissingExtra without SciPy."""
        if starts_from is None:  # a tenth of a small budget: most of it is for the search
            starts_from = min(50, max(1, task.budget // 10))
        if starts_from < 1:
            raise InvalidInput(f"COBYQA starts from the best of at least 1 point; got starts_from={starts_from}")
        load_scipy()
        self.task, self.size = task, int(starts_from)
        self.radius, self.final_radius = float(radius), float(final_radius)
        self.random = task.rng.generator(0)

    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """COBYQA from the best of some uniform points, until its radius is small."""
        first = self._first_points(self.size)
        start = first[int(best(feasibility_first(callbacks.evaluate(first)))[0])]
        self.ceiling = FailureCeiling()
        load_scipy().minimize(
            lambda x: float(self._values_at(callbacks, x)[0]),
            start,
            method="COBYQA",
            bounds=load_scipy().Bounds(np.zeros(self.task.dim), np.ones(self.task.dim)),
            constraints=self._make_constraints(callbacks),
            options={
                "maxfev": 10 * self.task.budget,  # the evaluator ends the search
                "maxiter": 100 * self.task.budget,
                "initial_tr_radius": self.radius,
                "final_tr_radius": self.final_radius,
            },
        )

    def _values_at(self, callbacks: EvaluatorCallbacks, x: np.ndarray) -> np.ndarray:
        """f, g and h of a point x [D] of the unit cube, [1 + p + q]; a failed one is twice as bad as the worst seen."""
        ev = callbacks.evaluate(x[None])
        return self.ceiling.replace_failed(np.concatenate([ev.f[0][:, None], ev.g[0], ev.h[0]], axis=1), ev.failed[0])[
            0
        ]

    def _make_constraints(self, callbacks: EvaluatorCallbacks) -> Any:
        """g <= 0 and h = 0 as one constraint; () where there are none."""
        p, q = self.task.n_ineq, self.task.n_eq
        if p + q == 0:
            return ()
        low = np.concatenate([np.full(p, -np.inf), np.zeros(q)])
        return load_scipy().NonlinearConstraint(lambda x: self._values_at(callbacks, x)[1:], low, np.zeros(p + q))


class Cobyla(LocalSearch):
    """Linear models in a trust region of Powell's, in SciPy since 1.16 as PRIMA wrote it anew, again and again.

    In the problem's own units unless own_units is False. radius is the first one, at most a quarter of the narrowest
    side; a search ends at final_radius.
    """

    name = "COBYLA"

    def __init__(self, task: Task, radius: float = 1.0, final_radius: float = 1e-4, own_units: bool = True) -> None:
        """Radii that are not positive are refused. MissingExtra without SciPy."""
        if not 0.0 < final_radius <= radius:
            raise InvalidInput(f"COBYLA needs 0 < final_radius <= radius; got {final_radius} and {radius}")
        load_scipy()
        self.task, self.radius, self.final_radius = task, float(radius), float(final_radius)
        self.own_units = bool(own_units)
        self.random = task.rng.generator(0)

    def capabilities(self) -> tuple[Any, ...]:
        return (*super().capabilities(), InfiniteBounds())

    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """COBYLA from one point, until its radius is small."""
        start = self._start_point(callbacks, own_units=self.own_units)
        scipy, ruler = load_scipy(), self.ruler
        radius = min(self.radius, 0.25 * ruler.narrowest)
        p, q = self.task.n_ineq, self.task.n_eq
        low = np.concatenate([np.full(p, -np.inf), np.zeros(q)])
        limits = scipy.NonlinearConstraint(lambda x: self._values_at(callbacks, x[None])[0, 1:], low, np.zeros(p + q))
        with contain_warnings():
            scipy.minimize(
                lambda x: float(self._values_at(callbacks, x[None])[0, 0]),
                start,
                method="COBYLA",
                bounds=scipy.Bounds(ruler.low, ruler.high),
                constraints=limits if p + q else (),
                options={"rhobeg": radius, "tol": min(self.final_radius, radius), "maxiter": 10 * self.task.budget},
            )
