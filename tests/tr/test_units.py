"""Nothing has a unit: f and every constraint may be multiplied, moved or swapped, and the search stays what it is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import visited

import meco

DIM, BUDGET, ALIKE = 4, 120, 3  # ALIKE: problems whose answers are compared


def changed(problem, f=1.0, g=1.0, h=1.0, add=0.0, order=None):
    """The same problem in other units; equalities with their tolerance."""

    def formula(x):
        ours = problem.raw(x)
        inequalities = ours[1] * g
        return ours[0] * f + add, inequalities if order is None else inequalities[..., order], ours[2] * h

    facts = (problem.lower, problem.upper, problem.n_ineq, problem.n_eq)
    return meco.Problem(problem.name, *facts, formula, eq_tol=problem.eq_tol * h)


def smooth(seed, eq_tol=1e-4):
    """A quartic with a curved, two linear and an equality constraint, of random place and scale."""
    rng = np.random.default_rng(seed)
    place, tilt = rng.uniform(-1.0, 1.0, DIM), rng.normal(size=(4, DIM))
    bend = 10.0 ** rng.uniform(-0.5, 0.5, DIM)

    def formula(x):
        apart = x - place
        f = 5.0 + (bend * apart**2).sum(axis=-1) + 0.1 * (apart**4).sum(axis=-1) + x @ tilt[0]
        g = [(x * x).sum(axis=-1) - 2.0, x @ tilt[1] - 0.5, x @ tilt[2] - 0.5]
        return f, g, [x @ tilt[3] - 0.2]

    return meco.Problem(f"smooth {seed}", np.full(DIM, -3.0), np.full(DIM, 2.0), 3, 1, formula, eq_tol=eq_tol)


POWERS = {
    "f": {"f": 2.0**20},
    "f down": {"f": 2.0**-30},
    "g": {"g": 2.0 ** np.array([3.0, -9.0, 14.0])},
    "h and its tolerance": {"h": 2.0**-5},
    "all": {"f": 2.0**-7, "g": 2.0 ** np.array([-3.0, 9.0, 1.0]), "h": 2.0**11},
}
OTHERS = {
    "f": {"f": 3.0},
    "g and h": {"g": np.array([0.7, 1e3, 1e-2]), "h": 7.0},
    "constant": {"add": 100.0},
    "order": {"order": np.array([2, 0, 1])},
}


@cache
def visited_in_its_units():
    return visited("TR", smooth(0), 60)[0]


@pytest.mark.parametrize("units", POWERS.values(), ids=POWERS)
def test_powers_of_two_change_no_bit_of_any_point(units):
    assert_array_equal(visited("TR", changed(smooth(0), **units), 60)[0], visited_in_its_units())


def test_powers_of_two_change_no_bit_where_the_search_starts_again():
    problem = meco.get_problem("impossible", 2)
    plain, engine = visited("TR", problem, 150)
    assert engine.region.restart_index[0] > 0
    assert_array_equal(visited("TR", changed(problem, f=2.0**9, g=2.0**-4), 150)[0], plain)


@pytest.mark.parametrize("units", OTHERS.values(), ids=OTHERS)
def test_any_change_of_units_leaves_the_first_model_step(units):
    problems = [smooth(seed) for seed in range(10)]
    seeds, first = range(10), 2 * DIM + 2
    plain, _ = visited("TR", problems, first, seeds)
    other, _ = visited("TR", [changed(p, **units) for p in problems], first, seeds)
    assert_allclose(other, plain, atol=1e-9)


def test_any_change_of_units_leaves_the_answer_on_smooth_problems():
    """Where an equality leaves room, answers differ by what the room is worth: hence next to none."""
    problems = [smooth(seed, eq_tol=1e-8) for seed in range(ALIKE)]
    every = [changed(p, **units) for units in ({}, *OTHERS.values()) for p in problems]
    found = np.array([r.f for r in meco.solve("TR", every, BUDGET, seeds=[*range(ALIKE)] * 5)]).reshape(5, ALIKE)
    back = [(units.get("f", 1.0), units.get("add", 0.0)) for units in ({}, *OTHERS.values())]
    found = np.stack([(row - add) / by for row, (by, add) in zip(found, back)])
    assert_allclose(found, found[[0] * 5], rtol=1e-5)
