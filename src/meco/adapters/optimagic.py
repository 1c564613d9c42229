"""MeCO as an algorithm of optimagic: om.minimize(fun, params, algorithm=Meco(stopping_maxfun=500), bounds=...)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meco import minimize
from meco.adapters.pass_through import leave_run, run_and_leave
from meco.errors import InvalidInput, load_extra
from meco.methods import DEFAULT
from meco.options import INEQ_TOL

load_extra("optimagic", "optimagic", "meco.adapters.optimagic")
from optimagic import mark  # noqa: E402
from optimagic.optimization.algorithm import Algorithm, InternalOptimizeResult  # noqa: E402
from optimagic.typing import AggregationLevel, ErrorHandling  # noqa: E402


@mark.minimizer(
    name="meco",
    solver_type=AggregationLevel.SCALAR,
    is_available=True,
    is_global=True,
    needs_jac=False,
    needs_hess=False,
    needs_bounds=True,
    supports_parallelism=False,
    supports_bounds=True,
    supports_infinite_bounds=False,
    supports_linear_constraints=False,
    supports_nonlinear_constraints=True,
)
@dataclass(frozen=True)
class Meco(Algorithm):
    """Any method of METHODS inside finite bounds, with nonlinear constraints of both kinds.

    stopping_maxfun is the number of evaluations, 50 for each free parameter unless given; an evaluation is a call
    of the function and of every constraint. seed, method, stop, workers of one process: as in meco.minimize.
    convergence_constraint_tol is how far constraints may be off. error_handling="continue" makes an exception a
    failed evaluation, and no penalty is invented; with "raise", optimagic's own default, it ends the run.
    """

    stopping_maxfun: int | None = None
    seed: int | None = None
    method: Any = DEFAULT
    stop: Any = None
    convergence_constraint_tol: float = INEQ_TOL

    def _solve_internal_problem(self, problem: Any, x0: np.ndarray) -> InternalOptimizeResult:
        """Search in optimagic's internal parameters from x0 [D]; InvalidInput without finite bounds."""
        low, high = problem.bounds.lower, problem.bounds.upper
        if low is None or high is None:
            raise InvalidInput("MeCO searches inside a box: bounds=om.Bounds(lower=..., upper=...) for every parameter")
        survive = problem._error_handling is ErrorHandling.CONTINUE
        strict = problem.with_error_handling(ErrorHandling.RAISE_STRICT)  # its penalties would mislead the models
        constraints = problem.nonlinear_constraints or []

        def evaluate(x: np.ndarray) -> dict[str, Any]:
            """The function and every constraint at a point; optimagic wants its constraints at least 0."""
            try:
                found: dict[str, Any] = {"f": float(strict.fun(x)), "g": [], "h": []}
                for constraint in constraints:
                    values = np.ravel(np.asarray(constraint["fun"](x), dtype=np.float64)).tolist()
                    if constraint["type"] == "eq":
                        found["h"] += values
                    else:
                        found["g"] += [-value for value in values]
            except Exception as error:
                if survive:
                    raise
                raise leave_run(error) from error
            return found

        result = run_and_leave(
            lambda: minimize(
                evaluate,
                np.stack([low, high], axis=1),
                x0=np.clip(x0, low, high),
                budget=self.stopping_maxfun,
                seed=self.seed,
                method=self.method,
                stop=self.stop,
                tolerances=self.convergence_constraint_tol,
            )
        )
        return InternalOptimizeResult(
            x=result.x,
            fun=float(result.fun),
            success=bool(result.success),
            message=result.message,
            n_fun_evals=int(result.nfev),
            n_iterations=int(result.nit),
            max_constraint_violation=float(result.maxcv),
            info={"meco": result},
        )
