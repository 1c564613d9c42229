"""How a step changes the radius, and how curvature changes the widths: cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr_single.options import Options
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.region import Prediction, Region, Source

LIMITS = (1e-6, 0.5)
OPTIONS = Options()
STEP, GEOMETRY, RESTART = Source


def region_of(bend, radius=0.1, width=None, most=np.inf, slope=1.0):
    """A region whose f has curvatures bend [D], and a constraint none."""
    bend = np.array(bend, dtype=float)
    dim = bend.size
    hessian = np.stack([np.diag(bend), np.zeros((dim, dim))])
    width = np.ones(dim) if width is None else np.array(width, dtype=float)
    return Region(
        np.full(dim, 0.5), radius, width, width, np.full(dim, most), Quadratic(np.full((2, dim), slope), hessian),
        np.zeros(1), np.array([np.inf]),
    )  # fmt: skip


def after(merits, decrease=8.0, radius=0.1, source=STEP, size=1.0, farthest=0.0, margin_cost=0.0):
    """Radius and next source after points with these merits; it was 10 at the centre."""
    region = region_of(np.zeros(4), radius)
    made = Prediction(
        source, 10.0, np.zeros(2), decrease, radius, size, farthest, f_change=1.0, margin_cost=margin_cost
    )
    region.update_radius(made, np.atleast_1d(merits), LIMITS, OPTIONS)
    return region.radius, region.next


@pytest.mark.parametrize(
    ("merit", "factor"),
    [
        (2.0, 2.5),  # as predicted
        (7.5, 2.5),  # 0.31 of the predicted decrease
        (7.7, 1.0),  # 0.29
        (9.1, 1.0),  # 0.11
        (9.3, 0.4),  # 0.09
        (10.0, 0.4),  # no decrease
        (11.0, 0.4),  # worse
        (math.inf, 0.4),  # failed
    ],
)
def test_the_ratio_of_decreases_sets_the_radius(merit, factor):
    assert_allclose(after(merit)[0], 0.1 * factor)


def test_a_good_step_enlarges_the_region_at_its_border_alone_and_up_to_a_limit():
    assert after(2.0, size=0.89)[0] == 0.1
    assert after(2.0, radius=0.4)[0] == 0.5


def test_a_poor_step_with_a_far_model_point_calls_for_a_geometry_point():
    limit = 2.0 * 0.1 * math.sqrt(4)
    assert after(11.0, farthest=1.01 * limit) == (0.1, GEOMETRY)
    assert after(11.0, farthest=0.99 * limit)[1] is STEP
    assert after(math.inf, farthest=1.01 * limit)[0] == pytest.approx(0.04)  # a failure says nothing about the models


def test_a_step_without_predicted_decrease_is_poor():
    assert after(9.0, decrease=-1.0)[0] == pytest.approx(0.04)
    assert after(10.0 - 1e-9, decrease=1e-9)[0] < 0.11


def test_a_step_that_margins_hold_back_shrinks_the_region():
    assert after(9.0, decrease=1.0, margin_cost=1.5, size=0.5)[0] == pytest.approx(0.04)
    assert after(9.0, decrease=1.0, margin_cost=0.5, size=0.5)[0] == 0.1


def test_a_poor_step_beside_a_better_point_leaves_the_radius():
    assert after([11.0, 9.9]) == (0.1, STEP)
    assert after([11.0, 10.1])[0] == pytest.approx(0.04)


@pytest.mark.parametrize("source", [GEOMETRY, RESTART])
def test_geometry_points_and_restarts_leave_the_radius(source):
    assert after(11.0, source=source) == (0.1, STEP)


def test_a_region_below_the_restart_radius_restarts():
    assert after(11.0, radius=2.4e-6)[1] is RESTART
    assert after(11.0, radius=2.6e-6)[1] is STEP


def shaped(region, times, rate=0.5):
    for _ in range(times):
        region.follow_curvature(Options(shaping=rate))
    return region.width


def test_a_variable_along_which_all_functions_are_linear_gets_wider():
    found = shaped(region_of([4.0, 4.0, 0.0]), 1, rate=0.1)
    assert found[2] > 1.0 > found[0]
    assert_allclose(np.prod(found), 1.0)


def test_widths_become_the_inverse_roots_of_the_curvatures():
    found = shaped(region_of([4.0, 1.0]), 200)
    assert_allclose(found[1] / found[0], 2.0, rtol=1e-6)


@pytest.mark.parametrize("bend", [[1e9, 1.0, 0.0], [0.0, 1e-9, 1.0]])
def test_widths_change_by_a_factor_of_three_at_most(bend):
    first = np.array([1.0, 0.3, 0.05])
    share = shaped(region_of(bend, width=first), 100) / first
    assert_allclose([share.min(), share.max()], [1.0 / 3.0, 3.0])


@pytest.mark.parametrize("bend", [[0.0, 0.0], [3.0, 12.0]])
def test_equal_curvature_across_the_region_leaves_the_widths(bend):
    assert_allclose(shaped(region_of(bend, width=[1.0, 0.5]), 5), [1.0, 0.5])


@pytest.mark.parametrize("size", [1e-100, 1e100])
@np.errstate(all="ignore")
def test_widths_have_no_units(size):
    plain, scaled = region_of([4.0, 1.0, 0.0]), region_of([4.0 * size, size, 0.0], slope=size)
    assert_allclose(shaped(scaled, 3), shaped(plain, 3), rtol=1e-9)


def test_the_region_stays_within_its_largest_width():
    here = region_of([0.0, 0.0], radius=4.0, width=[1.0, 0.1])
    assert_allclose(here.reach, [4.0, 0.4])
    here.most = np.ones(2)
    assert_allclose(here.reach, [1.0, 0.4])


def test_model_errors_are_the_newest_or_half_of_the_last():
    region = region_of([0.0, 0.0])
    made = Prediction(STEP, value=np.array([0.0, 1.0]), radius=0.1)
    for c, error in ((1.5, 50.0), (1.1, 25.0), (1.1, 12.5), (1.1, 10.0), (np.nan, 10.0)):
        region.update_errors(made, np.array([c]))
        assert_allclose(region.error, error)


def test_a_restart_forgets_models_and_multipliers():
    region = region_of([1.0, 1.0], radius=1e-7)
    region.error, region.multipliers, region.next = np.ones(1), np.ones(1), RESTART
    region.begin_again(OPTIONS)
    assert (region.radius, region.restart, region.next) == (0.4, 1, STEP)
    assert not region.models.gradient.any()
    assert_array_equal(region.multipliers, 0.0)
    assert np.isinf(region.error).all()
