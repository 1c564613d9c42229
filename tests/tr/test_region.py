"""How a step is judged, and what becomes of the radius: cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import default_values

from meco.tr.merit import Weights
from meco.tr.quadratic import Quadratic
from meco.tr.region import (
    MAX_RADIUS,
    MAX_STRETCH,
    PointSource,
    Region,
    StepVerdict,
    judge_step,
    shape_region,
    update_radius,
)

GROWTH, SHRINKAGE, FAR_RADII, RESTART_RADIUS = 2.5, 0.4, 2.0, 1e-6
VALUES = default_values(
    good_ratio=0.7, poor_ratio=0.1, radius_growth=GROWTH, radius_shrinkage=SHRINKAGE, far_radii=FAR_RADII
)


def judged(now, then, foreseen, margin_cost, f_change):
    return judge_step(*(np.array([v]) for v in (now, then, foreseen, margin_cost, f_change)), VALUES)


@pytest.mark.parametrize(
    ("then", "foreseen", "good", "poor"),
    [
        (2.0, 8.0, True, False),  # 8 of 8 foreseen
        (4.0, 8.0, True, False),  # 6 of 8 are more than 0.7
        (6.0, 8.0, False, False),  # 4 of 8: neither
        (9.5, 8.0, False, True),  # 0.5 of 8 are less than 0.1
        (11.0, 8.0, False, True),  # it got worse
        (10.0, 8.0, False, True),  # nothing happened
        (9.0, -1.0, False, True),  # better although it should have got worse: the models are wrong
        (9.0, 1e-9, True, True),  # better than foreseen, but hardly anything was: both, and the region shrinks a little
        (np.inf, 8.0, False, False),  # it failed: the fence is for that, not the radius
    ],
)
def test_a_step_from_merit_ten_is_judged_by_what_was_foreseen(then, foreseen, good, poor):
    verdict = judged(10.0, then, foreseen, 0.0, 1.0)
    assert (bool(verdict.good[0]), bool(verdict.poor[0])) == (good, poor)


def test_a_judgement_does_not_know_units():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 50))
    for one, other in zip(judge_step(*values, VALUES), judge_step(*(2.0**30 * values), VALUES)):
        assert_array_equal(one, other)


def after(delta, good=False, poor=False, limited=False, size=1.0, farthest=0.0, dim=4):
    verdict = StepVerdict(np.array([good]), np.array([poor]), np.array([limited]))
    numbers = (np.array([v]) for v in (size, farthest, RESTART_RADIUS, MAX_RADIUS))
    radius, source = update_radius(np.array([delta]), verdict, *numbers, dim, VALUES)
    return float(radius[0]), int(source[0])


def test_a_good_step_to_the_border_widens_the_region_up_to_half_the_cube():
    assert after(0.1, good=True) == (0.1 * GROWTH, PointSource.STEP)
    assert after(0.1, good=True, size=0.5) == (0.1, PointSource.STEP)
    assert after(0.4, good=True) == (MAX_RADIUS, PointSource.STEP)


def test_a_poor_step_shrinks_the_region_unless_its_points_lie_far():
    limit = FAR_RADII * 0.1 * math.sqrt(4)
    assert after(0.1, poor=True, farthest=0.99 * limit) == (0.1 * SHRINKAGE, PointSource.STEP)
    assert after(0.1, poor=True, farthest=1.01 * limit) == (0.1, PointSource.GEOMETRY)


def test_a_step_that_margins_hold_back_shrinks_the_region():
    assert bool(judged(10.0, 9.0, 1.0, 1.5, 1.0).limited[0])
    assert not bool(judged(10.0, 9.0, 1.0, 0.5, 1.0).limited[0])
    assert after(0.1, limited=True) == (0.1 * SHRINKAGE, PointSource.STEP)


def test_a_step_that_is_neither_changes_nothing():
    assert after(0.1, farthest=9.0) == (0.1, PointSource.STEP)


def test_a_region_that_has_become_too_small_starts_again():
    assert after(2.4 * RESTART_RADIUS, poor=True)[1] == PointSource.RESTART
    assert after(2.6 * RESTART_RADIUS, poor=True)[1] == PointSource.STEP
    given = default_values()
    steps = np.log(given.restart_radius / given.initial_radius) / np.log(given.radius_shrinkage)
    assert 14 < steps[0] < 15  # poor steps that end a start


def region_of(bend, delta=0.1, width=None, most=np.inf, slope=1.0):
    """One run whose f has curvatures bend [D] and a constraint none at all."""
    bend = np.array(bend, dtype=float)
    dim = bend.size
    gradient, hessian = np.full((1, 2, dim), slope), np.zeros((1, 2, dim, dim))
    hessian[0, 0] = np.diag(bend)
    none = np.zeros((1, 1))
    return Region(
        centre=np.full((1, dim), 0.5),
        delta=np.array([delta]),
        width=np.ones((1, dim)) if width is None else np.array([width], dtype=float),
        models=Quadratic(gradient, hessian),
        multipliers=none,
        weights=Weights.free(none, none, none),
        next_source=np.array([PointSource.STEP]),
        restart_index=np.array([0]),
        error=none + np.inf,
        most=np.full((1, dim), most),
    )


def shaped(region, times, rate=0.5, first=None):
    """Widths [D] after so many fits of the same models."""
    first = region.width if first is None else np.array([first])
    for _ in range(times):
        region = region._replace(width=shape_region(region, first, np.array([rate])))
    return region.width[0]


def test_a_variable_along_which_every_function_is_linear_gets_wider():
    found = shaped(region_of([4.0, 4.0, 0.0]), 1, rate=0.1)
    assert found[2] > 1.0
    assert_allclose(found[:2], found[0])
    assert found[0] < 1.0
    assert_allclose(np.prod(found), 1.0)  # the others get narrower: the radius alone says how large a region is


def test_widths_become_the_inverse_roots_of_the_curvatures():
    found = shaped(region_of([4.0, 1.0]), 200)
    assert_allclose(found[1] / found[0], 2.0, rtol=1e-6)


def test_a_fit_turns_a_width_by_a_factor_of_two_at_most():
    found = shaped(region_of([1.0, 0.0]), 1, rate=1.0)
    assert_allclose(found, [0.5, 2.0])


def test_widths_stay_near_the_first_ones():
    first = [1.0, 0.3, 0.05]
    for bend in ([1e9, 1.0, 0.0], [0.0, 1e-9, 1.0]):
        share = shaped(region_of(bend, width=first), 100, first=first) / first
        assert np.all((share >= 1.0 / MAX_STRETCH - 1e-12) & (share <= MAX_STRETCH + 1e-12))
        assert_allclose([share.min(), share.max()], [1.0 / MAX_STRETCH, MAX_STRETCH])


@pytest.mark.parametrize("bend", [[0.0, 0.0], [3.0, 12.0]])
def test_where_no_variable_bends_more_across_the_region_than_another_widths_stay(bend):
    assert_allclose(shaped(region_of(bend, width=[1.0, 0.5]), 5), [1.0, 0.5])


def test_a_rate_of_zero_shapes_nothing():
    here = region_of([4.0, 0.0])
    assert_array_equal(shape_region(here, here.width, np.array([0.0])), here.width)


@np.errstate(all="ignore")
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e100, 1e300])
def test_widths_know_no_units(size):
    plain, scaled = region_of([4.0, 1.0, 0.0]), region_of([4.0 * size, size, 0.0], slope=size)
    assert_allclose(shaped(scaled, 3), shaped(plain, 3), rtol=1e-9)


def test_a_region_goes_as_far_as_its_radius_and_width_and_not_beyond_what_it_may():
    here = region_of([0.0, 0.0], delta=4.0, width=[1.0, 0.1])
    assert_allclose(here.reach, [[4.0, 0.4]])
    assert_allclose(here._replace(most=np.array([[1.0, 1.0]])).reach, [[1.0, 0.4]])
