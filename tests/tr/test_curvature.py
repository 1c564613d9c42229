"""Curvature without its sign."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr.curvature import MAX_CURVATURE, convexify


def matrices(rng, runs, dim, spread):
    """Symmetric matrices with eigenvalues of either sign between 10^-spread and 1; their vectors and values."""
    vectors = np.linalg.qr(rng.normal(size=(runs, dim, dim)))[0]
    values = rng.choice([-1.0, 1.0], (runs, dim)) * 10.0 ** rng.uniform(-spread, 0.0, (runs, dim))
    return (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2), vectors, values


def along(vectors, matrix):
    """What a matrix has along each of the vectors."""
    return np.diagonal(vectors.swapaxes(1, 2) @ matrix @ vectors, axis1=1, axis2=2)


@pytest.mark.parametrize("dim", [1, 2, 5, 20, 50])
def test_every_eigenvalue_keeps_its_size_and_loses_its_sign(dim):
    h, vectors, values = matrices(np.random.default_rng(dim), 20, dim, 6.0)
    assert_allclose(along(vectors, convexify(h)), np.abs(values), rtol=1e-6, atol=1e-13)
    assert np.min(np.linalg.eigvalsh(convexify(h))) > -1e-13


def test_curvature_beyond_the_largest_is_cut():
    h = np.array([[[3.0 * MAX_CURVATURE, 0.0], [0.0, -2.0]]])
    assert_allclose(convexify(h), [[[MAX_CURVATURE, 0.0], [0.0, 2.0]]])


def test_no_curvature_passes_through():
    assert_array_equal(convexify(np.zeros((3, 4, 4))), np.zeros((3, 4, 4)))


@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf, 1e308, -1e160])
def test_no_number_keeps_an_eigen_decomposition_from_its_end(worst):
    for dim in (1, 2, 5):
        h = np.random.default_rng(dim).normal(size=(3, dim, dim))
        h[1, 0, -1] = worst
        with np.errstate(all="ignore"):  # as the engine has it
            made = convexify(h)
        assert np.isfinite(made).all()
        assert np.abs(made).max() <= 1.01 * MAX_CURVATURE
