"""How a step is judged, and what becomes of the radius: cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco.tr.region import (
    FAR_RADII,
    INITIAL_RADIUS,
    MAX_RADIUS,
    MIN_RADIUS,
    RADIUS_GROWTH,
    RADIUS_SHRINKAGE,
    Source,
    StepVerdict,
    judge_step,
    update_radius,
)


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
    verdict = judge_step(*(np.array([v]) for v in (10.0, then, foreseen, 0.0, 1.0)))
    assert (bool(verdict.good[0]), bool(verdict.poor[0])) == (good, poor)


def test_a_judgement_does_not_know_units():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 50))
    for one, other in zip(judge_step(*values), judge_step(*(2.0**30 * values))):
        assert_array_equal(one, other)


def after(delta, good=False, poor=False, limited=False, width=1.0, farthest=0.0, dim=4):
    verdict = StepVerdict(np.array([good]), np.array([poor]), np.array([limited]))
    radius, source = update_radius(np.array([delta]), verdict, np.array([width]), np.array([farthest]), MIN_RADIUS, dim)
    return float(radius[0]), int(source[0])


def test_a_good_step_to_the_border_widens_the_region_up_to_half_the_cube():
    assert after(0.1, good=True) == (0.1 * RADIUS_GROWTH, Source.STEP)
    assert after(0.1, good=True, width=0.5) == (0.1, Source.STEP)
    assert after(0.4, good=True) == (MAX_RADIUS, Source.STEP)


def test_a_poor_step_shrinks_the_region_unless_its_points_lie_far():
    limit = FAR_RADII * 0.1 * math.sqrt(4)
    assert after(0.1, poor=True, farthest=0.99 * limit) == (0.1 * RADIUS_SHRINKAGE, Source.STEP)
    assert after(0.1, poor=True, farthest=1.01 * limit) == (0.1, Source.GEOMETRY)


def test_a_step_that_margins_hold_back_shrinks_the_region():
    assert bool(judge_step(*(np.array([v]) for v in (10.0, 9.0, 1.0, 1.5, 1.0))).limited[0])
    assert not bool(judge_step(*(np.array([v]) for v in (10.0, 9.0, 1.0, 0.5, 1.0))).limited[0])
    assert after(0.1, limited=True) == (0.1 * RADIUS_SHRINKAGE, Source.STEP)


def test_a_step_that_is_neither_changes_nothing():
    assert after(0.1, farthest=9.0) == (0.1, Source.STEP)


def test_a_region_that_has_become_too_small_starts_again():
    assert after(1.5 * MIN_RADIUS, poor=True)[1] == Source.RESTART
    assert after(2.0 * MIN_RADIUS, poor=True)[1] == Source.STEP
    steps = math.log(MIN_RADIUS / INITIAL_RADIUS) / math.log(RADIUS_SHRINKAGE)
    assert 24 < steps < 25  # poor steps that end a start
