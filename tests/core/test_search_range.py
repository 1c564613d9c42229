"""Coordinates where bounds are missing: lengths come from x0, walls are where bounds are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.box import Box
from meco.core.search_range import FARTHEST, measure_range

INF = np.inf


def measured(lower, upper, x0):
    return measure_range(*(np.array([v], dtype=float) for v in (lower, upper, x0)))


@pytest.mark.parametrize(
    ("lower", "upper", "x0", "walls", "origin", "length"),
    [
        (-2.0, 6.0, 0.0, (0.0, 1.0), -2.0, 8.0),  # a finite range stays the unit cube
        (-INF, INF, 0.0, (-INF, INF), -10.0, 20.0),  # x0 is in the middle of twenty typical lengths
        (-INF, INF, -300.0, (-INF, INF), -3300.0, 6000.0),
        (1.0, INF, 3.0, (0.0, INF), 1.0, 60.0),  # a bound that is near is a wall of the cube
        (-INF, 1.0, -3.0, (-INF, 1.0), -59.0, 60.0),
        (-1e6, INF, 0.0, (-49999.5, INF), -10.0, 20.0),  # one that is far sets no length
        (-INF, 1e6, 0.0, (-INF, 50000.5), -10.0, 20.0),
        (-INF, INF, 1e-9, (-INF, INF), -9e-9, 2e-8),  # a tiny x0 tells its own length
    ],
)
def test_coordinates_follow_the_bounds_that_there_are_and_else_x0(lower, upper, x0, walls, origin, length):
    found = measured(lower, upper, x0)
    assert_allclose([found.low[0], found.high[0]], walls)
    assert_allclose([found.origin[0], found.length[0]], [origin, length], rtol=1e-12)


def make_box(lower, upper, x0, **more):
    lower, upper, x0 = (np.array(part, dtype=float) for part in (lower, upper, x0))
    return Box(lower[None, None], upper[None, None], range=measure_range(lower, upper, x0), **more)


def test_points_far_outside_the_cube_come_back_from_their_coordinates():
    box = make_box([-INF, 0.0, -INF, 2.0], [INF, INF, 3.0, 4.0], [5.0, 1.0, 1.0, 3.0])
    x = np.array([[1e7, 4e5, -3e4, 2.5], [-1e7, 0.0, 3.0, 4.0]])
    unit = box.to_unit(x)
    assert_allclose(box.to_box(unit[None])[0], x, rtol=1e-12)
    assert_array_equal(box.to_box(box.pin(x)[None])[0], x)


def test_points_are_finite_and_inside_the_bounds_whatever_is_asked():
    box = make_box([-INF, 0.0, -INF], [INF, INF, 3.0], [1e200, 1.0, 1.0])
    x = box.to_box(np.array([[[1e308] * 3, [-1e308] * 3]]))[0]
    assert_array_equal(np.abs(x[:, 0]), FARTHEST)
    assert x[1, 1] == 0.0
    assert x[0, 2] == 3.0
    assert np.isfinite(x).all()


def test_a_twentieth_of_the_cube_is_typical_of_a_variable_without_a_bound():
    box = make_box([-INF, 0.0], [INF, 8.0], [500.0, 2.0])
    assert_allclose(box.typical_lengths(box.to_unit(np.array([[500.0, 2.0]]))[0]), [0.05, 0.25])


def test_integers_without_bounds_are_whole():
    box = make_box([-INF, 0.0], [INF, INF], [0.0, 0.0], integer=np.array([[[True, False]]]))
    x = box.to_box(np.random.default_rng(0).normal(0, 40, (1, 30, 2)))
    assert_array_equal(x[..., 0], np.round(x[..., 0]))
    assert np.abs(x[..., 0]).max() > 100
