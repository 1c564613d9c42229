"""Noise: found out, averaged, and a probability in the result."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.evaluations import Evaluations
from meco.run.noisy_answer import choose_noisy_answer


def noisy_bowl(seed, size=0.05):
    rng = np.random.default_rng(seed)

    def fun(x):
        return float(x @ x) + size * rng.standard_normal(), [1.0 - x[0] + 0.4 * size * rng.standard_normal()]

    return fun


@pytest.mark.parametrize("seed", [0, 1])
def test_success_of_a_noisy_run_is_true(seed):
    result = meco.minimize(noisy_bowl(seed), [(-2, 3)] * 3, budget=120, seed=seed, noise=True)
    assert result.probability is not None
    assert result.success == (result.probability >= 0.95)
    assert result.x[0] >= 1.0 or not result.success
    assert float(result.x @ result.x) < 1.2
    assert "standard error" in result.message


def test_noise_is_found_out():
    result = meco.minimize(noisy_bowl(2), [(-2, 3)] * 2, budget=150, seed=1)
    assert result.probability is not None


def test_a_function_without_noise_has_no_probability_and_no_call_is_repeated():
    result = meco.minimize(lambda x: (float(x @ x), [1.0 - x[0]]), [(-2, 3)] * 2, budget=120, seed=1)
    assert result.probability is None
    assert len(np.unique(result.evaluations.x, axis=0)) == 120


def test_a_rough_function_costs_at_most_one_call():
    def steps(x):
        return float(np.floor(50 * x @ x) / 50 + 0.01 * np.sin(1e6 * x.sum()))

    left, told = (meco.minimize(steps, [(-2, 3)] * 2, budget=120, seed=1, noise=n) for n in (None, False))
    repeated = 120 - len(np.unique(left.evaluations.x, axis=0))
    assert repeated <= 1
    assert len(np.unique(told.evaluations.x, axis=0)) == 120
    assert left.probability is None


def test_where_nothing_is_noisy_the_points_are_those_without_the_feature():
    def fun(x):
        return float(x @ x + x[0] ** 4), [1.0 - x.sum()]

    left, told = (meco.minimize(fun, [(-2, 3)] * 3, budget=90, seed=2, noise=n) for n in (None, False))
    assert_array_equal(left.evaluations.x, told.evaluations.x)


def test_a_noisy_run_is_resumed_bit_for_bit(tmp_path):
    whole = meco.minimize(noisy_bowl(5), [(-2, 3)] * 2, budget=70, seed=3, noise=True)
    fun, calls = noisy_bowl(5), []

    def counted(x):
        calls.append(x)
        return fun(x)

    kw = {"budget": 70, "seed": 3, "noise": True}
    meco.minimize(counted, [(-2, 3)] * 2, checkpoint=tmp_path, callback=lambda r: len(calls) > 40, **kw)
    again = meco.minimize(counted, [(-2, 3)] * 2, checkpoint=meco.Checkpoint(tmp_path, resume=True), **kw)
    assert_array_equal(again.evaluations.x, whole.evaluations.x)
    assert again.probability == whole.probability


def test_the_probability_is_that_of_the_means():
    g = np.array([-1.0, -3.0, -2.0, 5.0])
    flags = np.zeros(4, dtype=bool)
    x = np.array([[0.0], [0.0], [0.0], [1.0]])
    every = Evaluations(x, np.array([1.0, 1.2, 1.1, 0.0]), g[:, None], np.zeros((4, 0)), flags, flags, flags,
                        np.zeros(4, int), np.zeros(4, int))  # fmt: skip
    found = choose_noisy_answer(every, (0.0, 0.0))
    assert found.calls == 3
    assert found.point.g[0] == -2.0
    assert found.probability == pytest.approx(0.9972, abs=1e-3)  # Phi(2 / (1.25 / sqrt(3)))
