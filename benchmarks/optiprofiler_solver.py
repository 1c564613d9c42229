"""MeCO as a solver of OptiProfiler: benchmark([MecoSolver("TR"), other], max_eval_factor=50, ...).

OptiProfiler hands a solver the functions of a problem; nothing of it is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meco import minimize
from meco.methods import DEFAULT
from meco.options import Tolerances

REACH = 10.0  # of the box around x0 where a bound is missing, in shares of max(1, |x0|)
UNBOUNDED = 1e20  # what counts as no bound
INEQ_TOL, EQ_TOL = 1e-6, 1e-4  # what counts as feasible


class MecoSolver:
    """A method of METHODS as a solver; per_variable is the budget, as max_eval_factor is OptiProfiler's.

    Where a bound is missing, the search is in x0 - w <= x <= x0 + w with w = 10 max(1, |x0|). A value that is no number
    is a failed evaluation. found is the meco.Result of the last run.
    """

    def __init__(self, method: str = DEFAULT, per_variable: int = 50, seed: int = 1) -> None:
        """What is used for every problem."""
        self.method, self.per_variable, self.seed = method, per_variable, seed
        self.__name__ = method
        self.found: Any = None

    def __call__(
        self,
        fun: Callable[[np.ndarray], float],
        x0: np.ndarray,
        xl: np.ndarray | None = None,
        xu: np.ndarray | None = None,
        aub: np.ndarray | None = None,
        bub: np.ndarray | None = None,
        aeq: np.ndarray | None = None,
        beq: np.ndarray | None = None,
        cub: Callable[[np.ndarray], np.ndarray] | None = None,
        ceq: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """The best point [D], feasibility first, within the budget."""
        start = np.asarray(x0, dtype=np.float64)

        def evaluate(x: np.ndarray) -> dict[str, Any]:
            """f, then linear before nonlinear constraints, in one evaluation."""
            g, h = _linear_excess(aub, bub, x), _linear_excess(aeq, beq, x)
            g += [] if cub is None else np.ravel(cub(x)).tolist()
            h += [] if ceq is None else np.ravel(ceq(x)).tolist()
            return {"f": float(fun(x)), "g": g, "h": h}

        self.found = minimize(
            evaluate,
            np.stack(make_box(start, xl, xu), axis=1),
            x0=start,
            budget=self.per_variable * start.size,
            method=self.method,
            seed=self.seed,
            tolerances=Tolerances(INEQ_TOL, EQ_TOL),
            on_error="penalize",
        )
        return self.found.x


def make_box(x0: np.ndarray, xl: np.ndarray | None, xu: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Ends [D] of the box: bounds that are stated, and a range around x0 where none is."""
    width = REACH * np.maximum(1.0, np.abs(x0))
    low = np.full(x0.shape, -np.inf) if xl is None else np.asarray(xl, dtype=np.float64)
    high = np.full(x0.shape, np.inf) if xu is None else np.asarray(xu, dtype=np.float64)
    has_low, has_high = np.abs(low) < UNBOUNDED, np.abs(high) < UNBOUNDED
    from_low, from_high = np.where(has_low, low, x0), np.where(has_high, high, x0)
    made_low = np.where(has_low, low, np.minimum(x0, from_high) - width)
    return made_low, np.where(has_high, high, np.maximum(x0, from_low) + width)


def _linear_excess(matrix: np.ndarray | None, side: np.ndarray | None, x: np.ndarray) -> list[float]:
    """A x - b of linear constraints as a list; [] without any."""
    if matrix is None or side is None or not np.size(side):
        return []
    return (np.asarray(matrix) @ x - np.asarray(side)).tolist()
