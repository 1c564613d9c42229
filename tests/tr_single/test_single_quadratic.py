"""Models by least change: interpolation, what is kept, and variances, against slow references."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr_single.quadratic import SMOOTH, Quadratic, covariance, least_change
from meco.tr_single.roughness import _likelihood, find_roughness

TAU = 100.0
RIDGE = SMOOTH * (1.0 + TAU)


def fitted(prior, u, y, eta=None):
    return least_change(prior, u, y, TAU, np.full(y.shape[1], SMOOTH) if eta is None else eta)


def random_models(rng, functions=2, dim=4):
    bent = rng.normal(size=(functions, dim, dim))
    return Quadratic(rng.normal(size=(functions, dim)), bent + bent.swapaxes(-1, -2))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_the_models_interpolate(rng):
    u, y = rng.normal(size=(9, 4)), rng.normal(size=(9, 2))
    assert np.abs(y - fitted(random_models(rng), u, y)[0].changes(u)).max() < 1e-3


@pytest.mark.parametrize("dim", [1, 2, 5, 9])
def test_with_enough_points_a_quadratic_is_recovered(rng, dim):
    truth = random_models(rng, dim=dim)
    u = rng.normal(size=(dim * (dim + 3) // 2 + 3 * dim, dim))
    u /= np.sqrt((u * u).sum(axis=1).mean())
    found = Quadratic.zero(2, dim)
    for _ in range(30):  # the ridge's share fades as the model becomes its own prior
        found, _ = fitted(found, u, truth.changes(u))
    size = np.abs(truth.hessian).max()
    assert_allclose(found.gradient, truth.gradient, atol=1e-6 * size)
    assert_allclose(found.hessian, truth.hessian, atol=1e-6 * size)


def dense_reference(gradient, hessian, u, y):
    """Least ||dH||^2 / 4 + |dg|^2 / (2 tau) + |r|^2 / (2 ridge) with change(u_i) + r_i = y_i, by its KKT system."""
    m, dim = u.shape
    gap = y - (u @ gradient + 0.5 * np.einsum("md,de,me->m", u, hessian, u))
    rows = np.concatenate([u, 0.5 * np.einsum("md,me->mde", u, u).reshape(m, -1), np.eye(m)], axis=1)
    cost = np.concatenate([np.full(dim, 1.0 / TAU), np.full(dim * dim, 0.5), np.full(m, 1.0 / RIDGE)])
    system = np.block([[np.diag(cost), rows.T], [rows, np.zeros((m, m))]])
    solution = np.linalg.solve(system, np.concatenate([np.zeros(cost.size), gap]))
    return gradient + solution[:dim], hessian + solution[dim : dim + dim * dim].reshape(dim, dim)


def test_no_other_interpolating_model_changes_less(rng):
    prior, u, y = random_models(rng), rng.normal(size=(7, 4)), rng.normal(size=(7, 2))
    p, found = prior.changes(u), fitted(prior, u, y)[0]
    matrix = covariance(u @ u.T, TAU) + RIDGE * np.eye(7)
    for k in range(2):
        solved = np.linalg.solve(matrix, np.stack([y[:, k], p[:, k]], axis=1))
        kept = np.clip(p[:, k] @ solved[:, 0] / (p[:, k] @ solved[:, 1]), 0.0, 1.0)
        kept = 1.0 if k == 0 and kept > 0.5 else kept
        gradient, hessian = dense_reference(kept * prior.gradient[k], kept * prior.hessian[k], u, y[:, k])
        assert_allclose(found.gradient[k], gradient, rtol=1e-6, atol=1e-6)
        assert_allclose(found.hessian[k], hessian, rtol=1e-6, atol=1e-6)


def test_a_model_that_already_interpolates_does_not_change(rng):
    truth, u = random_models(rng), rng.normal(size=(6, 4))
    found, _ = fitted(truth, u, truth.changes(u))
    assert_allclose(found.gradient, truth.gradient, atol=1e-10)
    assert_allclose(found.hessian, truth.hessian, atol=1e-10)


def test_wrong_curvature_is_forgotten(rng):
    """A function that is flat here, and was steep where the previous model came from."""
    u = rng.normal(size=(5, 9))
    steep = Quadratic(np.zeros((1, 9)), 1e6 * np.eye(9)[None])
    assert np.abs(fitted(steep, u, 1e-3 * rng.normal(size=(5, 1)))[0].hessian).max() < 1.0


def test_a_point_at_the_centre_carries_no_information(rng):
    u, y, prior = rng.normal(size=(6, 4)), rng.normal(size=(6, 2)), random_models(rng)
    more = np.concatenate([u, np.zeros((3, 4))]), np.concatenate([y, np.zeros((3, 2))])
    for one, other in zip(fitted(prior, u, y)[0], fitted(prior, *more)[0]):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_shifted_or_rescaled_model_is_the_same_function(rng):
    models, step, beyond = random_models(rng), rng.normal(size=4), rng.normal(size=4)
    moved = models.change(step + beyond) - models.change(step)
    assert_allclose(models.shifted(step).change(beyond), moved, rtol=1e-10, atol=1e-10)
    unit = np.exp(rng.normal(size=4))
    assert_allclose(models.rescaled(unit).change(step / unit), models.change(step), rtol=1e-12)
    assert_array_equal(models.slope(step), models.shifted(step).gradient)
    assert_allclose(models.changes(step[None])[0], models.change(step), rtol=1e-12)
    factors = rng.normal(size=2)
    assert_allclose(models.summed_hessian(factors), np.einsum("f,fde->de", factors, models.hessian), rtol=1e-12)


def test_the_variance_is_that_of_a_gaussian_process_over_quadratics(rng):
    u, v = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))

    def features(x):  # whose inner products are the covariance
        squares = np.einsum("nd,ne->nde", x, x).reshape(len(x), -1)
        return np.concatenate([np.sqrt(TAU) * x, squares / np.sqrt(2.0)], axis=1)

    known, new = features(u), features(v)
    precision = np.eye(known.shape[1]) + known.T @ known / RIDGE
    expected = (new * np.linalg.solve(precision, new.T).T).sum(axis=1)
    fit = fitted(Quadratic.zero(1, 3), u, np.zeros((7, 1)))[1]
    assert_allclose(fit.variance(v), expected, rtol=1e-4, atol=1e-6)


def test_the_roughness_is_that_of_the_largest_leave_one_out_likelihood(rng):
    u, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    fit = fitted(Quadratic.zero(2, 3), u, y)[1]
    for eta in (SMOOTH, 1e-4, 1e-2):
        matrix = covariance(u @ u.T, TAU) + eta * (1.0 + TAU) * np.eye(12)
        log, scaled = np.zeros(2), np.zeros((12, 2))
        for i in range(12):
            rest = np.arange(12) != i
            weights = np.linalg.solve(matrix[np.ix_(rest, rest)], matrix[rest, i])
            variance = matrix[i, i] - matrix[i, rest] @ weights
            scaled[i] = (y[i] - weights @ y[rest]) ** 2 / variance
            log -= 0.5 * np.log(variance)
        assert_allclose(_likelihood(fit, matrix), log - 6.0 * np.log(scaled.mean(axis=0)), rtol=1e-6)


def test_noise_is_rough_and_a_quadratic_is_smooth(rng):
    u = rng.normal(size=(43, 10)) / np.sqrt(10.0)
    smooth = random_models(rng, functions=1, dim=10).changes(u)[:, 0]
    y = np.stack([smooth, smooth + rng.normal(size=43)], axis=1)
    eta = find_roughness(fitted(Quadratic.zero(2, 10), u, y)[1])
    assert eta[0] == SMOOTH
    assert eta[1] > SMOOTH


def test_only_rough_functions_have_a_larger_ridge(rng):
    prior, u, y = random_models(rng), rng.normal(size=(9, 4)), rng.normal(size=(9, 2))
    smooth, found = fitted(prior, u, y)[0], fitted(prior, u, y, np.array([SMOOTH, 1e-2]))[0]
    assert_array_equal(found.hessian[0], smooth.hessian[0])
    assert np.abs((y - found.changes(u))[:, 1]).max() > 1e3 * np.abs((y - smooth.changes(u))[:, 1]).max()
