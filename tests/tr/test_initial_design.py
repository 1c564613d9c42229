"""Where a search begins, how many points a model takes, and how far steps keep from failed evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.core.evaluation import Evaluation
from meco.tr.archive import PointArchive
from meco.tr.initial_design import star, star_size
from meco.tr.model_fit import failure_halfspace, model_size


def test_a_star_goes_up_along_each_axis_first_and_then_down():
    arms = star(np.array([0.5, 0.5]), 4)
    assert_array_equal(arms, [[0.75, 0.5], [0.5, 0.75], [0.25, 0.5], [0.5, 0.25]])
    assert_array_equal(star(np.array([0.5, 0.5]), 3), arms[:3])
    assert star(np.array([0.5, 0.5]), 0).shape == (0, 2)


def test_an_arm_that_would_leave_the_cube_turns_inwards_and_is_half_as_long():
    assert_allclose(star(np.array([0.9, 0.1]), 4), [[0.775, 0.1], [0.9, 0.35], [0.65, 0.1], [0.9, 0.225]])


@pytest.mark.parametrize("centre", [0.0, 0.2, 0.25, 0.75, 1.0])
def test_no_two_points_of_a_star_coincide(centre):
    arms = star(np.full(3, centre), 6)
    points = np.concatenate([np.full((1, 3), centre), arms])
    assert len(np.unique(points, axis=0)) == 7
    assert np.all((arms >= 0.0) & (arms <= 1.0))


@pytest.mark.parametrize(
    ("dim", "budget", "arms"), [(3, 100, 6), (3, 9, 6), (3, 8, 5), (3, 3, 2), (3, 1, 0), (3, 0, 0), (3, -2, 0)]
)
def test_a_star_takes_two_thirds_of_a_small_budget_at_most(dim, budget, arms):
    assert star_size(dim, budget) == arms


def test_a_model_takes_enough_points_for_a_full_quadratic_in_few_variables():
    assert [model_size(dim) for dim in (1, 2, 4, 5, 10, 50)] == [7, 13, 25, 28, 43, 163]
    for dim in range(1, 6):
        assert model_size(dim) >= (dim + 1) * (dim + 2) // 2


def halfspace_of(x, failed, delta=0.25):
    x = np.array([x], dtype=float)
    f = np.where(np.array([failed]), np.nan, 1.0)
    ev = Evaluation.of(f, np.zeros((*f.shape, 0)), np.zeros((*f.shape, 0)))
    return failure_halfspace(PointArchive(x, ev, np.array([0]), f.shape[1]), np.array([[0.5, 0.5]]), np.array([delta]))


def test_steps_end_half_way_to_the_nearest_failure():
    normal, distance = halfspace_of([[0.5, 0.5], [0.5, 0.9], [0.7, 0.5], [0.55, 0.5]], [False, True, True, False])
    assert_allclose(normal, [[1.0, 0.0]])
    assert_allclose(distance, [0.1 / 0.25])  # in radii


def test_steps_are_not_limited_where_nothing_failed_or_only_far_away():
    for x, failed in (([[0.5, 0.5], [0.6, 0.5]], [False, False]), ([[0.5, 0.5], [0.5, 0.9]], [False, True])):
        normal, distance = halfspace_of(x, failed, delta=0.1)  # 0.4 is beyond 2 sqrt(2) 0.1
        assert_array_equal(normal, [[0.0, 0.0]])
        assert_array_equal(distance, [np.inf])
