"""The trust region where bounds are missing: it grows and restarts near the best point."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.polytope import Polytope
from meco.tr.initial_design import star

INF = np.inf


def test_a_star_turns_at_walls_alone():
    walls = np.array([-INF, 0.0]), np.array([INF, INF])
    arms = star(np.array([0.0, 0.0]), 4, np.full(2, 0.25), walls)
    assert_array_equal(arms, [[0.25, 0.0], [0.0, 0.25], [-0.25, 0.0], [0.0, 0.125]])


def test_points_that_keep_rows_may_lie_outside_the_cube():
    rows = Polytope(np.array([[1.0, 1.0]]), np.array([40.0]), np.array([False]), (np.full(2, -INF), np.full(2, INF)))
    assert_allclose(rows.nearest(np.zeros(2)), [-20.0, -20.0])


def search(fun, bounds, x0, method="TR", budget=150, **more):
    asked = []

    def called(x):
        asked.append(x.copy())
        return fun(x)

    found = meco.minimize(called, bounds, x0=x0, method=method, budget=budget, seed=1, **more)
    return found, np.array(asked)


def test_a_region_grows_until_a_minimum_a_million_lengths_away_is_found():
    found, _ = search(lambda x: ((x - 2e7) ** 2).sum(), [(-INF, INF)] * 3, [0.0] * 3, budget=100)
    assert_allclose(found.x, 2e7, rtol=1e-9)


def test_a_function_without_a_minimum_is_asked_at_finite_points_for_ever():
    _, asked = search(lambda x: -x.sum(), [(-INF, INF)] * 2, [0.0, 0.0], budget=120)
    assert np.isfinite(asked).all()
    assert asked[:, 0].max() > 1e12


def test_a_bounded_variable_is_found_as_exactly_beside_one_that_goes_far():
    found, asked = search(lambda x: (x[0] - 0.3) ** 2 + ((x[1] - 1e5) / 1e3) ** 2, [(0, 1), (-INF, INF)], [0.9, 0.0])
    assert_allclose(found.x, [0.3, 1e5], rtol=1e-6)
    assert (asked[:, 0] >= 0).all()
    assert (asked[:, 0] <= 1).all()


def test_restarts_are_within_a_length_of_the_best_point():
    found, asked = search(lambda x: ((x - 1e4) ** 2).sum(), [(-INF, INF)] * 2, [0.0, 0.0], budget=200)
    assert found.run.starts > 2
    restarts = np.flatnonzero(np.diff(found.trace["restarts"])) + 1
    at = found.trace["nfev"][restarts] - 1
    assert np.abs(asked[at] - 1e4).max() <= 20.0 + 1e-6
