"""Level lines and hatches: strokes that lie where they should, and all of them."""

import numpy as np
from numpy.testing import assert_allclose

from meco.figures.contours import find_contour_segments, find_stretches, make_hatch_strokes

GRID = np.linspace(-1.0, 1.0, 81)
X, Y = np.meshgrid(GRID, GRID)


def length(x, y):
    return np.hypot(x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]).sum()


def test_a_level_line_of_a_cone_is_a_circle():
    x, y = find_contour_segments(GRID, GRID, np.hypot(X, Y), 0.6)
    assert_allclose(np.hypot(x, y), 0.6, atol=1e-3)
    assert_allclose(length(x, y), 2 * np.pi * 0.6, rtol=1e-3)


def test_what_is_linear_is_met_exactly_and_nan_is_crossed_nowhere():
    x, y = find_contour_segments(GRID, GRID, 2 * X - Y, 0.25)
    assert_allclose(2 * x - y, 0.25, atol=1e-12)
    x, y = find_contour_segments(GRID, GRID, np.where(X < 0.5, 2 * X - Y, np.nan), 0.25)
    assert x.max() < 0.5
    assert len(find_contour_segments(GRID, GRID, X, 3.0)[0]) == 0


def test_a_hatch_covers_what_holds_and_nothing_else():
    x, y = make_hatch_strokes(lambda points: np.hypot(*(points - 1.0).T) < 0.5, 2.0, 2.0, 40)
    assert np.hypot(x - 1.0, y - 1.0).max() < 0.5
    assert_allclose(y[:, 1] - y[:, 0], x[:, 1] - x[:, 0])
    spacing = 2.0 / 40 / np.sqrt(2)
    assert_allclose(length(x, y) * spacing, np.pi * 0.25, rtol=0.03)


def test_stretches_are_first_and_last_of_what_is_longer_than_one():
    assert find_stretches(np.array([1, 1, 0, 1, 0, 1, 1, 1], dtype=bool)) == [(0, 1), (5, 7)]
    assert find_stretches(np.zeros(3, dtype=bool)) == []
