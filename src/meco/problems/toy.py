"""Small problems with known optima, for trying things out and for tests."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.problem import Problem
from meco.errors import InvalidInput

NAMES = ("sphere", "tilted", "ring", "corner", "impossible")


def make_problem(name: str, dim: int | None = None) -> Problem:
    """A toy problem in any number of variables from 2 (10 unless asked otherwise); another D is an error."""
    size = 10 if dim is None else dim
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 2:
        raise InvalidInput(f"{name} is defined for D >= 2; got dim={size}")
    return {
        "sphere": _make_sphere,
        "tilted": _make_tilted,
        "ring": _make_ring,
        "corner": _make_corner,
        "impossible": _make_impossible,
    }[name](size)


def _make_problem(
    name: str, dim: int, bound: float, counts: tuple[int, int], formula, best, known_x, title: str
) -> Problem:
    """A problem in the box [-bound, bound]^D with a known optimum; counts are (inequalities, equalities)."""
    box = np.full(dim, bound)
    return Problem(name, -box, box, *counts, formula, title=title, best_known=best, known_x=known_x)


def _make_sphere(dim: int) -> Problem:
    """A bowl in dim variables without constraints; the optimum lies inside."""

    def formula(x: Array):
        return namespace(x).sum(x * x, axis=-1), [], []

    return _make_problem("sphere", dim, 5.0, (0, 0), formula, 0.0, np.zeros(dim), "Sum of squares, no constraints")


def _make_tilted(dim: int) -> Problem:
    """The nearest point of a half space; the second inequality does not cut it off."""

    def formula(x: Array):
        xp = namespace(x)
        total = xp.sum(x, axis=-1)
        return xp.sum(x * x, axis=-1), [1.0 - total, x[..., 0] - 0.5], []

    optimum = np.full(dim, 1.0 / dim)
    return _make_problem(
        "tilted", dim, 5.0, (2, 0), formula, 1.0 / dim, optimum, "Sum of squares beyond a tilted plane"
    )


def _make_ring(dim: int) -> Problem:
    """The lowest point of a sphere, which is an equality."""

    def formula(x: Array):
        xp = namespace(x)
        return xp.sum(x, axis=-1), [], [xp.sum(x * x, axis=-1) - 1.0]

    optimum = np.full(dim, -1.0 / math.sqrt(dim))
    return _make_problem(
        "ring", dim, 2.0, (0, 1), formula, -math.sqrt(dim), optimum, "A linear objective on the unit sphere"
    )


def _make_corner(dim: int) -> Problem:
    """Two inequalities and an equality, of which the plane and the equality hold at the optimum."""

    def formula(x: Array):
        xp = namespace(x)
        total = xp.sum(x, axis=-1)
        return xp.sum((x - 1.0) ** 2, axis=-1), [total - 1.0, -x[..., 0]], [x[..., 0] - x[..., 1]]

    optimum = np.full(dim, 1.0 / dim)
    best = dim * (1.0 - 1.0 / dim) ** 2
    return _make_problem(
        "corner", dim, 3.0, (2, 1), formula, best, optimum, "Squares under a plane, a bound and an equality"
    )


def _make_impossible(dim: int) -> Problem:
    """A bowl under a constraint that no point keeps."""

    def formula(x: Array):
        square = namespace(x).sum(x * x, axis=-1)
        return square, [square + 1.0], []

    made = _make_problem(
        "impossible", dim, 5.0, (1, 0), formula, None, None, "No feasible point; the least violation is 1"
    )
    return replace(made, infeasible=True)
