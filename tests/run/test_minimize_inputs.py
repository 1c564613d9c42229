"""What minimize() understands, and the mistakes it names before an evaluation is spent."""

from __future__ import annotations

import math
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Method, Stop, Tolerances, Variable, Variables, Workers
from meco.errors import InvalidInput, MecoError, UnknownName
from meco.methods import DEFAULT
from meco.run.constraints import read_constraints

BOX = [(-5.0, 5.0)] * 3
SIZED = {"pop_size": 10}
QUICK = {"method": Method("SHADE-FR", **SIZED), "budget": 60, "seed": 1}


class Counting:
    """A function that knows how often it was called, and where."""

    def __init__(self, fun=lambda x: float(x @ x)):
        self.fun, self.asked = fun, []

    def __call__(self, x):
        self.asked.append(x.copy())
        return self.fun(x)


@pytest.mark.parametrize("bounds", [BOX, np.array(BOX), tuple(BOX)])
def test_bounds_may_be_pairs_or_an_array(bounds):
    assert meco.minimize(lambda x: x @ x, bounds, **QUICK).nfev == 60


def test_scipy_objects_are_understood():
    optimize = pytest.importorskip("scipy.optimize")
    two_sided = optimize.NonlinearConstraint(lambda x: [x[0] * x[1], x[2]], [1.0, 2.0], [4.0, 2.0])
    plane = optimize.LinearConstraint([[1.0, 1.0, 0.0]], -np.inf, 5.0)
    bounds = optimize.Bounds([-5, -5, -5], [5, 5, 5])
    result = meco.minimize(lambda x: x @ x, bounds, [two_sided, plane], **QUICK)
    x, g, h = result.evaluations.x, result.evaluations.g, result.evaluations.h
    product = x[:, 0] * x[:, 1]
    assert_allclose(g, np.stack([product - 4.0, 1.0 - product, x[:, 0] + x[:, 1] - 5.0], axis=1))
    assert_allclose(h[:, 0], x[:, 2] - 2.0)


def test_old_dicts_and_functions_are_understood():
    old = [
        {"type": "ineq", "fun": lambda x: x[0] - 1.0},
        {"type": "eq", "fun": lambda x, a: x[1] - a, "args": (2.0,)},
        lambda x: x[2] - 3.0,
    ]
    result = meco.minimize(lambda x: x @ x, BOX, old, **QUICK)
    x = result.evaluations.x
    assert_allclose(result.evaluations.g, np.stack([1.0 - x[:, 0], x[:, 2] - 3.0], axis=1))
    assert_allclose(result.evaluations.h[:, 0], x[:, 1] - 2.0)


def test_a_separate_constraint_is_part_of_the_same_evaluation():
    fun, limit = Counting(), Counting(lambda x: x[0] - 1.0)
    result = meco.minimize(fun, BOX, limit, **QUICK)
    assert_array_equal(fun.asked, limit.asked)
    assert len(fun.asked) == result.nfev == 60


def test_separate_constraints_follow_those_of_the_function():
    result = meco.minimize(lambda x: (x @ x, {"own": x[0]}), BOX, lambda x: x[1] - 1.0, **QUICK)
    assert list(result.constraints) == ["own", "g2"]
    named = meco.minimize(
        lambda x: (x @ x, [x[0]]), BOX, lambda x: x[1], tolerances=Tolerances(names=["a", "b"]), **QUICK
    )
    assert list(named.constraints) == ["a", "b"]


def test_rows_of_points_and_single_points_give_the_same_run():
    def rows(x):
        return (x * x).sum(axis=1), 1.0 - x[:, :2]

    def single(x):
        return (x[None] * x[None]).sum(axis=1)[0], 1.0 - x[:2]

    at_once = meco.minimize(rows, BOX, lambda x: x[..., 2] - 4.0, workers=Workers(vectorized=True), **QUICK)
    one_by_one = meco.minimize(single, BOX, lambda x: x[..., 2] - 4.0, **QUICK)
    assert_array_equal(at_once.evaluations.x, one_by_one.evaluations.x)
    assert_array_equal(at_once.evaluations.g, one_by_one.evaluations.g)
    chunked = meco.minimize(rows, BOX, lambda x: x[..., 2] - 4.0, workers=Workers(2, vectorized=True), **QUICK)
    assert_array_equal(chunked.evaluations.x, one_by_one.evaluations.x)


