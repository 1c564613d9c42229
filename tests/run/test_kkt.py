"""Multipliers from values alone: those of the conditions of Karush, Kuhn and Tucker, or none."""

import numpy as np
from numpy.testing import assert_allclose

from meco.answer.multipliers import (
    NOT_STATIONARY,
    NOT_UNIQUE,
    TOO_FEW_POINTS,
    find_bases,
    find_multipliers,
    nonnegative_prices,
)


def around(at, functions, count=60, spread=1e-2, seed=1):
    """Points near `at` inside the unit cube, and the values of the functions there and at `at`."""
    rng = np.random.default_rng(seed)
    u = np.clip(at + spread * rng.normal(size=(count, len(at))), 0.0, 1.0)
    return u, np.array([[f(x) for f in functions] for x in u]), at, np.array([f(at) for f in functions])


def multipliers(at, functions, n_ineq, count=60):
    """Those at a point of the unit cube."""
    return find_multipliers(*around(at, functions, count), n_ineq, np.stack([at, 1.0 - at]))


def test_multipliers_of_curved_functions_are_those_of_the_lagrangian():
    """f = (x - 1)^2 + y^2 in the disk of radius 1/2: x = 1/2, and 2 (x - 1) + lambda 2 x = 0, so lambda is 1."""
    functions = [lambda x: (x[0] - 1) ** 2 + x[1] ** 2 + x[2] ** 2, lambda x: x @ x - 0.25]
    found = multipliers(np.array([0.5, 0.0, 0.0]), functions, n_ineq=1)
    assert_allclose(found.constraints, [1.0], rtol=1e-3)
    assert_allclose(found.bounds, 0.0, atol=1e-4)
    assert found.residual < 1e-3


def test_an_equality_has_the_sign_that_it_needs():
    """f = x^2 on x = 0.25: 0.5 + mu = 0."""
    functions = [lambda x: x[0] ** 2 + (x[1] - 0.5) ** 2, lambda x: x[0] - 0.25]
    found = multipliers(np.array([0.25, 0.5]), functions, n_ineq=0)
    assert_allclose(found.constraints, [-0.5], rtol=1e-3)


def test_a_bound_has_a_multiplier_of_its_own():
    """f = 3 x - 2 y: x at its lower end with 3, y at its upper end with 2."""
    functions = [lambda x: 3 * x[0] - 2 * x[1] + 0.1 * x[0] * x[1]]
    found = multipliers(np.array([0.0, 1.0]), functions, n_ineq=0)
    assert_allclose(found.bounds, [[3.1, 0.0], [0.0, 2.0]], rtol=1e-3)


def test_at_a_point_that_is_not_stationary_none_is_told():
    functions = [lambda x: (x[0] - 1) ** 2 + x[1] ** 2, lambda x: x @ x - 0.25]
    found = multipliers(np.array([0.3, 0.4]), functions, n_ineq=1)
    assert np.isnan(found.constraints).all()
    assert found.reasons[0] == NOT_STATIONARY


def test_of_a_limit_that_comes_twice_neither_part_is_told_and_the_others_are():
    functions = [lambda x: -x[0] - 2 * x[1], lambda x: x[0] - 0.5, lambda x: 3 * x[0] - 1.5, lambda x: x[1] - 0.5]
    found = multipliers(np.array([0.5, 0.5]), functions, n_ineq=3)
    assert_allclose(found.constraints, [np.nan, np.nan, 2.0], rtol=1e-3)
    assert {found.reasons[0], found.reasons[1]} == {NOT_UNIQUE}


def test_noise_that_hides_the_slopes_leaves_the_multiplier_untold():
    rng = np.random.default_rng(3)
    functions = [lambda x: x @ x + 0.05 * rng.normal(), lambda x: 0.5 - x[0]]
    found = multipliers(np.array([0.5, 0.0]), functions, n_ineq=1)
    assert np.isnan(found.constraints).all()


def test_too_few_points_tell_nothing():
    functions = [lambda x: x @ x, lambda x: 0.5 - x[0]]
    found = multipliers(np.array([0.5, 0.0, 0.0]), functions, n_ineq=1, count=3)
    assert found.reasons[0] == TOO_FEW_POINTS


def test_points_that_tell_of_new_directions_are_the_nearest_that_do():
    offset = np.array([[1.0, 0, 0], [1.1, 0, 0], [0, 2.0, 0], [1.2, 0.01, 0], [0, 0, 5.0], [0, 6.0, 1.0]])
    assert find_bases(offset, 2).tolist() == [0, 1, 0, 2, 0, 1]


def test_prices_are_nonnegative_and_nearest_to_stationary():
    rng = np.random.default_rng(5)
    for _ in range(50):
        normals = rng.normal(size=(6, 4))
        normals /= np.sqrt((normals**2).sum(axis=1))[:, None]
        gradient = rng.normal(size=4)
        prices = nonnegative_prices(normals, gradient, np.zeros(6, dtype=bool))
        assert (prices >= 0).all()
        pull = -normals @ (gradient + prices @ normals)  # optimality of nonnegative least squares
        assert (pull <= 1e-9).all()
        assert_allclose(pull * prices, 0.0, atol=1e-9)
