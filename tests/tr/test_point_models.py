"""Models of many variables say what matrices would say."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr.point_models import MOST_REMEMBERED, PointModels, fit_points, sum_outer
from meco.tr.quadratic import Quadratic, least_change

TAU, ETA = np.array([100.0]), [np.array([1e-9])]


def random_models(runs=2, functions=3, dim=6, size=9, seed=1):
    """Models with a matrix of f."""
    rng = np.random.default_rng(seed)
    bent = rng.normal(size=(runs, 1, dim, dim))
    weights = rng.normal(size=(runs, functions, size))
    weights[:, 0] = 0.0
    return PointModels(
        rng.normal(size=(runs, functions, dim)), rng.normal(size=(runs, size, dim)), weights, bent + bent.mT
    )


def test_slopes_changes_and_curvature_are_those_of_the_matrices():
    made, rng = random_models(), np.random.default_rng(2)
    dense, step, unit = made.dense(), rng.normal(size=(2, 6)), rng.uniform(0.5, 2.0, (2, 6))
    assert_allclose(made.slope(step), dense.slope(step))
    assert_allclose(made.change(step), dense.change(step))
    assert_allclose(made.second_derivatives(), dense.second_derivatives())
    factors, u = rng.normal(size=(2, 3)), rng.normal(size=(2, 5, 6))
    assert_allclose(made.changes(u), dense.changes(u))
    assert_allclose(made.summed_hessian(factors), dense.summed_hessian(factors))
    assert_allclose(made.rescaled(unit).dense().hessian, dense.rescaled(unit).hessian)
    assert_allclose(made.shifted(step).gradient, dense.shifted(step).gradient)
    assert_allclose(made.multiplied(factors).dense().hessian, dense.multiplied(factors).hessian)


def test_without_a_prior_the_fit_is_that_of_matrices():
    rng = np.random.default_rng(3)
    u, y, rough = rng.normal(size=(2, 11, 6)), rng.normal(size=(2, 11, 3)), np.zeros((2, 3))
    made, fit = fit_points(PointModels.zero((2, 3, 6), 11).of_f(), 11, u, y, TAU, ETA, rough)
    dense, other = least_change(Quadratic.zero((2, 3, 6), u), u, y, TAU, ETA, rough)
    assert_allclose(made.gradient, dense.gradient)
    assert_allclose(made.dense().hessian, dense.hessian, atol=1e-12)
    assert_allclose(made.changes(u), y, atol=1e-4)
    assert_allclose(fit.w, other.w)


def test_f_remembers_curvature_that_its_points_do_not_tell_and_constraints_do_not():
    rng = np.random.default_rng(4)
    u = rng.normal(size=(1, 3, 6))
    before = random_models(runs=1, size=3)
    y = before.changes(u)
    made, _ = fit_points(before.of_f(), 3, u, y, TAU, ETA, np.zeros((1, 3)))
    assert_allclose(made.hessian, before.hessian, rtol=1e-6, atol=1e-6)
    assert np.max(np.abs(made.dense().hessian[:, 1:] - before.dense().hessian[:, 1:])) > 0.1


def test_beyond_some_hundred_variables_no_matrix_is_kept():
    assert PointModels.zero((1, 2, MOST_REMEMBERED), 4).hessian.shape[1] == 1
    assert PointModels.zero((1, 2, MOST_REMEMBERED + 1), 4).hessian.size == 0


def test_sizes_are_those_of_the_matrices_and_that_of_f_alone_is_a_bound_without_one():
    made = random_models()
    whole = made.dense().hessian_norms()
    assert_allclose(made.hessian_norms(), whole)
    assert_allclose(made.hessian_norm_of_f(), whole[:, 0])
    bare = PointModels.zero((1, 2, MOST_REMEMBERED + 1), 4)
    rng = np.random.default_rng(5)
    bare = bare._replace(points=rng.normal(size=bare.points.shape), weights=rng.normal(size=bare.weights.shape))
    assert 0.0 < bare.hessian_norm_of_f()[0] < bare.hessian_norms()[0, 0]


def test_what_is_cleared_is_unknown_and_the_other_runs_stay():
    made = random_models()
    left = made.cleared(np.array([True, False]))
    assert not left.dense().hessian[0].any()
    assert_array_equal(left.gradient[1], made.gradient[1])
    assert left.finite.all()


def test_a_sum_of_outer_products_is_symmetric_whatever_the_signs_of_weights():
    rng = np.random.default_rng(7)
    u, w = rng.normal(size=(2, 9, 5)), rng.normal(size=(2, 9))
    made = sum_outer(u, w)
    assert_allclose(made, u.mT @ (w[..., None] * u), atol=1e-12)
    assert_array_equal(made, made.mT)
    assert_array_equal(sum_outer(u, 0.0 * w), np.zeros((2, 5, 5)))
    assert np.isnan(sum_outer(u, w * np.nan)).all()
