"""Noise that the user or the function tells, for every family of methods."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Tolerances, Workers
from meco.errors import InvalidInput
from meco.run.answer import Answer, Fault, read_rows
from meco.run.layout import Answers
from small_runs import BOX, f_and_g, named, noted

FAMILIES = ("TR", "SHADE", "MA-ES")
MISFITS = {
    "a name": ({"raech": 0.1}, "did you mean 'reach'"),
    "a length": ([0.1], "noise has 1 values, but there are 4"),
}


@pytest.mark.parametrize(("noise", "words"), MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("method", FAMILIES)
def test_noise_of_no_constraint_is_refused_once_the_constraints_are_known(method, noise, words):
    fun = noted(named)
    with pytest.raises(InvalidInput, match=words) as refused:
        meco.minimize(fun, BOX, method=method, budget=60, seed=1, noise=noise)
    assert len(fun.seen) <= 3
    assert refused.value.result.nfev == len(fun.seen)  # what was called is not lost


@pytest.mark.parametrize("method", FAMILIES)
def test_a_tolerance_of_no_constraint_is_refused_as_early(method):
    fun = noted(named)
    with pytest.raises(InvalidInput, match="did you mean 'reach'") as refused:
        meco.minimize(fun, BOX, method=method, budget=60, seed=1, tolerances={"raech": 0.1})
    assert len(fun.seen) <= 3
    assert refused.value.result.nfev == len(fun.seen)


@pytest.mark.parametrize("noise", [{"raech": 0.1}, [0.1]], ids=["name", "length"])
def test_noise_that_does_not_fit_names_given_beforehand_is_refused_before_any_call(noise):
    fun = noted(f_and_g)
    with pytest.raises(InvalidInput, match="noise"):
        meco.minimize(fun, BOX, method="SHADE", budget=60, noise=noise, tolerances=Tolerances(names=["reach"]))
    assert not fun.seen
    with pytest.raises(InvalidInput, match="noise"):
        meco.Optimizer(BOX, n_ineq=1, budget=60, noise=noise)
    with pytest.raises(InvalidInput, match="noise"):
        meco.Optimizer(BOX, n_ineq=1, budget=60, noise=noise, cheap={"level": lambda x: x[0] - x[1]})


def test_noise_by_name_may_name_cheap_constraints():
    cheap = {"level": lambda x: x[0] - x[1]}
    assert meco.Optimizer(BOX, n_ineq=1, budget=60, noise={"g1": 0.1, "level": 0.2}, cheap=cheap).request.noise


def test_a_run_that_ends_before_names_are_checked_still_has_a_result():
    def partial_then_stop(x):
        if len(fun.seen) == 3:
            raise KeyboardInterrupt
        return {"g": {"reach": 1.0}}

    fun = noted(partial_then_stop)
    result = meco.minimize(fun, BOX, method="SHADE", budget=60, seed=1, noise=[0.1])
    assert (result.run.stop_reason, result.nfev) == ("interrupt", 2)
    assert "noise has 1 values, but there are 2" in result.message.lower()


def test_nothing_known_of_constraints_is_nothing_wrong_with_the_noise():
    result = meco.minimize(
        lambda x: np.nan, BOX, method="SHADE", budget=12, seed=1, noise=[0.1, 0.2], on_error="penalize"
    )
    assert (result.nfev, result.run.nfail) == (12, 12)
    assert "noise" not in result.message.lower()


def test_told_errors_are_pooled_by_number_whoever_finished_first():
    rng = np.random.default_rng(1)
    told = [Answer(1.0, np.zeros(1), g_names=("",), se=rng.lognormal(sigma=4.0, size=2)) for _ in range(200)]
    pooled = []
    for order in (range(200), reversed(range(200)), rng.permutation(200)):
        answers = Answers()
        answers.declare(1, 0)
        for n in order:
            answers.enter(int(n), 0, np.zeros(1), told[n])
        pooled.append(answers.pooled_errors())
    assert_array_equal(pooled[1], pooled[0])
    assert_array_equal(pooled[2], pooled[0])
    assert_allclose(pooled[0] ** 2, np.mean([answer.se**2 for answer in told], axis=0))


def test_pooled_errors_know_each_new_answer():
    answers = Answers()
    assert answers.pooled_errors() is None
    for n, error in enumerate((3.0, 4.0)):
        answers.enter(n, 0, np.zeros(1), Answer(1.0, se=np.array([error])))
        assert answers.pooled_errors() == pytest.approx([3.0, 12.5**0.5][n])


@pytest.mark.parametrize("method", FAMILIES)
def test_told_noise_counts_where_no_call_was_repeated(method):
    def fun(x):
        return {"f": float(x @ x), "g": [1.0 - x[0]], "se": [0.1, 0.1]}

    result = meco.minimize(fun, BOX, method=method, budget=60, seed=1)
    assert result.probability is not None
    assert result.success == (result.probability >= 0.95)
    assert result.repeated["spread"] == pytest.approx(0.1)
    if result.success:
        assert 1.0 - result.x[0] <= -1.644 * 0.1 / result.repeated["calls"] ** 0.5


def test_of_single_calls_the_least_f_that_is_probably_feasible_is_the_answer():
    f, g = np.array([0.0, 1.0, 2.0]), np.array([[-0.1], [-0.25], [-0.5]])
    rows = iter(zip(f, g))
    result = meco.minimize(lambda x: next(rows), [(0, 1)], method="SHADE", budget=3, seed=1, noise=0.1)
    assert (result.fun, result.success, result.repeated["calls"]) == (1.0, True, 1)
    assert result.probability == pytest.approx(0.99379**3, abs=1e-5)  # Phi(2.5), of three
    assert "of one call f = 1, standard error 0.1" in result.message


def test_told_noise_of_a_run_without_a_whole_answer_says_nothing():
    result = meco.minimize(
        lambda x: {"g": {"reach": 1.0}}, BOX, method="SHADE", budget=12, seed=1, noise=0.1, on_error="penalize"
    )
    assert (result.success, result.probability) == (False, None)


def test_a_confirmed_result_has_not_the_probability_of_other_calls():
    result = meco.minimize(f_and_g, BOX, method="SHADE", budget=60, seed=1, noise=0.1)
    assert meco.confirm(result, f_and_g, calls=4).probability is None


@pytest.mark.parametrize("form", ["by name", "rows"])
def test_a_vectorized_function_tells_standard_errors_as_its_constraints(form):
    def fun(x):
        f, reach = (x * x).sum(axis=1), 1.0 - x[:, 0]
        se = {"f": np.full(len(x), 0.1), "reach": np.full(len(x), 0.2)}
        return {"f": f, "g": {"reach": reach}, "se": se if form == "by name" else np.stack([*se.values()], axis=1)}

    result = meco.minimize(fun, BOX, method="SHADE", budget=60, seed=1, workers=Workers(vectorized=True))
    assert result.run.nfail == 0
    assert result.repeated["spread"] == pytest.approx(0.1)
    assert result.repeated["constraint_spread"] == pytest.approx([0.2])


def test_standard_errors_by_a_wrong_name_are_unreadable_in_rows_too():
    answers = read_rows({"f": np.zeros(2), "g": {"reach": np.zeros(2)}, "se": {"raech": np.ones(2)}}, 2)
    assert [a.fault for a in answers] == [Fault.MALFORMED] * 2
    assert "no name of f or a constraint" in answers[0].reason
