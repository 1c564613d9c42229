"""Between the unit cube and the box: integers, scales, and points that were given exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.box import Box
from meco.core.log_scale import LogScale
from meco.core.search_range import SearchRange
from meco.errors import InvalidInput


def test_integer_variables_are_whole_where_they_are_evaluated():
    asked = []

    def formula(x):
        asked.append(x)
        return x.sum(axis=-1), [], []

    whole = np.array([True, False])
    problem = meco.Problem("whole", [-3.0, 0.0], [4.0, 1.0], 0, 0, formula, integrality=whole)
    meco.solve("SHADE", problem, budget=600, seeds=[1], pop_size=100)
    points = np.concatenate([x[0] for x in asked])
    assert_array_equal(points[:, 0], np.round(points[:, 0]))
    assert set(points[:, 0]) == set(range(-3, 5))


def test_fractional_bounds_of_integers_are_never_evaluated():
    asked = []

    def formula(x):
        asked.append(x)
        return x.sum(axis=-1), [], []

    whole = meco.Problem("whole", [0.4, -0.6], [2.6, 1.0], 0, 0, formula, integrality=[True, True])
    meco.solve("SHADE", whole, budget=300, seeds=[1], pop_size=100)
    points = np.concatenate([x[0] for x in asked])
    assert set(points[:, 0]) == {1.0, 2.0}
    assert set(points[:, 1]) == {0.0, 1.0}
    with pytest.raises(InvalidInput, match="no whole number between"):
        meco.Problem("none", [0.2], [0.8], 0, 0, formula, integrality=[True])


def box(lower=(-3.0, 0.1), upper=(4.0, 7.3), **more):
    return Box(np.array(lower)[None, None], np.array(upper)[None, None], **more)


def test_corners_of_the_cube_are_the_bounds_exactly():
    mine = box()
    assert_array_equal(mine.to_box(np.array([[[0.0, 0.0], [1.0, 1.0]]])), [[[-3.0, 0.1], [4.0, 7.3]]])
    assert mine.dim == 2


@settings(max_examples=50, deadline=None)
@given(
    low=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
    width=st.lists(st.floats(0, 1e6), min_size=2, max_size=2),
    u=st.lists(st.floats(0, 1), min_size=2, max_size=2),
)
def test_no_point_of_the_cube_leaves_the_box(low, width, u):
    upper = np.array(low) + width
    x = box(low, upper).to_box(np.array(u)[None, None])
    assert np.all((x >= low) & (x <= upper))


def test_a_pinned_point_is_evaluated_as_exactly_itself():
    mine, points = box(), np.random.default_rng(1).uniform([-3.0, 0.1], [4.0, 7.3], (200, 2))
    unit = mine.to_unit(points)
    moved = mine.to_box(unit[None])[0] != points
    assert moved.any()  # there and back can move the last bit
    assert_array_equal(mine.pin(points), unit)
    assert_array_equal(mine.to_box(unit[None])[0], points)
    assert_array_equal(mine.to_box(np.array([[[0.25, 0.5]]])), box().to_box(np.array([[[0.25, 0.5]]])))


def test_a_pinned_zero_has_no_sign():
    mine = box((0.0, 0.0), (1.0, 1.0))
    unit = mine.pin(np.array([[-0.0, 0.1 + 0.2]]))
    for zero in (0.0, -0.0):
        assert_array_equal(mine.to_box(np.array([[[zero, unit[0, 1]]]])), [[[0.0, 0.1 + 0.2]]])


def test_a_variable_without_width_stays_where_it_is():
    mine = box((1.0, 2.0), (1.0, 3.0))
    assert_array_equal(mine.to_unit(np.array([[1.0, 2.5]])), [[0.0, 0.5]])
    assert_array_equal(mine.to_box(np.array([[[0.7, 0.5]]])), [[[1.0, 2.5]]])


def test_a_scale_takes_its_variables_there_and_back():
    log = LogScale(np.array([False, True]), np.array([-3.0, 0.1]), np.array([4.0, 10.0]))
    mine = box(upper=(4.0, 10.0), scale=log)
    assert_allclose(mine.to_box(np.array([[[0.5, 0.5]]])), [[[0.5, 1.0]]])
    assert_allclose(mine.to_unit(np.array([[0.5, 1.0]])), [[0.5, 0.5]])


def test_points_between_the_walls_are_kept_as_they_are():
    unit = np.random.default_rng(1).random((2, 5, 2))
    assert box().keep_inside(unit) is unit


def test_what_is_no_number_becomes_the_middle_and_what_is_outside_the_nearest_inside():
    unit = np.array([[[np.nan, 0.25], [np.inf, -np.inf], [-0.5, 1.5]]])
    assert_array_equal(box().keep_inside(unit), [[[0.5, 0.25], [0.5, 0.5], [0.0, 1.0]]])


def test_where_a_bound_is_missing_any_number_is_inside():
    free = SearchRange(np.array([-np.inf, 0.0]), np.array([np.inf, 1.0]), np.zeros(2), np.ones(2))
    unit = np.array([[[-7.0, 2.0], [1e9, 0.5], [np.nan, 0.5]]])
    kept = box((-np.inf, 0.0), (np.inf, 1.0), range=free).keep_inside(unit)
    assert_array_equal(kept, [[[-7.0, 1.0], [1e9, 0.5], [0.5, 0.5]]])


def test_slopes_and_walls_are_those_of_the_variables():
    log = LogScale(np.array([False, True]), np.array([-3.0, 0.1]), np.array([4.0, 10.0]))
    mine = box(upper=(4.0, 10.0), scale=log)
    x, step = np.array([1.0, 2.0]), 1e-6
    unit = mine.to_unit(x)
    moved = mine.to_box((unit + step)[None, None])[0, 0]
    assert_allclose(mine.slopes(x), (moved - x) / step, rtol=1e-5)
    assert_allclose(mine.wall_distances(unit), [unit, 1.0 - unit])


def test_a_variable_without_a_bound_has_no_wall_there():
    inf = np.inf
    over = SearchRange(np.array([0.0, -inf]), np.array([inf, inf]), np.array([2.0, 5.0]), np.array([20.0, 40.0]))
    mine = box(lower=(2.0, -inf), upper=(inf, inf), range=over)
    assert_allclose(mine.wall_distances(mine.to_unit(np.array([3.0, 5.0]))), [[0.05, inf], [inf, inf]])
    assert_allclose(mine.slopes(np.array([3.0, 5.0])), [20.0, 40.0])
