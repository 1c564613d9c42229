"""SLSQP of SciPy with forward differences, which every SciPy user has."""

from __future__ import annotations

from typing import Any

import numpy as np

from meco.core.capabilities import InfiniteBounds
from meco.core.engine import Task
from meco.engines.external import contain_warnings
from meco.engines.external.own_loop import EvaluatorCallbacks, LocalSearch
from meco.engines.external.scipy import load_scipy
from meco.errors import InvalidInput

MOST_ITERATIONS = 1000  # of one start


class Slsqp(LocalSearch):
    """Sequential quadratic programs; one set of forward differences serves f, g and h, and all its calls are counted.

    step is that of the differences, times max(1, |x|); they look back where an upper bound is nearer. ftol ends a
    start. In the problem's own units unless own_units is False.
    """

    name = "SLSQP"

    def __init__(self, task: Task, step: float = 1.5e-8, ftol: float = 1e-9, own_units: bool = True) -> None:
        """A step that is not positive is refused. MissingExtra without SciPy."""
        if not step > 0.0:
            raise InvalidInput(f"SLSQP needs a positive step of differences; got step={step}")
        load_scipy()
        self.task, self.step, self.ftol, self.own_units = task, float(step), float(ftol), bool(own_units)
        self.random = task.rng.generator(0)

    def capabilities(self) -> tuple[Any, ...]:
        return (*super().capabilities(), InfiniteBounds())

    def _search_once(self, callbacks: EvaluatorCallbacks) -> None:
        """SLSQP from one point, until f changes no more."""
        start = self._start_point(callbacks, own_units=self.own_units)
        p, q = self.task.n_ineq, self.task.n_eq
        parts = {"ineq": (slice(1, 1 + p), -1.0), "eq": (slice(1 + p, 1 + p + q), 1.0)}  # SciPy wants g >= 0

        def values(x: np.ndarray) -> np.ndarray:
            return self._values_at(callbacks, x[None])[0]

        limits = [
            {
                "type": kind,
                "fun": lambda x, of=of, sign=sign: sign * values(x)[of],
                "jac": lambda x, of=of, sign=sign: sign * self._slopes_at(callbacks, x)[of],
            }
            for kind, (of, sign) in parts.items()
            if of.stop > of.start
        ]
        with contain_warnings():
            load_scipy().minimize(
                lambda x: float(values(x)[0]),
                start,
                jac=lambda x: self._slopes_at(callbacks, x)[0],
                method="SLSQP",
                bounds=list(zip(self.ruler.low, self.ruler.high)),
                constraints=limits,
                options={"ftol": self.ftol, "maxiter": MOST_ITERATIONS},
            )

    def _slopes_at(self, callbacks: EvaluatorCallbacks, x: np.ndarray) -> np.ndarray:
        """Slopes of f, g and h at x [D]: [1 + p + q, D], 0 along a fixed variable; D evaluations the first time."""
        steps = self.step * np.maximum(1.0, np.abs(x))
        steps = np.where(x + steps <= self.ruler.high, steps, -steps)
        free = self.ruler.high > self.ruler.low
        near = x + steps[free, None] * np.eye(x.size)[free]
        told = self._values_at(callbacks, np.concatenate([x[None], near]))
        there = self.ruler.round_as_evaluated(np.concatenate([x[None], near]))
        moved = there[1:] - there[0]
        slopes = np.zeros((told.shape[1], x.size))
        slopes[:, free] = ((told[1:] - told[0]) / moved[:, free].diagonal()[:, None]).T
        return slopes
