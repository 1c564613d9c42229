"""The answer of a noisy run: the best by probability and mean, however often a search called other points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.answer.confirm import best_confirmed_point, point_to_call
from meco.answer.noise import SURE_ERRORS, average_calls, choose_noisy_answer
from meco.evaluations import Evaluations
from meco.result import describe_doubt, is_feasible_in_mean
from noisy_problems import PRESS, doubtful, noisy_press

EXACT = (0.0, 0.0)


def calls_of(*points):
    """Evaluations of one variable: (x, f, mean of g, calls); the calls of a point differ by 0.2 in turns."""
    x, f, c = [], [], []
    for at, value, mean, count in points:
        swing = [0.1, -0.1] * (count // 2) + [0.0] * (count % 2)
        x += [[at]] * count
        f += [value] * count
        c += [[mean + s] for s in swing]
    flags = np.zeros(len(x), dtype=bool)
    numbers = np.zeros(len(x), dtype=int)
    return Evaluations(
        np.array(x), np.array(f), np.array(c), np.zeros((len(x), 0)), flags, (np.array(c) <= 0.0).all(axis=1), flags,
        numbers, numbers,
    )  # fmt: skip


def test_a_point_that_was_called_often_and_violates_is_not_the_answer():
    found = choose_noisy_answer(calls_of((0.0, 1.0, 0.7, 24), (1.0, 2.0, -0.5, 6), (2.0, 3.0, -0.5, 6)), EXACT)
    assert (found.point.x[0], found.calls, found.point.feasible) == (1.0, 6, True)
    assert found.probability > 0.95


def test_a_point_that_was_called_often_and_is_not_sure_does_not_hide_one_that_is():
    found = choose_noisy_answer(calls_of((0.0, 1.0, -0.01, 24), (1.0, 2.0, -0.5, 6)), EXACT)
    assert (found.point.x[0], found.point.feasible) == (1.0, True)


def test_of_sure_points_a_mean_of_few_calls_is_no_better():
    found = choose_noisy_answer(calls_of((0.0, 1.0, -0.5, 2), (1.0, 2.0, -0.5, 6)), EXACT)
    assert found.point.x[0] == 1.0


def test_where_none_is_feasible_the_likeliest_is_the_answer_and_of_hopeless_ones_that_of_least_violation():
    found = choose_noisy_answer(calls_of((0.0, 1.0, 0.3, 24), (1.0, 2.0, 0.02, 6)), EXACT)
    assert (found.point.x[0], found.point.feasible) == (1.0, False)
    found = choose_noisy_answer(calls_of((0.0, 1.0, 900.0, 4), (1.0, 2.0, 700.0, 4)), EXACT)
    assert (found.point.x[0], found.probability) == (1.0, 0.0)


def test_before_anything_feasible_was_confirmed_single_calls_count_and_many_of_them_for_less():
    violates = (0.0, 1.0, 0.7, 8)
    alone = choose_noisy_answer(calls_of(violates, (1.0, 2.0, -0.2, 1)), EXACT)
    several = choose_noisy_answer(calls_of(violates, *((1.0 + k, 2.0, -0.2, 1) for k in range(20))), EXACT)
    assert (alone.point.feasible, several.point.feasible) == (True, False)
    assert several.probability == pytest.approx(alone.probability**20)
    assert several.point.x[0] >= 1.0
    far = choose_noisy_answer(calls_of(violates, *((1.0 + k, 2.0 + k, -5.0, 1) for k in range(20))), EXACT)
    assert (far.point.x[0], far.point.feasible) == (1.0, True)


@pytest.mark.parametrize("count", [1, 20])
def test_single_calls_are_judged_alike_whether_or_not_a_hopeless_point_was_called_again(count):
    once = [(1.0 + k, 2.0, -0.2, 1) for k in range(count)]
    told = np.array([0.0, 0.1])
    alone = choose_noisy_answer(calls_of(*once), EXACT, told)
    beside = choose_noisy_answer(calls_of((0.0, 1.0, 0.7, 8), *once), EXACT, told)
    assert alone.probability == beside.probability == pytest.approx(0.97725**count, rel=1e-4)
    assert alone.point.feasible == beside.point.feasible == (count == 1)


def test_of_single_calls_that_keep_no_limit_the_likeliest_is_the_answer():
    found = choose_noisy_answer(calls_of((0.0, 1.0, 0.3, 1), (1.0, 2.0, 0.1, 1)), EXACT, np.array([0.0, 0.1]))
    assert (found.point.x[0], found.point.feasible) == (1.0, False)


def test_of_points_whose_bounds_underflow_the_likeliest_is_the_answer():
    once = [(1.0 + k, 2.0, -0.001, 1) for k in range(2000)]
    found = choose_noisy_answer(calls_of(*once, (0.0, 3.0, -0.003, 1)), EXACT, np.array([0.0, 0.1]))
    assert (found.point.x[0], found.probability) == (0.0, 0.0)


@pytest.mark.parametrize("seed", [9, 34])
def test_a_noisy_run_answers_with_what_it_confirmed(seed):
    result = meco.minimize(noisy_press(seed), PRESS, budget=120, seed=seed)
    assert result.maxcv == 0.0
    assert result.probability > 0.5
    again = [x for x, count in zip(*np.unique(result.evaluations.x, axis=0, return_counts=True)) if count > 1]
    assert any(np.array_equal(x, result.x) for x in again)


def test_a_noisy_run_that_is_stopped_before_its_last_calls_has_a_feasible_answer():
    def stop(result):
        return result.nfev >= 107

    result = meco.minimize(noisy_press(9), PRESS, budget=120, seed=9, callback=stop)
    assert result.maxcv == 0.0
    assert result.probability > 1e-6


def test_confirming_leaves_what_is_known_to_violate():
    every = calls_of((0.0, 1.0, 0.7, 6), (1.0, 2.0, -0.2, 1), (2.0, 3.0, -0.2, 1))
    assert point_to_call(every, EXACT, 4)[0] == 1.0
    none_kept = calls_of((0.0, 1.0, 0.7, 6), (1.0, 2.0, 0.9, 1))
    assert point_to_call(none_kept, EXACT, 4)[0] == 0.0


def test_a_confirmed_result_has_a_probability_where_calls_differ():
    every = calls_of((0.0, 1.0, 0.7, 24), (1.0, 2.0, -0.02, 6))
    found = best_confirmed_point(every, EXACT)
    assert (found.x[0], found.feasible) == (1.0, False)  # kept in the mean, but not surely
    assert 0.5 < found.probability < 0.95
    fun = noisy_press(1)
    again = meco.confirm(meco.minimize(fun, PRESS, budget=80, seed=1), fun, calls=40)
    assert again.success == (again.probability >= 0.95)
    assert " that x keeps the constraints" in again.message or " x is feasible in the mean" in again.message


def test_a_point_that_was_called_once_is_not_confirmed():
    found = best_confirmed_point(calls_of((0.0, 1.0, 0.7, 8), (1.0, 2.0, -0.2, 1)), EXACT)
    assert (found.x[0], found.calls, found.feasible) == (0.0, 8, False)
    assert found.spread[1] > 0.0


def test_calls_that_do_not_differ_are_confirmed_by_their_values():
    every = calls_of((0.0, 1.0, 0.7, 1), (1.0, 2.0, -0.2, 1))
    for _ in range(5):
        every = every.with_answer(np.array([0.0]), 1.0, np.array([0.7]), np.zeros(0), *EXACT)
    every = every.with_answer(np.array([1.0]), 2.0, np.array([-0.2]), np.zeros(0), *EXACT)
    found = best_confirmed_point(every, EXACT)
    assert (found.x[0], found.feasible, found.probability) == (1.0, True, None)


def test_what_is_feasible_in_the_mean_and_not_surely_is_called_that():
    result = meco.minimize(doubtful, [(0, 1)], method="SHADE", budget=10, seed=1)
    assert (result.success, result.status, result.maxcv) == (False, 1, 0.0)
    assert result.probability == pytest.approx(0.69146**10, rel=1e-3)
    assert "x is feasible in the mean, with probability 0.024, below the 0.95 that success asks for" in result.message
    assert "more calls would settle it" in result.message
    assert "The probability is a bound, as the best of many points that were called once is a" in result.message
    assert "o feasible point" not in result.message
    assert not any("no feasible answer" in limit.reason for limit in result.limits)


def test_a_probability_that_underflows_leaves_a_result_that_is_feasible_in_the_mean():
    rng = np.random.default_rng(1)
    x = np.r_[np.zeros((8, 1)), np.linspace(0.1, 1, 1200)[:, None]]
    f = np.r_[np.ones(8), 2 * np.ones(1200)]
    g = np.r_[900 + 0.1 * rng.normal(size=8), -1e-4 * np.ones(1200)][:, None]
    result = meco.minimize(lambda x: (1.0, [900 + 0.1 * rng.normal()]), [(0, 1)], evaluated=(x, f, g), budget=4, seed=1)
    assert (result.success, result.maxcv, result.fun) == (False, 0.0, 2.0)
    assert is_feasible_in_mean(result)
    assert "x is feasible in the mean, with probability 0.000" in result.message


def test_an_equality_that_is_off_in_the_mean_is_not_feasible_in_it():
    result = meco.minimize(
        lambda x: {"f": float(x[0]), "h": [0.5], "se": [0.1, 0.1]}, [(0, 1)], method="SHADE", budget=4, seed=1
    )
    assert (result.success, result.probability) == (False, 0.0)
    assert not is_feasible_in_mean(result)
    assert "(1 of 1 violated, worst: h1 by 0.5 in the mean)" in result.message


def test_a_probability_below_the_asked_one_never_reads_as_it():
    assert "0.949, below the 0.95" in describe_doubt(0.94999)


def test_a_noisy_answer_that_violates_says_what_and_by_how_much_in_the_mean():
    rng = np.random.default_rng(1)
    result = meco.minimize(
        lambda x: (float(x @ x), {"reach": 5.0 - x[0] + 0.01 * rng.normal()}), [(-2, 2)] * 2, budget=60, seed=1,
        noise=True,
    )  # fmt: skip
    assert not is_feasible_in_mean(result)
    assert "No feasible point was found; this x is the likeliest to keep the constraints" in result.message
    assert "(1 of 1 violated, worst: reach by 2.99" in result.message
    assert "in the mean)" in result.message
    assert {limit.reason for limit in result.limits if not limit.is_bound} == {"there is no feasible answer"}


def test_noise_that_was_told_is_no_difference_of_calls():
    result = meco.minimize(lambda x: (float(x @ x), [1.0 - x[0]]), [(-2, 3)] * 2, budget=60, seed=1, noise=0.01)
    assert "Calls of one point differ" not in result.message
    assert "With the noise that was told: of " in result.message


def test_a_result_while_the_run_goes_on_has_not_stopped():
    said = []
    meco.minimize(lambda x: float(x @ x), [(-2, 3)], budget=6, seed=1, callback=lambda r: said.append(r.message))
    assert all(" the run goes on." in message and "Stopped" not in message for message in said)
    assert said


@pytest.mark.parametrize("width", [1, 2, 9])
def test_only_points_called_again_have_means_of_their_own_and_pooling_says_the_same_to_the_last_bit(width):
    draw = np.random.default_rng(width)
    x = draw.permutation(np.repeat(np.arange(60.0), draw.integers(1, 4, 60)))
    g = draw.standard_normal((len(x), width))
    flags, numbers = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=int)
    kept = (g <= 0.0).all(axis=1)
    found = average_calls(
        Evaluations(x[:, None], g[:, 0], g, np.zeros((len(x), 0)), flags, kept, flags, numbers, numbers)
    )
    assert found.mean[1].shape == found.spread[1].shape == (np.count_nonzero(found.calls > 1), width)
    wide = np.zeros((len(found.x), width))
    wide[found.several] = found.spread[1]
    assert_array_equal(found.sum_over_points(found.spread[1]), wide.sum(axis=0))
    means = np.array([g[x == at].mean(axis=0) for at in found.x[:, 0]])
    np.testing.assert_allclose([found.mean_at(k)[0] for k in range(len(found.x))], means)
    assert_array_equal(found.feasible(EXACT), (means <= 0.0).all(axis=1))


def test_a_limit_that_is_passed_over_as_surely_kept_has_the_factor_one():
    assert 0.5 * math.erfc(-SURE_ERRORS / math.sqrt(2.0)) == 1.0
