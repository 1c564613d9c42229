"""Cubic interpolation that grows point by point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("scipy")

from meco.paper.baselines.surrogate import CubicRBF, Simplex


def outputs(x):
    return np.stack([np.sum(x**2, axis=-1), 1e4 * np.cos(3.0 * x).sum(axis=-1), x[..., 0] - 2.0], axis=-1)


def points(count, dim, seed=0):
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, dim))
    return x, outputs(x)


def grown(x, y):
    rbf = CubicRBF(x.shape[1], y.shape[1])
    for point, output in zip(x, y):
        assert rbf.add(point, output)
    return rbf


def by_the_book(x, y):
    """Weights, level and slope from the saddle-point system of the cubic with a linear tail."""
    n, dim = x.shape
    cubes = np.linalg.norm(x[:, None] - x[None], axis=-1) ** 3
    tail = np.hstack([np.ones((n, 1)), x])
    system = np.block([[cubes, tail], [tail.T, np.zeros((dim + 1, dim + 1))]])
    solved = np.linalg.solve(system, np.vstack([y, np.zeros((dim + 1, y.shape[1]))]))
    return solved[:n], solved[n], solved[n + 1 :]


@pytest.mark.parametrize(("dim", "count"), [(1, 6), (2, 25), (7, 60), (30, 90)])
def test_interpolation_passes_through_every_point(dim, count):
    x, y = points(count, dim)
    surrogate = grown(x, y).surrogate()
    found = np.array([surrogate.value(point) for point in x])
    assert_allclose(found, y, rtol=1e-8, atol=1e-6)


def test_weights_are_those_of_the_saddle_point_system():
    x, y = points(60, 7)
    surrogate = grown(x, y).surrogate()
    weight, level, slope = by_the_book(x, y)
    assert_allclose(surrogate.weight.T, weight, rtol=1e-7, atol=1e-8)
    assert_allclose(surrogate.level, level, rtol=1e-7)
    assert_allclose(surrogate.slope.T, slope, rtol=1e-7, atol=1e-7)


def test_adding_points_equals_fitting_them_together():
    x, y = points(80, 6)
    step_by_step, mixed, together = grown(x, y), CubicRBF(6, 3), CubicRBF(6, 3)
    mixed.fit(x[:30], y[:30])
    for point, output in zip(x[30:], y[30:]):
        mixed.add(point, output)
    together.fit(x, y)
    for rbf in (mixed, together):
        assert rbf.size == 80
        assert_allclose(rbf.surrogate().weight, step_by_step.surrogate().weight, rtol=1e-8, atol=1e-9)
        assert_allclose(rbf.surrogate().slope, step_by_step.surrogate().slope, rtol=1e-8, atol=1e-8)


def test_a_second_fit_forgets_the_first():
    x, y = points(80, 6)
    rbf, fresh = CubicRBF(6, 3), CubicRBF(6, 3)
    rbf.fit(x, y)
    rbf.fit(x[:40], y[:40])
    fresh.fit(x[:40], y[:40])
    assert_allclose(rbf.surrogate().weight, fresh.surrogate().weight, rtol=1e-12)


def test_gradient_agrees_with_central_differences():
    x, y = points(60, 5)
    surrogate = grown(x, y).surrogate()
    at, step = np.full(5, 0.1), 1e-5
    value, gradient, square = surrogate.evaluate(at)
    moves = step * np.eye(5)
    numeric = np.stack([(surrogate.value(at + m) - surrogate.value(at - m)) / (2 * step) for m in moves], axis=1)
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)
    assert_allclose(value, surrogate.value(at), rtol=1e-9)
    assert_allclose(square, np.sum((x - at) ** 2, axis=1), atol=1e-12)


def test_linear_functions_are_reproduced_exactly():
    x, _ = points(40, 4)
    y = (x @ np.array([1.0, -2.0, 3.0, 0.5]) + 7.0)[:, None]
    surrogate = grown(x, y).surrogate()
    assert_allclose(surrogate.weight, 0.0, atol=1e-9)
    assert_allclose(surrogate.slope[0], [1.0, -2.0, 3.0, 0.5], atol=1e-9)
    assert_allclose(surrogate.level, [7.0], atol=1e-9)


def test_the_corners_of_the_box_are_points_like_others():
    x = np.linspace(-1.0, 1.0, 9)[:, None]
    surrogate = grown(x, np.abs(x)).surrogate()
    assert_allclose([surrogate.value(point)[0] for point in x], np.abs(x[:, 0]), atol=1e-9)


def test_a_repeated_point_is_left_out():
    x, y = points(40, 4)
    rbf = grown(x, y)
    assert not rbf.add(x[3], y[3])
    assert not rbf.add(x[3] + 1e-9, y[3])
    assert rbf.size == 40
    doubled = CubicRBF(4, 3)
    doubled.fit(np.vstack([x, x[:5]]), np.vstack([y, y[:5]]))
    assert doubled.size == 40
    assert_allclose(doubled.surrogate().weight, rbf.surrogate().weight, rtol=1e-6, atol=1e-8)


def test_points_crowded_at_a_thousandth_still_give_a_good_gradient():
    dim, random = 20, np.random.default_rng(3)
    far = random.uniform(-1.0, 1.0, (150, dim))
    crowd = far[0] + 1e-3 * random.standard_normal((80, dim)) / np.sqrt(dim)
    x = np.vstack([far, crowd])
    surrogate = grown(x, np.sum(x**2, axis=1)[:, None]).surrogate()
    assert_allclose(surrogate.evaluate(far[0])[1][0], 2.0 * far[0], atol=5e-3)


def test_barycentric_coordinates_rebuild_the_point():
    simplex = Simplex(6)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, (9, 6))
    near = simplex.coordinates(x)
    assert_allclose(near.sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(near @ simplex.corners, x, atol=1e-12)
    assert np.all(np.linalg.norm(simplex.corners, axis=1) > np.sqrt(6.0))  # outside the cube
