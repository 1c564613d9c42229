"""Systems factored once, by Cholesky, have the answers of those that are solved anew."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.arrays import Factored
from meco.tr.cholesky_system import BLOCK, CholeskyFactored, factor, invert


def covariances(size: int, runs: int = 2) -> np.ndarray:
    """Symmetric positive definite matrices [B, m, m]."""
    root = np.random.default_rng(size).normal(size=(runs, size, size))
    return root @ root.mT + np.eye(size)


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_whatever_is_asked_of_the_factor_is_what_lu_says(size):
    matrix, right = covariances(size), np.random.default_rng(1).normal(size=(2, size, 3))
    known, plain = CholeskyFactored(matrix), Factored(matrix)
    assert_allclose(known.solved(right), plain.solved(right), rtol=1e-9)
    assert_allclose(known.inverse_times(right), plain.inverse_times(right), rtol=1e-9)
    assert_allclose(known.inverse_form(right), plain.inverse_form(right), rtol=1e-9)
    assert_allclose(known.inverse_diagonal, plain.inverse_diagonal, rtol=1e-9)
    few = known.of(np.array([1]))
    assert_allclose(few.solved(right[1:]), plain.solved(right)[1:], rtol=1e-9)


def test_inverted_blocks_make_the_whole_inverse_of_the_factor():
    lower = factor(covariances(2 * BLOCK + 3, runs=1))
    assert_allclose(invert(lower) @ lower.matrix, np.eye(2 * BLOCK + 3)[None], atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_left_to_lu_and_its_neighbour_stays_as_it_is():
    matrix, right = covariances(2 * BLOCK), np.ones((2, 2 * BLOCK, 1))
    good = CholeskyFactored(matrix[:1].copy())
    matrix[1] -= 4.0 * BLOCK * np.eye(2 * BLOCK)
    known, plain = CholeskyFactored(matrix), Factored(matrix[1:])
    for name in ("solved", "inverse_times", "inverse_form"):
        made = getattr(known, name)(right)
        assert_array_equal(made[:1], getattr(good, name)(right[:1]))
        assert_allclose(made[1:], getattr(plain, name)(right[1:]), rtol=1e-9)
    assert_array_equal(known.inverse_diagonal[:1], good.inverse_diagonal)
    assert_array_equal(known.inverse_diagonal[1:], plain.inverse_diagonal)
