"""Points that keep linear rows: nearest, inside, and held against a slow search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.polytope import Polytope
from meco.errors import InvalidInput


def random_polytope(rng, dim, rows):
    """Rows that keep a random point of the cube."""
    slope, inside = rng.normal(size=(rows, dim)), rng.random(dim)
    return Polytope(slope, -slope @ inside - 0.1 * rng.random(rows), np.zeros(rows, dtype=bool)), inside


@pytest.mark.parametrize("seed", range(10))
def test_the_nearest_point_keeps_the_rows_and_no_kept_point_is_nearer(seed):
    rng = np.random.default_rng(seed)
    polytope, anchor = random_polytope(rng, 3, 4)
    x = 3.0 * rng.random(3) - 1.0
    near = polytope.project(x, anchor)
    assert polytope.excess(near) <= 0.0
    assert near.min() >= 0.0
    assert near.max() <= 1.0
    others = [p for p in rng.random((4000, 3)) if polytope.excess(p) <= 0.0]
    assert min(np.linalg.norm(p - x) for p in others) >= np.linalg.norm(near - x) - 1e-6


def test_a_point_that_keeps_the_rows_stays():
    polytope = Polytope(np.array([[1.0, 1.0]]), np.array([-1.5]), np.array([False]))
    x = np.array([0.25, 0.5])
    assert_array_equal(polytope.project(x, x), x)


def test_equalities_are_met():
    polytope = Polytope(np.array([[2.0, -2.0], [1.0, 1.0]]), np.array([0.5, -1.5]), np.array([True, False]))
    near = polytope.nearest(np.array([0.9, 0.1]))
    assert_allclose(near[1] - near[0], 0.25, atol=1e-12)


def test_rows_of_zeros_say_nothing():
    assert Polytope(np.zeros((1, 2)), np.array([1.0]), np.array([False])).excess(np.zeros(2)) <= 0.0


def test_rows_without_a_common_point_are_refused():
    apart = Polytope(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-0.2, 0.8]), np.zeros(2, dtype=bool))
    with pytest.raises(InvalidInput, match="no common point"):
        apart.interior_point(np.full(2, 0.5))
