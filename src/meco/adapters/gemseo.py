"""MeCO as an optimization library of GEMSEO: execute_algo(problem, algo_name="MECO", max_iter=200, seed=1).

GEMSEO finds it by the entry point gemseo_plugins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meco import minimize
from meco.adapters.pass_through import leave_run, run_and_leave
from meco.errors import load_extra
from meco.methods import DEFAULT
from meco.options import Tolerances
from meco.result import Result
from meco.variables import Variables

load_extra("gemseo", "gemseo", "meco.adapters.gemseo")
from gemseo.algos.design_space_utils import get_value_and_bounds  # noqa: E402
from gemseo.algos.opt.base_optimization_library import (  # noqa: E402
    BaseOptimizationLibrary,
    OptimizationAlgorithmDescription,
)
from gemseo.algos.opt.base_optimizer_settings import BaseOptimizerSettings  # noqa: E402
from gemseo.algos.stop_criteria import FunctionIsNan, TerminationCriterion  # noqa: E402
from pydantic import Field  # noqa: E402


class MecoSettings(BaseOptimizerSettings):
    """Those of every optimizer of GEMSEO, of which max_iter is the budget, and those of the search."""

    _TARGET_CLASS_NAME = "MECO"

    seed: int | None = Field(default=None, description="A whole number; drawn and recorded unless given.")
    method: Any = Field(default=DEFAULT, description="A name of meco.METHODS, or meco.Method(name, ...).")
    stop: Any = Field(default=None, description='"feasible", "converged", seconds or meco.Stop.')
    normalize_design_space: bool = Field(default=False, description="The search scales variables by itself.")
    eq_tolerance: float = Field(default=1e-4, ge=0.0, description="How far equalities may be off.")
    ineq_tolerance: float = Field(default=1e-8, ge=0.0, description="How far inequalities may be off.")


@dataclass
class MecoDescription(OptimizationAlgorithmDescription):
    """What GEMSEO lists of the algorithm."""

    library_name: str = "MeCO"
    handle_equality_constraints: bool = True
    handle_inequality_constraints: bool = True
    handle_integer_variables: bool = True
    Settings: type[MecoSettings] = MecoSettings


class MecoLibrary(BaseOptimizationLibrary[MecoSettings]):
    """Any method of METHODS on GEMSEO's problems with one objective, finite bounds and constraints of both kinds."""

    ALGORITHM_INFOS: ClassVar[dict[str, MecoDescription]] = {
        "MECO": MecoDescription(
            algorithm_name="MeCO",
            internal_algorithm_name="MECO",
            description="Models in a relaxed trust region, steered by a learned policy; simulations may fail",
        )
    }

    def __init__(self, algo_name: str = "MECO") -> None:
        """found is the meco.Result of the last run."""
        super().__init__(algo_name)
        self.found: Result | None = None

    def _pre_run(self, problem: Any) -> None:
        """Prepare and evaluate the start; a value that is not finite is stored as nan and does not end the run."""
        problem.stop_if_nan = False
        for function in problem.functions:
            function._output_evaluation_sequence = (*function._output_evaluation_sequence, _replace_infinities)
        super()._pre_run(problem)

    def _get_result(self, problem: Any, message: Any, status: Any, *args: Any) -> Any:
        """GEMSEO's result; without an answer where no feasible point has a finite objective."""
        if problem.database and not problem.optimum.design.size:
            fields = {"message": message, "status": status, "optimizer_name": self._algo_name}
            return self._RESULT_CLASS(n_obj_call=len(problem.database), **fields)
        return super()._get_result(problem, message, status, *args)

    def _run(self, problem: Any) -> tuple[str, int]:
        """Search from the present values; GEMSEO's own criteria may end it before. Gives message and status.

        Sets found.
        """
        settings = self._settings
        start, low, high = get_value_and_bounds(problem.design_space, settings.normalize_design_space)
        integer = _find_integers(problem.design_space)
        self.found = run_and_leave(
            lambda: minimize(
                lambda x: _evaluate(problem, x),
                Variables.of(low.real, high.real, integer),
                x0=np.clip(start.real, low.real, high.real),
                budget=settings.max_iter,
                seed=settings.seed,
                method=settings.method,
                stop=settings.stop,
                tolerances=Tolerances(settings.ineq_tolerance, settings.eq_tolerance),
            )
        )
        return self.found.message, self.found.status


def _replace_infinities(value: Any) -> Any:
    """nan for inf and -inf: GEMSEO takes the least value of its database, and nan never is."""
    finite = np.isfinite(value)
    return value if np.all(finite) else np.where(finite, value, np.nan)


def _evaluate(problem: Any, x: np.ndarray) -> dict[str, Any]:
    """Objective and constraints at x [D] as {"f", "g", "h"}; GEMSEO's inequalities are at most 0, as ours.

    FunctionIsNan is a failed evaluation; GEMSEO's other stops leave the run.
    """
    found: dict[str, Any] = {"g": [], "h": []}
    try:
        found["f"] = float(np.ravel(np.real(problem.objective.evaluate(x)))[0])
        for constraint in problem.constraints:
            values = np.ravel(np.real(constraint.evaluate(x))).tolist()
            found["h" if constraint.f_type == constraint.ConstraintType.EQ else "g"] += values
    except FunctionIsNan:
        raise
    except TerminationCriterion as ended:
        raise leave_run(ended) from ended
    return found


def _find_integers(space: Any) -> np.ndarray:
    """Which components of the design vector are whole numbers: [D]."""
    marks = [np.full(space.get_size(name), str(space.get_type(name)) == "integer") for name in space.variable_names]
    return np.concatenate(marks)
