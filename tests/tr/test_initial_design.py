"""Where a search begins, how many points a model takes, and how far steps keep from failed evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.tr.initial_design import GUARDED_RADIUS, LEAST_SHARE, initial_radii, star, star_size
from meco.tr.model_fit import model_size

QUARTERS = np.full(2, 0.25)


def test_a_star_goes_up_along_each_axis_first_and_then_down():
    arms = star(np.array([0.5, 0.5]), 4, QUARTERS)
    assert_array_equal(arms, [[0.75, 0.5], [0.5, 0.75], [0.25, 0.5], [0.5, 0.25]])
    assert_array_equal(star(np.array([0.5, 0.5]), 3, QUARTERS), arms[:3])
    assert star(np.array([0.5, 0.5]), 0, QUARTERS).shape == (0, 2)


def test_an_arm_that_would_leave_the_cube_turns_inwards_and_is_half_as_long():
    arms = star(np.array([0.9, 0.1]), 4, QUARTERS)
    assert_allclose(arms, [[0.775, 0.1], [0.9, 0.35], [0.65, 0.1], [0.9, 0.225]])


def test_a_star_goes_as_far_along_each_axis_as_the_region():
    arms = star(np.array([0.5, 0.5]), 4, np.array([0.1, 0.3]))
    assert_allclose(arms, [[0.6, 0.5], [0.5, 0.8], [0.4, 0.5], [0.5, 0.2]])


def radii_of(x0=None, guarded=False):
    """Radii of the first region in [-50, 50] x [-5, 5], for the default controls."""
    problem = meco.Problem("boxed", [-50.0, -5.0], [50.0, 5.0], 0, 0, lambda x: (x[..., 0], [], []))
    evaluator = Evaluator.on(problem, 10)
    given = None if x0 is None else evaluator.box.to_unit(np.array([x0]))
    return initial_radii(Task.of(evaluator, Streams([1]), given), guarded, 0.25, 0.5)


def test_without_x0_the_first_region_is_a_share_of_the_box():
    assert_allclose(radii_of(), [0.25, 0.25])


def test_around_x0_the_first_region_follows_the_typical_length_of_each_variable():
    assert_allclose(radii_of([0.0, 0.0]), [LEAST_SHARE, 0.5 / 10.0])  # half of max(1, |x0|)
    assert_allclose(radii_of([20.0, 3.0]), [10.0 / 100.0, 1.5 / 10.0])
    assert_allclose(radii_of([-50.0, 5.0]), [0.25, 0.25])  # and never more than without x0


def test_a_search_that_only_models_can_keep_inside_begins_small():
    assert_allclose(radii_of([20.0, 3.0], guarded=True), GUARDED_RADIUS)


@pytest.mark.parametrize("centre", [0.0, 0.2, 0.25, 0.75, 1.0])
def test_no_two_points_of_a_star_coincide(centre):
    arms = star(np.full(3, centre), 6, np.full(3, 0.25))
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
