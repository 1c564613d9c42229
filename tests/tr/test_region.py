"""How a step is judged, and what becomes of the radius: cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from meco.tr.region import (
    FAR,
    FIRST,
    GEOMETRY,
    GROWTH,
    NARROWEST,
    RESTART,
    SHRINKAGE,
    STEP,
    WIDEST,
    Judgement,
    judged,
    next_turn,
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
    verdict = judged(*(np.array([v]) for v in (10.0, then, foreseen, 0.0, 1.0)))
    assert (bool(verdict.good[0]), bool(verdict.poor[0])) == (good, poor)


def test_a_judgement_does_not_know_units():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 50))
    for one, other in zip(judged(*values), judged(*(2.0**30 * values))):
        assert_array_equal(one, other)


def after(delta, good=False, poor=False, held=False, width=1.0, farthest=0.0, dim=4):
    verdict = Judgement(np.array([good]), np.array([poor]), np.array([held]))
    radius, turn = next_turn(np.array([delta]), verdict, np.array([width]), np.array([farthest]), NARROWEST, dim)
    return float(radius[0]), int(turn[0])


def test_a_good_step_to_the_border_widens_the_region_up_to_half_the_cube():
    assert after(0.1, good=True) == (0.1 * GROWTH, STEP)
    assert after(0.1, good=True, width=0.5) == (0.1, STEP)
    assert after(0.4, good=True) == (WIDEST, STEP)


def test_a_poor_step_shrinks_the_region_unless_its_points_lie_far():
    limit = FAR * 0.1 * math.sqrt(4)
    assert after(0.1, poor=True, farthest=0.99 * limit) == (0.1 * SHRINKAGE, STEP)
    assert after(0.1, poor=True, farthest=1.01 * limit) == (0.1, GEOMETRY)


def test_a_step_that_margins_hold_back_shrinks_the_region():
    assert bool(judged(*(np.array([v]) for v in (10.0, 9.0, 1.0, 1.5, 1.0))).held[0])
    assert not bool(judged(*(np.array([v]) for v in (10.0, 9.0, 1.0, 0.5, 1.0))).held[0])
    assert after(0.1, held=True) == (0.1 * SHRINKAGE, STEP)


def test_a_step_that_is_neither_changes_nothing():
    assert after(0.1, farthest=9.0) == (0.1, STEP)


def test_a_region_that_has_become_too_small_starts_again():
    assert after(1.5 * NARROWEST, poor=True)[1] == RESTART
    assert after(2.0 * NARROWEST, poor=True)[1] == STEP
    steps = math.log(NARROWEST / FIRST) / math.log(SHRINKAGE)
    assert 24 < steps < 25  # poor steps that end a start
