"""Rewards: hand-computed values, a slow implementation, and the limits they keep."""

from __future__ import annotations

import array_api_compat.torch as torch_xp
import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from meco.core.arrays import to_numpy
from meco.errors import UnknownName
from meco.paper.reward import (
    REWARDS,
    ReferenceObjective,
    StepSummary,
    objective_gain,
    reward_function,
    violation_gain,
)
from meco.paper.state import Reference

LIBRARIES = pytest.mark.parametrize("xp", [array_api_strict, torch_xp], ids=["strict", "torch"])


def reference(f_best, f_worst, f_min, nu_bar):
    values = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (f_best, f_worst, f_min, nu_bar))
    first = list(values)
    return Reference.of(*first, f_reward=first[0])


def moment(f_best, nu_bar, score=1.0):
    return StepSummary(*(np.atleast_1d(np.asarray(v, float)) for v in (f_best, nu_bar, score, 160.0)))


FIRST = reference(f_best=100.0, f_worst=300.0, f_min=50.0, nu_bar=8.0)
BEFORE, AFTER = moment(80.0, 4.0, 100.0), moment(70.0, 2.0, 60.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("r1", 10 / 60),  # (80 - 70) / (100 - 40)
        ("r2", 2 / 8),
        ("r1+r2", 10 / 60 + 2 / 8),
        ("full", ((1 - 2 / 8) * 10 / 60 + 2 / 8) / 2),
        ("score", 40 / 160),
    ],
)
def test_rewards_equal_hand_computed_values(name, expected):
    assert reward_function(name)(BEFORE, AFTER, FIRST, np.array([40.0]))[0] == pytest.approx(expected, rel=1e-14)


def slow_reward(name, before, after, first, known):
    """Eqs. 7 and 8 with the limits, one run in plain Python."""
    scale = max(first[0] - known, 1e-3 * (first[1] - first[2]), 1e-8)
    r1 = min(1.0, max(-1.0, (before[0] - after[0]) / scale))
    nu0 = max(first[3], 1e-8)
    r2 = min(1.0, max(-1.0, (before[1] - after[1]) / nu0))
    omega = min(1.0, after[1] / nu0)
    score = min(1.0, max(-1.0, (before[2] - after[2]) / max(abs(before[3]), 1e-8)))
    return {"r1": r1, "r2": r2, "r1+r2": r1 + r2, "full": ((1 - omega) * r1 + r2) / 2, "score": score}[name]


@pytest.mark.parametrize("name", REWARDS)
def test_rewards_equal_the_slow_implementation(name):
    rng = np.random.default_rng(2)
    n = 200
    f_best, spread = rng.normal(0, 50, n), rng.exponential(30, n)
    nu0 = rng.exponential(5, n) * (rng.random(n) < 0.8)
    first = (f_best, f_best + spread, f_best - rng.exponential(10, n), nu0)
    first_score = rng.normal(0, 40, n)
    before, after = [
        (f_best + rng.normal(0, 20, n), rng.exponential(5, n), rng.normal(0, 30, n), first_score) for _ in range(2)
    ]
    known = np.where(rng.random(n) < 0.2, np.inf, f_best - rng.normal(20, 20, n))
    r = reward_function(name)(StepSummary(*before), StepSummary(*after), Reference.of(*first, f_reward=first[0]), known)
    for b in range(n):
        pick = lambda values, b=b: [v[b] for v in values]  # noqa: E731
        assert r[b] == pytest.approx(slow_reward(name, pick(before), pick(after), pick(first), known[b]), abs=1e-12)


def test_the_floor_keeps_the_objective_term_from_exploding():
    """f~* just below f_best(0): without a floor one step would count a million."""
    r1 = objective_gain(moment(100.0, 1), moment(99.9, 1), FIRST, np.array([100.0 - 1e-7]))
    assert r1[0] == pytest.approx(0.1 / 0.25)  # a thousandth of 300 - 50
    assert objective_gain(moment(0, 1), moment(1e9, 1), FIRST, np.array([np.inf]))[0] == -1.0


def test_without_initial_violation_any_violation_counts_fully():
    start = reference(1.0, 2.0, 1.0, 0.0)
    assert violation_gain(moment(1, 0.0), moment(1, 3.0), start)[0] == -1.0
    assert violation_gain(moment(1, 0.0), moment(1, 0.0), start)[0] == 0.0


def test_a_step_from_a_population_that_failed_as_a_whole_is_worth_nothing():
    nothing = moment(np.nan, np.nan, np.nan)
    for name in REWARDS:
        assert reward_function(name)(nothing, AFTER, FIRST, np.array([40.0]))[0] == 0.0


@LIBRARIES
@pytest.mark.parametrize("name", REWARDS)
def test_rewards_run_on_every_array_library(name, xp):
    def moved(values):
        return type(values)(*(moved(v) if isinstance(v, tuple) else xp.asarray(v) for v in values))

    ours = reward_function(name)(BEFORE, AFTER, FIRST, np.array([40.0]))
    theirs = reward_function(name)(moved(BEFORE), moved(AFTER), moved(FIRST), xp.asarray(np.array([40.0])))
    assert_allclose(to_numpy(theirs), ours, rtol=1e-14)


def test_an_unknown_reward_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'r1'"):
        reward_function("r11")


def test_the_reference_objective_is_the_least_that_ended_episodes_stored():
    known = ReferenceObjective()
    assert known.look_up(["C01", "C02"]).tolist() == [np.inf, np.inf]
    known.update(["C01", "C02"], np.array([5.0, np.nan]))
    known.update(["C01"], np.array([7.0]))
    assert known.look_up(["C02", "C01"]).tolist() == [np.inf, 5.0]
