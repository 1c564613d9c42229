"""Constraints that cost nothing: points inside are found, and points outside come back, without an evaluation."""

import numpy as np
import pytest

from meco.core.box import Box
from meco.core.cheap_set import CheapSet
from meco.errors import InvalidInput


def make_box(low, high, integer=None):
    whole = None if integer is None else np.reshape(integer, (1, 1, -1))
    return Box(np.reshape(low, (1, 1, -1)), np.reshape(high, (1, 1, -1)), whole)


def make_set(formula, low, high, equal=(False,), integer=None, slack=1e-4, **options):
    return CheapSet(formula, make_box(low, high, integer), np.array(equal), slack, **options)


def thin_ring(x):
    """A ring of radius 1 and width 0.02: 1e-3 of its box."""
    return (np.abs(np.sum(x * x, axis=1) - 1.0) - 0.02)[:, None]


def test_points_inside_are_found_where_one_in_a_thousand_is():
    found = make_set(thin_ring, [-5.0, -5.0], [5.0, 5.0])
    assert len(found.inside) >= 2
    assert found.contains(found.inside).all()


def test_a_point_outside_comes_back_to_a_near_one_and_always_to_the_same():
    ring = make_set(thin_ring, [-5.0, -5.0], [5.0, 5.0])
    outside = ring.box.to_unit(np.array([[3.0, 4.0]]))
    moved = ring.repair(outside)
    np.testing.assert_array_equal(moved, ring.repair(outside))
    assert ring.contains(moved).all()
    np.testing.assert_allclose(ring.box.to_box(moved[None])[0, 0], [0.6, 0.8], atol=0.02)


def test_points_inside_stay_where_they_are():
    ring = make_set(thin_ring, [-5.0, -5.0], [5.0, 5.0])
    np.testing.assert_array_equal(ring.repair(ring.inside), ring.inside)


def test_equalities_are_met_to_their_slack():
    plane = make_set(lambda x: x[:, :1] * x[:, 1:2] - 2.0, [0.0, 0.0], [4.0, 4.0], equal=(True,), slack=1e-6)
    moved = plane.box.to_box(plane.repair(np.array([[0.9, 0.9]]))[None])[0, 0]
    assert abs(moved[0] * moved[1] - 2.0) <= 1e-6


def test_whole_numbers_stay_whole():
    ring = make_set(thin_ring, [-3.0, -3.0], [3.0, 3.0], integer=[True, False])
    moved = ring.repair(np.array([[0.9, 0.3], [0.52, 0.5]]))
    x = ring.box.to_box(moved[None])[0]
    assert ring.contains(moved).all()
    np.testing.assert_array_equal(x[:, 0], np.round(x[:, 0]))


def test_slopes_and_curvature_are_those_of_the_formula():
    bowl = make_set(lambda x: np.sum(x * x, axis=1, keepdims=True) - 4.0, [-2.0, -2.0], [2.0, 2.0])
    at = np.array([0.75, 0.5])  # x = (1, 0), and 4 units of x in one of the cube
    value, slopes = bowl.linearise(at)
    np.testing.assert_allclose(value, [-3.0], atol=1e-12)
    np.testing.assert_allclose(slopes, [[8.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(bowl.curvature(at)[0], [[32.0, 0.0], [0.0, 32.0]], atol=1e-2)


def test_a_function_that_fails_is_violated():
    def formula(x):
        return np.where(x[:, :1] > 0.5, np.nan, -1.0)

    half = make_set(formula, [0.0], [1.0])
    assert half.box.to_box(half.repair(np.array([[0.9]]))[None])[0, 0, 0] <= 0.5


def test_an_empty_set_is_refused_with_the_name_of_what_is_worst():
    with pytest.raises(InvalidInput, match="room is the worst, over by 1"):
        make_set(lambda x: x[:, :1] ** 2 + 1.0, [-1.0], [1.0], names=("room",))