def test_starting_points_are_evaluated_exactly_as_given():
    awkward = np.array([[0.1, 1 / 3, -4.999999999999999], [np.pi, np.e, 5.0]])
    fun = Counting()
    meco.minimize(fun, [(-5.1, 7.3)] * 3, x0=awkward, **QUICK)
    assert_array_equal(fun.asked[:2], awkward)
    single = Counting()
    meco.minimize(single, BOX, x0=[1.0, 2.0, 3.0], **QUICK)
    assert_array_equal(single.asked[0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("method", ["SHADE-FR", "MA-ES"])
def test_known_points_cost_nothing_and_are_never_called(method):
    rng = np.random.default_rng(5)
    x = rng.uniform(-5, 5, (8, 3))
    x[3] = [1.0, 1 / 3, 0.1]
    f, g = (x * x).sum(axis=1), 1.0 - x[:, :1]
    fun = Counting(lambda x: (x @ x, [1.0 - x[0]]))
    result = meco.minimize(fun, BOX, evaluated=(x, f, g), **{**QUICK, "method": Method(method, **SIZED)})
    assert result.nfev == len(fun.asked) == 60
    assert not {row.tobytes() for row in x} & {row.tobytes() for row in fun.asked}
    assert result.evaluations.known.sum() == 8
    assert result.fun <= f[3]


def test_a_known_best_point_is_the_answer_when_nothing_beats_it():
    best = np.array([1.0, 0.0, 0.0])
    fun = Counting(lambda x: (x @ x + 3.0, [1.0 - x[0]]))
    result = meco.minimize(fun, BOX, evaluated=([best], [1.0], [[0.0]]), **QUICK)
    assert_array_equal(result.x, best)
    assert result.fun == 1.0


def test_evaluations_of_one_run_are_known_to_the_next():
    fun = Counting(lambda x: (x @ x, [1.0 - x[0]]))
    first = meco.minimize(fun, BOX, **QUICK)
    fun.asked.clear()
    second = meco.minimize(fun, BOX, evaluated=first.evaluations, **{**QUICK, "seed": 2})
    assert second.fun <= first.fun
    assert len(fun.asked) == 60


def test_integer_variables_are_whole_at_every_call():
    fun = Counting()
    meco.minimize(fun, [Variable(-2.5, 3.7, integer=True), Variable(0.2, 9.9, integer=True), (-1.0, 1.0)], **QUICK)
    asked = np.array(fun.asked)
    assert_array_equal(asked[:, :2], np.round(asked[:, :2]))
    assert asked[:, 0].min() >= -2
    assert asked[:, 0].max() <= 3
    assert asked[:, 1].min() >= 1
    assert asked[:, 1].max() <= 9
    assert np.any(asked[:, 2] != np.round(asked[:, 2]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bounds": [(1.0, -1.0)] * 3}, "bounds of variable 0: .* needs low <= high"),
        ({"bounds": [(0.0, np.inf)] * 3}, r"variable x1 has infinite bounds, \(0, inf\), .* use one of TR, SLSQP"),
        ({"bounds": [(0.0, np.nan)] * 3}, "bounds of variable 0: high .* must be a number"),
        ({"bounds": [(-1e308, 1e308)] * 3}, "too far apart"),
        ({"bounds": [[0, 0, 0, 0], [1, 1, 1, 1]]}, "transposed"),
        ({"bounds": "0,1"}, "pair"),
        ({"bounds": []}, "pair"),
        ({"x0": [0.0, 9.0, 0.0]}, "variable 1 of point 0 is 9.0, outside its bounds"),
        ({"x0": [0.0, np.nan, 0.0]}, "outside its bounds"),
        ({"x0": [0.0, 1.0]}, "3 variables"),
        ({"x0": [0.5, 0.0, 0.0], "bounds": [Variable(-5, 5, integer=True), *BOX[1:]]}, "whole number"),
        ({"evaluated": ([[0.0, 0.0, 9.0]], [1.0])}, "outside"),
        ({"evaluated": ([[0.0, 0.0, 0.0]], [1.0, 2.0])}, "1 points need"),
        ({"evaluated": 3}, "evaluated must be"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": 2.5}, "whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"method": Method("SHADE-FR", pop_size=2)}, "pop_size"),
        ({"tolerances": -1.0}, "tolerances: ineq must be a finite number"),
        ({"workers": 0}, "workers must be 1 or more"),
        ({"workers": "many"}, "workers must be"),
        ({"stop": -1.0}, "max_time"),
        ({"callback": 3}, "callback"),
        ({"checkpoint": 3}, "checkpoint"),
        ({"constraints": 3.0}, "NonlinearConstraint"),
        ({"constraints": [3.0]}, "NonlinearConstraint"),
        ({"constraints": {"type": "less", "fun": abs}}, "'ineq'"),
        ({"fun": None}, "fun must be a function"),
    ],
)
def test_a_mistake_is_named_before_the_first_call(change, words):
    fun = Counting()
    arguments = {"fun": fun, "bounds": BOX, **QUICK, **change}
    with pytest.raises(MecoError, match=words):
        meco.minimize(**arguments)
    assert fun.asked == []


@pytest.mark.parametrize(
    ("change", "near"),
    [
        ({"on_error": "penalise"}, "penalize"),
        ({"stop": "feasable"}, "feasible"),
        ({"method": "SHADE-RF"}, "SHADE-FR"),
    ],
)
def test_a_misspelt_choice_offers_the_nearest(change, near):
    with pytest.raises(UnknownName, match=near):
        meco.minimize(lambda x: x @ x, BOX, **{**QUICK, **change})


def test_a_misspelt_keyword_offers_the_nearest():
    with pytest.raises(TypeError, match="did you mean 'budget'"):
        meco.minimize(lambda x: x @ x, BOX, budgets=100)


def test_an_option_of_another_method_is_refused():
    with pytest.raises(InvalidInput, match="policy"):
        meco.minimize(lambda x: x @ x, BOX, method=Method("SHADE-FR", policy="meco-10d"))


def test_a_function_that_cannot_travel_is_refused_with_the_reason():
    lock = threading.Lock()
    asked = []

    def fun(x):
        asked.append(x)
        with lock:
            return float(x @ x)

    with ProcessPoolExecutor(1) as pool, pytest.raises(InvalidInput, match=r"cannot be sent.*top level"):
        meco.minimize(fun, BOX, workers=pool, **QUICK)
    assert asked == []


def test_without_cloudpickle_the_advice_names_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with ProcessPoolExecutor(1) as pool, pytest.raises(InvalidInput, match="install cloudpickle"):
        meco.minimize(lambda x: x @ x, BOX, workers=pool, **QUICK)


def test_limits_with_reversed_sides_are_refused():
    class Reversed:
        lb, ub = 2.0, 1.0
        fun = staticmethod(lambda x: x[0])

    with pytest.raises(InvalidInput, match="at most its upper limit"):
        read_constraints(Reversed(), Variables.read(BOX))


def test_a_variable_may_be_fixed_by_its_bounds():
    fun = Counting()
    result = meco.minimize(fun, [(-5.0, 5.0), (0.1, 0.1), Variable(2.0, 2.0, integer=True)], **QUICK)
    assert_array_equal(np.array(fun.asked)[:, 1:], np.broadcast_to([0.1, 2.0], (60, 2)))
    assert result.success


def test_the_function_gets_a_copy_it_may_write_to():
    def fun(x):
        value = float(x @ x)
        x[:] = 99.0
        return value

    result = meco.minimize(fun, BOX, **QUICK)
    assert_allclose(result.fun, result.x @ result.x)
    assert np.abs(result.evaluations.x).max() <= 5.0


class Nothing:
    """Has no number, no length, nothing to walk over."""


HUGE, WRONG = (
    10**400,
    (Nothing(), "\udc80", b"x", [[[]]], 1j, np.zeros((2, 2, 2)), "9" * 5000, [10**400], {"a": Nothing}),
)
RECORDS = {  # what a keyword was given, as the record that takes it
    "ineq": lambda value, method: {"tolerances": Tolerances(ineq=value)},
    "eq": lambda value, method: {"tolerances": Tolerances(eq=value)},
    "target": lambda value, method: {"stop": Stop(target=value)},
    "max_time": lambda value, method: {"stop": Stop(max_time=value)},
    "timeout": lambda value, method: {"workers": Workers(timeout=value)},
    "batch": lambda value, method: {"workers": Workers(batch=value)},
    "n": lambda value, method: {"workers": Workers(value)},
    "pop_size": lambda value, method: {"method": Method(method, pop_size=value)},
    "policy": lambda value, method: {"method": Method(method, policy=value)},
    "names": lambda value, method: {"tolerances": Tolerances(names=value)},
    "keep_feasible": lambda value, method: {"tolerances": Tolerances(keep_feasible=value)},
    "variable": lambda value, method: {"bounds": [Variable(value, 5), Variable(-5, 5)]},
    "integer": lambda value, method: {"bounds": [Variable(-5, 5, integer=value), Variable(-5, 5)]},
    "unit": lambda value, method: {"bounds": [Variable(-5, 5, unit=value), Variable(-5, 5)]},
}
PLAIN = (
    "bounds",
    "seed",
    "workers",
    "x0",
    "evaluated",
    "on_error",
    "stop",
    "callback",
    "method",
    "budget",
    "tolerances",
)


@pytest.mark.parametrize("name", [*RECORDS, *PLAIN])
def test_whatever_is_given_is_used_or_refused_in_our_words(name):
    for value in (*WRONG, *(() if name == "budget" else (HUGE, -HUGE, math.inf, -math.inf, math.nan))):
        for method in ("SHADE", DEFAULT):
            with suppress(MecoError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = RECORDS[name](value, method) if name in RECORDS else {name: value}
                options = {"bounds": [(-5, 5)] * 2, "method": method, "budget": 9}
                meco.minimize(lambda x: float(x @ x), **options | given)


@pytest.mark.parametrize("method", ["TR"])
@pytest.mark.parametrize("batch", [13, 39, 40, 41, 64, 3000])
@pytest.mark.parametrize("budget", [12, 100])
def test_a_batch_may_be_as_large_as_there_are_processors(method, batch, budget):
    made = meco.minimize(
        lambda x: float(x @ x), [(-5, 5)] * 2, method=method, workers=Workers(batch=batch), budget=budget, seed=1
    )
    assert made.nfev == budget


def test_the_warning_of_a_small_budget_claims_no_number_of_first_points():
    """Of 30 variables and 62 evaluations the first batch has 41 points, two thirds, and not 61."""
    with pytest.warns(UserWarning, match="62 evaluations are few for 30 variables: TR needs 91 or more") as told:
        meco.minimize(lambda x: float(x @ x), [(-1, 1)] * 30, budget=62, seed=1)
    assert "61" not in str(told[0].message)
