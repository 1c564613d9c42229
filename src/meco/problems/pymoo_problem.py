"""Problems of pymoo as ours: recognised by what they have, pymoo is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from meco.core.problem import Problem
from meco.errors import InvalidInput

KINDS = {"Real": float, "Integer": int, "Binary": bool}  # variables of a mixed problem that are numbers


def is_pymoo(problem: Any) -> bool:
    """Whether this looks like a pymoo problem."""
    return all(hasattr(problem, name) for name in ("n_var", "n_obj", "n_ieq_constr", "n_eq_constr", "evaluate"))


def from_pymoo(problem: Any) -> Problem:
    """A pymoo problem with one objective as a meco.Problem, its known optimum included.

    Whole-number variables come from vtype=int or bool, or from Integer and Binary among vars. Several objectives,
    infinite bounds and choices among names are refused.
    """
    name = type(problem).__name__
    if problem.n_obj != 1:
        raise InvalidInput(f"{name} has {problem.n_obj} objectives; only problems with one can be minimised")
    lower, upper, whole = read_pymoo_bounds(problem)
    if not np.isfinite([lower, upper]).all():
        raise InvalidInput(f"{name} has no finite bounds: set its xl and xu")

    def formula(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Objective, inequalities and equalities at points [n, D]."""
        rows = np.asarray(x).reshape(-1, problem.n_var)
        found = problem.evaluate(to_pymoo_points(problem, rows), return_as_dictionary=True)
        f, g, h = (found.get(key, np.zeros((len(rows), 0))) for key in ("F", "G", "H"))
        return f.reshape(x.shape[:-1]), g.reshape(*x.shape[:-1], -1), h.reshape(*x.shape[:-1], -1)

    return Problem(
        name, lower, upper, problem.n_ieq_constr, problem.n_eq_constr, formula,
        source="pymoo", best_known=_known_optimum(problem), integrality=whole if whole.any() else None,
        variables=tuple(problem.vars) if _is_mixed(problem) else (),
    )  # fmt: skip


def read_pymoo_bounds(problem: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper bounds of a pymoo problem, infinite where it has none, and which are whole numbers: [D] each."""
    if _is_mixed(problem):
        kinds = [KINDS.get(type(variable).__name__) for variable in problem.vars.values()]
        for name, kind in zip(problem.vars, kinds):
            if kind is None:
                raise InvalidInput(
                    f"variable {name!r} of {type(problem).__name__} is a {type(problem.vars[name]).__name__}; "
                    "only Real, Integer and Binary are numbers that can be searched"
                )
        pairs = [(0, 1) if kind is bool else v.bounds for v, kind in zip(problem.vars.values(), kinds)]
        lower, upper = np.array(pairs, dtype=np.float64).T
        return lower, upper, np.array([kind is not float for kind in kinds])
    lower, upper = (
        np.broadcast_to(np.asarray(none if side is None else side, dtype=np.float64), (problem.n_var,))
        for side, none in ((problem.xl, -np.inf), (problem.xu, np.inf))
    )
    return lower, upper, np.full(problem.n_var, problem.vtype in (int, bool))


def to_pymoo_points(problem: Any, x: np.ndarray) -> np.ndarray:
    """Points [n, D] as this pymoo problem wants them: of its type, or a dict for each point."""
    if not _is_mixed(problem):
        return x.astype(problem.vtype) if problem.vtype in (int, bool) else x
    names = list(problem.vars)
    kinds = [KINDS[type(problem.vars[name]).__name__] for name in names]
    made = [{name: kind(value) for name, kind, value in zip(names, kinds, row)} for row in x]
    return np.array(made, dtype=object)


def _is_mixed(problem: Any) -> bool:
    """Whether its variables are named objects of several types, as pymoo has them in `vars`."""
    return isinstance(getattr(problem, "vars", None), Mapping)


def _known_optimum(problem: Any) -> float | None:
    """The least objective of the known optima; None where the problem knows none or fails when asked."""
    try:
        front = problem.pareto_front()
    except Exception:  # whatever a problem without one does
        return None
    return None if front is None else float(np.min(front))
