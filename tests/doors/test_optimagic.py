"""optimagic's door with the real package: the same search, constraints of both kinds, errors, maximising."""

import math

import numpy as np
import pytest

from doors import one_problem

om = pytest.importorskip("optimagic")

from meco.adapters.optimagic import Meco  # noqa: E402

LOW, HIGH = np.array(list(one_problem.BOUNDS.values())).T
BOX = om.Bounds(lower=LOW, upper=HIGH)
LIMITS = [  # at least 0: given an upper bound alone, optimagic adds a lower one of 0
    om.NonlinearConstraint(func=lambda x: 1.0 - one_problem.stress(*x), lower_bound=0.0),
    om.NonlinearConstraint(func=lambda x: -one_problem.slack(*x), lower_bound=0.0),
]


def solved(fun=lambda x: one_problem.weight(*x), evaluations=60, **given):
    options = {"bounds": BOX, "constraints": LIMITS} | given
    return om.minimize(fun, np.ones(3), algorithm=Meco(stopping_maxfun=evaluations, seed=7), **options)


def test_it_is_the_search_of_minimize():
    found = solved()
    seen = np.array(found.history.params)
    np.testing.assert_array_equal(seen, one_problem.points_of_minimize(x0=np.ones(3)))
    assert found.n_fun_evals == 60
    assert found.success


def test_an_error_is_a_failed_evaluation_where_optimagic_is_told_to_go_on():
    def fun(x):
        if one_problem.fails(*x):
            raise RuntimeError("the mesh could not be made")
        return one_problem.weight(*x)

    assert_same_as_minimize(solved(fun, error_handling="continue"))


def assert_same_as_minimize(found):
    """On the beam that fails in a fifth of its calls: optimagic keeps the calls that succeeded."""
    points = one_problem.points_of_minimize(one_problem.brittle, x0=np.ones(3))
    good = np.array([not one_problem.fails(*x) for x in points])
    assert 0.1 < 1 - good.mean() < 0.4
    np.testing.assert_array_equal(np.array(found.history.params)[: good.sum()], points[good])


def test_an_error_ends_the_run_where_optimagic_raises():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) > 5:
            raise ZeroDivisionError("a defect")
        return one_problem.weight(*x)

    with pytest.raises(om.exceptions.UserFunctionRuntimeError):
        solved(fun)
    assert len(calls) == 6


def test_equalities_maximising_and_parameters_by_name():
    found = om.maximize(
        lambda p: p["a"] * p["b"],
        {"a": 1.0, "b": 0.5},
        algorithm=Meco,
        algo_options={"stopping_maxfun": 80, "seed": 1},
        bounds=om.Bounds(lower={"a": 0.0, "b": 0.0}, upper={"a": 3.0, "b": 3.0}),
        constraints=om.NonlinearConstraint(func=lambda p: p["a"] + 2 * p["b"], value=2.0),
    )
    assert found.fun == pytest.approx(0.5, abs=1e-3)
    assert found.params["a"] == pytest.approx(1.0, abs=0.05)


def test_not_a_number_is_no_objective_and_the_constraints_beside_it_are_learnt_from():
    def fun(x):
        return math.nan if one_problem.fails(*x) else one_problem.weight(*x)

    found = solved(fun, error_handling="continue")
    points = one_problem.points_of_minimize(lambda x: (fun(x), one_problem.limits(*x)), x0=np.ones(3))
    np.testing.assert_array_equal(np.array(found.history.params), points)
    assert 0.1 < np.mean([one_problem.fails(*x) for x in points]) < 0.4


def test_without_bounds_the_missing_ones_are_asked_for():
    with pytest.raises(Exception, match="bounds"):
        om.minimize(lambda x: x @ x, np.ones(2), algorithm=Meco())


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
def test_a_value_that_is_not_finite_never_wins(value):
    calls = []

    def fails_first(x):
        calls.append(x)
        return value if len(calls) <= 5 else one_problem.weight(*x)

    found = solved(fails_first)
    assert 0.0 < found.fun < 0.06
    assert found.success
