"""Noise: found out, averaged, and a probability in the result."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco.answer.noise import choose_noisy_answer
from meco.evaluations import Evaluations


def noisy_bowl(seed, size=0.05):
    rng = np.random.default_rng(seed)

    def fun(x):
        return float(x @ x) + size * rng.standard_normal(), [1.0 - x[0] + 0.4 * size * rng.standard_normal()]

    return fun


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
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


LEVELS = {"a number": 0.05, "a list": [0.05, 0.02], "by name": {"f": 0.05, "reach": 0.02}}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_a_level_of_noise_may_be_told(level):
    fun = noisy_bowl(4)
    result = meco.minimize(
        lambda x: (lambda f, g: (f, {"reach": g[0]}))(*fun(x)), [(-2, 3)] * 2, budget=60, seed=1, noise=level
    )
    assert result.repeated["calls"] >= 3
    assert result.repeated["spread"] == pytest.approx(0.05)  # what was told, not what few calls show
    assert result.repeated["constraint_spread"][0] == pytest.approx(0.05 if level == 0.05 else 0.02)
    assert result.x[0] >= 0.95


def test_a_level_of_nothing_is_no_noise():
    def fun(x):
        return float(x @ x), [1.0 - x[0]]

    results = [meco.minimize(fun, [(-2, 3)] * 2, budget=40, seed=1, noise=n) for n in (False, 0.0, [0.0, 0.0])]
    for other in results[1:]:
        assert_array_equal(other.evaluations.x, results[0].evaluations.x)


def test_levels_of_constraints_that_are_not_there_are_refused():
    for noise, said in (({"f": 0.1, "raech": 0.1}, "raech"), ([0.1], "noise has 1 values, but there are 2")):
        with pytest.raises(meco.errors.InvalidInput, match=said):
            meco.minimize(
                lambda x: (float(x @ x), {"reach": 1.0 - x[0]}), [(-2, 3)] * 2, budget=40, seed=1, noise=noise
            )


def with_errors(x, rng, size=0.05):
    f, g = float(x @ x) + size * rng.standard_normal(), 1.0 - x[0] + size * rng.standard_normal()
    return {"f": f, "g": {"reach": g}, "se": {"f": size, "reach": size}}


def test_a_function_may_tell_standard_errors_with_each_answer():
    rng = np.random.default_rng(6)
    result = meco.minimize(lambda x: with_errors(x, rng), [(-2, 3)] * 2, budget=60, seed=1)
    assert result.repeated["spread"] == pytest.approx(0.05)
    assert result.probability is not None


def test_standard_errors_that_do_not_fit_are_no_answer():
    for said, se in (("2 numbers", [0.1]), ("no name", {"reech": 0.1}), ("0 or more", [0.1, -1.0])):
        result = meco.minimize(
            lambda x, se=se: {"f": 1.0, "g": {"reach": 0.0}, "se": se}, [(-2, 3)] * 2, budget=5, seed=1,
            on_error="penalize",
        )  # fmt: skip
        assert result.run.nfail == 5
        assert said in result.message


def ask_and_tell(search, rng, until):
    while not search.done and search.result.nfev < until:
        for x in search.ask():
            told = with_errors(x, rng)
            search.tell(x, told["f"], [told["g"]["reach"]], se=[0.05, 0.05])


def test_told_errors_are_part_of_the_state_of_an_optimizer():
    one, rng = meco.Optimizer([(-2, 3)] * 2, n_ineq=1, budget=60, seed=1), np.random.default_rng(7)
    ask_and_tell(one, rng, 30)
    other, draws = meco.Optimizer.from_state(one.state()), np.random.default_rng()
    draws.bit_generator.state = rng.bit_generator.state
    ask_and_tell(one, rng, 61)
    ask_and_tell(other, draws, 61)
    assert one.result.repeated["spread"] == pytest.approx(0.05)
    assert_array_equal(other.result.evaluations.x, one.result.evaluations.x)
    assert other.result.probability == one.result.probability


def test_told_errors_are_in_the_run_folder(tmp_path):
    kw = {"budget": 60, "seed": 1}
    rng = np.random.default_rng(8)
    whole = meco.minimize(lambda x: with_errors(x, rng), [(-2, 3)] * 2, **kw)
    rng, calls = np.random.default_rng(8), []

    def counted(x):
        calls.append(x)
        return with_errors(x, rng)

    meco.minimize(counted, [(-2, 3)] * 2, checkpoint=tmp_path, callback=lambda r: len(calls) > 30, **kw)
    again = meco.minimize(counted, [(-2, 3)] * 2, checkpoint=meco.Checkpoint(tmp_path, resume=True), **kw)
    assert_array_equal(again.evaluations.x, whole.evaluations.x)
    assert again.probability == whole.probability


def test_equalities_are_judged_by_their_means_and_the_message_says_so():
    rng = np.random.default_rng(9)

    def fun(x):
        return float(x @ x), [], [x[0] - 1.0 + 0.02 * rng.standard_normal()]

    result = meco.minimize(fun, [(-2, 3)] * 2, budget=60, seed=1, noise=[0.0, 0.02])
    assert result.success
    assert abs(result.x[0] - 1.0) < 0.05
    assert "Equalities are judged by their means" in result.message
