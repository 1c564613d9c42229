"""Models that change least: they meet the values, keep what they knew, and know how little they know."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.arrays import namespace as array_namespace
from meco.tr.critical import CriticalFunctions
from meco.tr.quadratic import Quadratic, covariance, leave_one_out_r2, variance
from meco.tr.quadratic import least_change as least_change_at

TAU, ETA = 100.0, 1e-9
RIDGE = ETA * (1.0 + TAU)


def least_change(prior, u, y, curved=None, levels=(), rough=None):
    """With these tau and eta; rough functions have one of the levels."""
    xp = array_namespace(u)
    tau, eta = xp.asarray([TAU]), [xp.asarray([ETA]), *levels]
    rough = xp.zeros_like(y[:, 0, :]) + ETA if rough is None else rough
    return least_change_at(prior, u, y, tau, eta, rough, curved)


def random_models(rng, runs=3, functions=2, dim=4):
    bent = rng.normal(size=(runs, functions, dim, dim))
    return Quadratic(rng.normal(size=(runs, functions, dim)), bent + bent.swapaxes(-1, -2))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_the_model_meets_every_value_up_to_the_ridge(rng):
    u, y = rng.normal(size=(3, 9, 4)), rng.normal(size=(3, 9, 2))
    models, fit = least_change(random_models(rng), u, y)
    assert_allclose(y - models.changes(u), RIDGE * fit.w, atol=1e-10)  # eq. (1), row by row
    assert np.max(np.abs(y - models.changes(u))) < 1e-3


@pytest.mark.parametrize("dim", [1, 2, 5, 9])
def test_with_full_data_it_recovers_a_quadratic(rng, dim):
    truth = random_models(rng, runs=2, dim=dim)
    u = rng.normal(size=(2, dim * (dim + 3) // 2 + 3 * dim, dim))
    u /= np.sqrt(np.mean(np.sum(u * u, axis=-1), axis=-1))[:, None, None]  # as the engine scales them
    found, _ = least_change(Quadratic.zero((2, 2, dim), u), u, truth.changes(u))
    size = np.max(np.abs(truth.hessian))
    assert_allclose(found.gradient, truth.gradient, atol=1e-2 * size)
    assert_allclose(found.hessian, truth.hessian, atol=1e-2 * size)
    for _ in range(30):  # the ridge's share fades as the model becomes its own prior
        found, _ = least_change(found, u, truth.changes(u))
    assert_allclose(found.gradient, truth.gradient, atol=1e-6 * size)
    assert_allclose(found.hessian, truth.hessian, atol=1e-6 * size)


def dense_reference(prior, u, y):
    """Least ||dH||^2 / 4 + |dg|^2 / (2 tau) + |r|^2 / (2 ridge) with change(u_i) + r_i = y_i, by its KKT system."""
    m, dim = u.shape
    gap = y - (u @ prior.gradient + 0.5 * np.einsum("md,de,me->m", u, prior.hessian, u))
    rows = np.concatenate([u, 0.5 * np.einsum("md,me->mde", u, u).reshape(m, -1), np.eye(m)], axis=1)
    cost = np.concatenate([np.full(dim, 1.0 / TAU), np.full(dim * dim, 0.5), np.full(m, 1.0 / RIDGE)])
    system = np.block([[np.diag(cost), rows.T], [rows, np.zeros((m, m))]])
    answer = np.linalg.solve(system, np.concatenate([np.zeros(cost.size), gap]))
    return prior.gradient + answer[:dim], prior.hessian + answer[dim : dim + dim * dim].reshape(dim, dim)


def test_no_other_model_that_meets_the_values_changes_less(rng):
    prior, u, y = random_models(rng), rng.normal(size=(3, 7, 4)), rng.normal(size=(3, 7, 2))
    found, fit = least_change(prior, u, y)
    kept = prior.multiplied(fit.kept)
    for b in range(3):
        for k in range(2):
            one = Quadratic(kept.gradient[b, k], kept.hessian[b, k])
            gradient, hessian = dense_reference(one, u[b], y[b, :, k])
            assert_allclose(found.gradient[b, k], gradient, rtol=1e-6, atol=1e-6)
            assert_allclose(found.hessian[b, k], hessian, rtol=1e-6, atol=1e-6)


def test_of_the_previous_model_the_share_is_kept_that_makes_the_values_most_likely(rng):
    prior, u = random_models(rng, runs=2, functions=4), rng.normal(size=(2, 8, 4))
    p = prior.changes(u)
    other = random_models(rng, runs=2, functions=4).changes(u)
    y = np.array([1.0, 0.3, 1.7, 0.6]) * p
    y[..., 3] += 0.1 * other[..., 3]
    kernel = covariance(u, u, np.array([TAU])) + RIDGE * np.eye(8)

    def misfit(share, b):  # minus twice the log of the likelihood, but for a constant
        rest = y[b, :, 3] - share * p[b, :, 3]
        return rest @ np.linalg.solve(kernel[b], rest)

    _, fit = least_change(prior, u, y)
    assert_allclose(fit.kept[:, :3], [[1.0, 0.3, 1.0]] * 2)  # never more than all of it
    for b in range(2):
        shares = fit.kept[b, 3] + np.array([-1e-3, 0.0, 1e-3])
        assert np.argmin([misfit(share, b) for share in shares]) == 1


def test_f_keeps_all_of_its_model_while_that_explains_more_than_none(rng):
    prior, u = random_models(rng, runs=1), rng.normal(size=(1, 8, 4))
    for share, kept in ((0.9, 1.0), (0.51, 1.0), (0.49, 0.49), (-0.5, 0.0)):
        _, fit = least_change(prior, u, share * prior.changes(u))
        assert_allclose(fit.kept, [[kept, max(share, 0.0)]], atol=1e-9)


def test_wrong_curvature_is_forgotten_where_no_point_tells_of_it(rng):
    """A function that is flat here, and was steep where the previous model came from."""
    u = rng.normal(size=(1, 5, 9))  # five points, 45 numbers of curvature
    steep = Quadratic(np.zeros((1, 1, 9)), 1e6 * np.eye(9)[None, None])
    found, _ = least_change(steep, u, 1e-3 * rng.normal(size=(1, 5, 1)))
    assert np.max(np.abs(found.hessian)) < 1.0


@np.errstate(all="ignore")
def test_a_model_of_nothing_is_kept_and_huge_values_are_met(rng):
    u = rng.normal(size=(1, 5, 3))
    _, fit = least_change(Quadratic.zero((1, 2, 3), u), u, rng.normal(size=(1, 5, 2)))
    assert_array_equal(fit.kept, 1.0)
    found, fit = least_change(random_models(rng, runs=1, dim=3), u, 1e200 * rng.normal(size=(1, 5, 2)))
    found, fit = least_change(found, u, 1e200 * rng.normal(size=(1, 5, 2)))  # whose squares overflow
    assert found.finite.all()
    assert np.isfinite(fit.kept).all()


def test_functions_with_linear_models_keep_a_share_too(rng):
    prior, u, y = random_models(rng, functions=4), rng.normal(size=(3, 7, 4)), rng.normal(size=(3, 7, 4))
    index = np.broadcast_to(np.array([0, 2, 3]), (3, 3))
    position = np.broadcast_to(np.array([0, 3, 1, 2]), (3, 4))
    few = CriticalFunctions(index, position, 3)
    level = Quadratic(prior.gradient, prior.hessian * np.array([1.0, 0.0, 1.0, 1.0])[:, None, None])
    found, fit = least_change(prior, u, y, few)
    make_expectation, whole = least_change(level, u, y)
    assert_allclose(fit.kept, whole.kept, rtol=1e-9)
    assert_allclose(found.hessian[:, [0, 2, 3]], make_expectation.hessian[:, [0, 2, 3]], rtol=1e-9, atol=1e-9)
    assert_array_equal(found.hessian[:, 1], 0.0)


def test_only_rough_functions_are_met_with_the_ridge_of_their_level(rng):
    prior, u, y = random_models(rng), rng.normal(size=(3, 9, 4)), rng.normal(size=(3, 9, 2))
    rough = np.where(np.arange(2) == 1, 1e-2, ETA) + np.zeros((3, 2))
    smooth, fit = least_change(prior, u, y)
    found, level = least_change(prior, u, y, levels=[1e-2], rough=rough)
    assert_array_equal(found.hessian[:, 0], smooth.hessian[:, 0])
    assert_allclose((y - found.changes(u))[..., 1], 1e-2 * (1.0 + TAU) * level.w[..., 1], atol=1e-10)
    assert np.abs(level.w[..., 1]).max() < np.abs(fit.w[..., 1]).max()


def test_a_model_that_meets_the_values_does_not_change(rng):
    truth, u = random_models(rng), rng.normal(size=(3, 6, 4))
    found, _ = least_change(truth, u, truth.changes(u))
    assert_allclose(found.gradient, truth.gradient, atol=1e-12)
    assert_allclose(found.hessian, truth.hessian, atol=1e-12)


def test_a_point_at_the_centre_carries_no_information(rng):
    u, y = rng.normal(size=(1, 6, 4)), rng.normal(size=(1, 6, 2))
    filled = np.concatenate([u, np.zeros((1, 3, 4))], axis=1), np.concatenate([y, np.zeros((1, 3, 2))], axis=1)
    prior = random_models(rng, runs=1)
    for one, other in zip(least_change(prior, u, y)[0], least_change(prior, *filled)[0]):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_a_shifted_or_stretched_model_is_the_same_function(rng):
    models, step, beyond = random_models(rng), rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    assert_allclose(
        models.shifted(step).change(beyond), models.change(step + beyond) - models.change(step), rtol=1e-10, atol=1e-10
    )
    unit = np.exp(rng.normal(size=(3, 4)))
    assert_allclose(models.rescaled(unit).change(step / unit), models.change(step), rtol=1e-12)
    assert_array_equal(models.slope(step), models.shifted(step).gradient)
    assert_allclose(models.changes(step[:, None, :])[:, 0, :], models.change(step), rtol=1e-12)


def test_the_variance_is_that_of_a_gaussian_process_over_quadratics(rng):
    u, v = rng.normal(size=(2, 7, 3)), rng.normal(size=(2, 5, 3))

    def features(x):  # whose products are the covariance
        return np.concatenate(
            [np.sqrt(TAU) * x, np.einsum("nd,ne->nde", x, x).reshape(len(x), -1) / np.sqrt(2.0)], axis=1
        )

    _, fit = least_change(Quadratic.zero((2, 1, 3), u), u, np.zeros((2, 7, 1)))
    for b in range(2):
        known, new = features(u[b]), features(v[b])
        assert_allclose(known @ new.T, covariance(u, v, np.array([TAU]))[b], rtol=1e-12)
        precision = np.eye(known.shape[1]) + known.T @ known / RIDGE
        make_expectation = np.sum(new * np.linalg.solve(precision, new.T).T, axis=1)
        assert_allclose(variance(fit, v)[b], make_expectation, rtol=1e-4, atol=1e-6)


def test_where_points_were_fitted_the_variance_is_the_ridge_at_most(rng):
    u = rng.normal(size=(2, 7, 3))
    _, fit = least_change(Quadratic.zero((2, 1, 3), u), u, np.zeros((2, 7, 1)))
    assert np.all(variance(fit, u) < 1.01 * RIDGE)
    assert np.all(variance(fit, 3.0 * rng.normal(size=(2, 7, 3))) > RIDGE)


def test_leave_one_out_r2_is_one_minus_the_errors_of_models_that_left_a_point_out(rng):
    prior, u, y = random_models(rng, runs=2), rng.normal(size=(2, 6, 4)), rng.normal(size=(2, 6, 2))
    _, fit = least_change(prior, u, y)
    errors, kept = np.empty_like(y), prior.multiplied(fit.kept)
    for b, i, k in np.ndindex(2, 6, 2):
        rest = np.arange(6) != i
        gradient, hessian = dense_reference(
            Quadratic(kept.gradient[b, k], kept.hessian[b, k]), u[b, rest], y[b, rest, k]
        )
        errors[b, i, k] = y[b, i, k] - u[b, i] @ (gradient + 0.5 * hessian @ u[b, i])
    make_expectation = 1.0 - np.sum(errors**2, axis=1) / np.sum((y - y.mean(axis=1, keepdims=True)) ** 2, axis=1)
    assert_allclose(leave_one_out_r2(fit), make_expectation, rtol=1e-6)


def test_models_that_are_not_finite_are_told_apart(rng):
    models = random_models(rng)
    models.gradient[1, 0, 2] = np.inf
    models.hessian[2, 1, 0, 0] = np.nan
    assert_array_equal(models.finite, [True, False, False])
    kept = models.where(models.finite, Quadratic.zero((3, 2, 4), models.gradient))
    assert kept.finite.all()
    assert_array_equal(kept.gradient[0], models.gradient[0])
    assert not kept.gradient[1:].any()
