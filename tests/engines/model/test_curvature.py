"""Curvature without its sign, by products of matrices: against the eigen-decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.engines.model.curvature import convex


def matrices(rng, runs, dim, spread):
    """Symmetric matrices with eigenvalues of either sign between 10^-spread and 1; their vectors and values."""
    vectors = np.linalg.qr(rng.normal(size=(runs, dim, dim)))[0]
    values = rng.choice([-1.0, 1.0], (runs, dim)) * 10.0 ** rng.uniform(-spread, 0.0, (runs, dim))
    return (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2), vectors, values


@pytest.mark.parametrize("dim", [1, 2, 5, 20, 50])
def test_curvature_above_a_hundredth_of_the_whole_keeps_its_size(dim):
    h, vectors, values = matrices(np.random.default_rng(dim), 50, dim, 4.0)
    made = np.diagonal(vectors.swapaxes(1, 2) @ convex(h) @ vectors, axis1=1, axis2=2)
    size = np.sqrt(np.sum(values**2, axis=1))[:, None]
    for share, error in ((1e-2, 1e-6), (3e-3, 2e-3)):
        large = np.abs(values) > share * size
        assert_allclose(made[large], np.abs(values)[large], rtol=error)


@pytest.mark.parametrize("dim", [2, 10, 50])
def test_small_curvature_is_left_small_and_hardly_negative(dim):
    h, vectors, values = matrices(np.random.default_rng(dim), 50, dim, 8.0)
    size = np.sqrt(np.sum(values**2, axis=1))[:, None]
    made = np.diagonal(vectors.swapaxes(1, 2) @ convex(h) @ vectors, axis1=1, axis2=2)
    assert np.all(np.abs(made) < 1.25 * np.abs(values) + 1e-14)
    assert np.min(np.linalg.eigvalsh(convex(h)) / size) > -2.1e-4  # the worst there is: -0.000206 at -0.00038


def test_what_is_convex_and_well_conditioned_stays():
    h, _, _ = matrices(np.random.default_rng(0), 20, 6, 1.0)
    h = h @ h
    h = h / np.linalg.norm(h, axis=(1, 2), keepdims=True)
    assert_allclose(convex(h), h, atol=2e-3)


def test_powers_of_two_and_no_curvature_at_all_pass_through():
    h, _, _ = matrices(np.random.default_rng(0), 5, 6, 3.0)
    assert_array_equal(convex(2.0**40 * h), 2.0**40 * convex(h))
    assert_array_equal(convex(0.0 * h), 0.0 * h)
