"""Problems of pymoo as ours: recognised by what they have, pymoo is not imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meco.core.problem import Problem
from meco.errors import InvalidInput

KINDS = {"Real": float, "Integer": int, "Binary": bool}  # variables of a mixed problem that are numbers
CHOICE = "Choice"  # one that is a category: points hold the place of its option


def is_pymoo(problem: Any) -> bool:
    """Whether this looks like a pymoo problem."""
    return all(hasattr(problem, name) for name in ("n_var", "n_obj", "n_ieq_constr", "n_eq_constr", "evaluate"))


def from_pymoo(problem: Any) -> Problem:
    """A pymoo problem with one objective as a meco.Problem, its known optimum included.

    Whole-number variables come from vtype=int or bool, or from Integer and Binary among vars; of a Choice the place of
    its option is one. Several objectives and infinite bounds are refused.
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
        pairs = [_read_range(problem, name) for name in problem.vars]
        lower, upper = np.array(pairs, dtype=np.float64).T
        return lower, upper, np.array([type(v).__name__ != "Real" for v in problem.vars.values()])
    lower, upper = (
        np.broadcast_to(np.asarray(none if side is None else side, dtype=np.float64), (problem.n_var,))
        for side, none in ((problem.xl, -np.inf), (problem.xu, np.inf))
    )
    return lower, upper, np.full(problem.n_var, problem.vtype in (int, bool))


def to_pymoo_points(problem: Any, x: np.ndarray) -> np.ndarray:
    """Points [n, D] as this pymoo problem wants them: of its type, or a dict for each point."""
    if not _is_mixed(problem):
        return x.astype(problem.vtype) if problem.vtype in (int, bool) else x
    takers = {name: _find_reader(variable) for name, variable in problem.vars.items()}
    made = [{name: take(value) for (name, take), value in zip(takers.items(), row)} for row in x.tolist()]
    return np.array(made, dtype=object)


def from_pymoo_points(problem: Any, points: Any) -> np.ndarray:
    """Points of this pymoo problem as numbers [n, D], options of a Choice by their places.

    ValueError for an option that it does not have.
    """
    if not _is_mixed(problem):
        return np.array(list(points), dtype=np.float64)
    return np.array(
        [
            [
                list(v.options).index(point[name]) if type(v).__name__ == CHOICE else float(point[name])
                for name, v in problem.vars.items()
            ]
            for point in points
        ],
        dtype=np.float64,
    )


def count_pymoo_choices(problem: Any) -> dict[int, int]:
    """The position of each variable that is a Choice, and how many options it has."""
    kinds = list(problem.vars.values()) if _is_mixed(problem) else []
    return {i: len(v.options) for i, v in enumerate(kinds) if type(v).__name__ == CHOICE}


def _read_range(problem: Any, name: str) -> tuple[float, float]:
    """From where to where a variable of a mixed problem goes; InvalidInput for other kinds of variables."""
    variable, kind = problem.vars[name], type(problem.vars[name]).__name__
    if kind == CHOICE:
        return 0, len(variable.options) - 1
    if kind not in KINDS:
        raise InvalidInput(
            f"variable {name!r} of {type(problem).__name__} is a {kind}; only Real, Integer, Binary and Choice can be "
            "searched"
        )
    return (0, 1) if kind == "Binary" else variable.bounds


def _find_reader(variable: Any) -> Callable[[float], Any]:
    """A function that turns a number into a value of this variable of pymoo."""
    if type(variable).__name__ == CHOICE:
        return lambda place: list(variable.options)[round(place)]
    return KINDS[type(variable).__name__]


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
