"""SciPy's constrained differential evolution and COBYQA, which drive themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from meco.core.arrays import Array
from meco.core.capabilities import OwnLoop
from meco.core.engine import Engine, Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.evaluator import BudgetSpent, Evaluator
from meco.core.loop import note_if_cut
from meco.core.metrics import feasibility_first
from meco.core.rule import best
from meco.engines.external import FLAG_COLUMNS, FailureCeiling, load_library, pack_evaluation, unpack_evaluation
from meco.errors import InvalidInput

STOP_INTERVAL = 50  # evaluations between two questions whether to stop
TRACE_ROWS = 50  # of a run, at least: profiles of a report compare how soon methods are there


@cache
def load_scipy() -> ModuleType:
    """SciPy's optimizers, or an error that says how to get them."""
    return load_library("scipy.optimize", "a SciPy method")


class StopRequested(Exception):
    """The caller's stop() said so."""


class EvaluatorCallbacks:
    """The evaluator as callbacks for a library: points come in one by one or in batches.

    Objective and constraints of a point are one evaluation however often and in whatever
    order they are asked for: COBYQA comes back to the constraints of old points.
    """

    def __init__(self, evaluator: Evaluator, stop: Callable[[], Any] | None) -> None:
        self.evaluator, self.stop = evaluator, stop
        self.known: dict[bytes, np.ndarray] = {}  # packed evaluations by the bytes of their point
        self.traced = self.asked = 0  # evaluations up to the last row of the trace, and to the last question

    def evaluate(self, x: np.ndarray) -> Evaluation:
        """Evaluation of unit-cube points [n, D]: remembered, or made if the budget allows.

        May add a row to the trace; BudgetSpent or StopRequested end the search.
        """
        keys = [row.tobytes() for row in np.ascontiguousarray(x)]
        new = [i for i, key in enumerate(keys) if key not in self.known]
        if new:
            self._trace_and_check_stop()
            ev = self.evaluator.evaluate(np.clip(x[new], 0.0, 1.0)[None])
            self.known.update(zip((keys[i] for i in new), pack_evaluation(ev)))
        n_ineq, n_eq = self.evaluator.source.counts()
        width = 1 + n_ineq + n_eq + FLAG_COLUMNS
        told = np.array([self.known[key] for key in keys]).reshape(len(keys), width)
        return unpack_evaluation(told, n_ineq)

    def _trace_and_check_stop(self) -> None:
        """Add a row to the trace when one is due, and raise StopRequested if stop(), asked now and then, says so."""
        spent = int(self.evaluator.nfev[0])
        if spent - self.traced >= min(STOP_INTERVAL, max(1, self.evaluator.budget // TRACE_ROWS)):
            self.add_trace_row()
        if spent - self.asked >= STOP_INTERVAL:
            self.asked = spent
            if self.stop is not None and self.stop():
                raise StopRequested

    def add_trace_row(self) -> None:
        """A row of the trace for what was evaluated since the last one."""
        if int(self.evaluator.nfev[0]) > self.traced:
            self.traced = int(self.evaluator.nfev[0])
            self.evaluator.history.record_generation(self.evaluator.nfev, None)


class OwnLoopEngine(Engine):
    """A library routine that calls the problem itself; started again when it ends early."""

    name = ""  # what error messages call the engine
    size: int  # points that a start looks at before anything else
    random: np.random.Generator
    starts: int  # of the routine so far

    def ask(self) -> Array:
        """Refuse: the library calls the problem itself."""
        raise InvalidInput(
            f"{self.name} calls the problem itself and has no ask and tell; use minimize() or solve() with it"
        )

    def tell(self, x: Array, ev: Evaluation) -> None:
        """Refused, as ask() is."""
        self.ask()

    def capabilities(self) -> tuple[Any, ...]:
        return (OwnLoop(self._run_to_end),)

    def _run_to_end(self, evaluator: Evaluator, stop: Callable[[], Any] | None = None) -> None:
        """Search, and search again from elsewhere, until the budget is spent or stop() says so."""
        note_if_cut(evaluator, self.size)
        callbacks = EvaluatorCallbacks(evaluator, stop)
        self.starts = 0
        try:
            while evaluator.left > 0:
                self._search_once(callbacks)
                self.starts += 1
        except (BudgetSpent, StopRequested):
            pass
        callbacks.add_trace_row()

    @abstractmethod
    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """One start of the library routine."""

    def _first_points(self, size: int) -> np.ndarray:
        """Uniform points [n, D]; the first time, points to try first take the first places."""
        if self.starts == 0:
            return first_population(self.task, size)[0]
        return self.random.random((size, self.task.dim))


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
        """SciPy's routine from uniform points, without its own stops."""
        first = 0.5 + (
            np.clip((self._first_points(self.size) - 0.5) + 0.5, 0.0, 1.0) - 0.5
        )  # as the routine rounds them
        callbacks.evaluate(first)  # what it asks first anyway: how many constraints there are must be said before
        load_scipy().differential_evolution(
            lambda x: self._objective(callbacks, x),
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

    def _objective(self, callbacks: EvaluatorCallbacks, x: np.ndarray) -> np.ndarray:
        """f of the columns of x [D, S]; failed points are infinite, which the routine understands."""
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
        """f, g and h of one point; a failed one is twice as bad as the worst seen."""
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
