"""A problem in other units: the same points are feasible and the same one is best, and every number is another."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meco.core.arrays import Array, Constants
from meco.core.problem import Problem
from meco.problems.suite import UNITS_SUFFIX, get_problem

LARGEST = 13  # factors are 2^-13 to 2^13, some 1e-4 to 1e4


def make_problem(name: str, dim: int | None = None, instance: str | int = "paper") -> Problem:
    """The problem of a name such as "C05-units": C05 in units that are the same in every dimension and instance."""
    ours = get_problem(name[: -len(UNITS_SUFFIX)], dim, instance)
    f, g, h = draw_factors(name, ours.n_ineq, ours.n_eq)
    return replace(rescale_problem(ours, f, g, h), name=name)


def draw_factors(name: str, n_ineq: int, n_eq: int) -> tuple[float, np.ndarray, np.ndarray]:
    """A factor for f, for each inequality [p] and for each equality [q], drawn by the name.

    They are powers of two, so nothing rounds: what is feasible stays so to the last bit, and a search that
    does not depend on units evaluates the very same points.
    """
    random = np.random.default_rng(list(name.encode()))
    factors = 2.0 ** random.integers(-LARGEST, LARGEST, 1 + n_ineq + n_eq, endpoint=True)
    return float(factors[0]), factors[1 : 1 + n_ineq], factors[1 + n_ineq :]


def rescale_problem(problem: Problem, f: float, g: np.ndarray, h: np.ndarray) -> Problem:
    """The problem with f, and constraints g [p] and h [q] with their tolerances.

    Times positive factors of their own.
    """
    return replace(
        problem,
        formula=Rescaled(problem, Constants(f=np.asarray(f), g=np.asarray(g), h=np.asarray(h))),
        title=f"{problem.title or problem.name}, in other units",
        best_known=None if problem.best_known is None else problem.best_known * f,
        ineq_tol=problem.ineq_tol * g if problem.n_ineq else problem.ineq_tol,
        eq_tol=problem.eq_tol * h if problem.n_eq else problem.eq_tol,
    )


@dataclass(frozen=True, eq=False)
class Rescaled:
    """The formula of a problem, times factors."""

    problem: Problem
    factors: Constants

    def __call__(self, x: Array) -> tuple[Array, Array, Array]:
        """f, g and h of the problem at x [..., D], each times its factor."""
        by = self.factors.on(x)
        f, g, h = self.problem.raw(x)
        return f * by["f"], g * by["g"], h * by["h"]
