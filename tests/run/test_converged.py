"""A search that says when it has converged, how often it began, and which constraints hold the optimum."""

import json

import pytest
from numpy.testing import assert_allclose

import meco
from meco import Tolerances
from meco.errors import InvalidInput

BOX = [(-2.0, 2.0)] * 3


def bowl(x):
    return float(x @ x), [1.0 - x[0]]


def test_a_converged_search_stops_at_a_feasible_point_and_says_so():
    result = meco.minimize(bowl, BOX, stop="converged", seed=1)
    assert result.run.stop_reason == "converged"
    assert "has converged at a feasible point" in result.message
    assert result.nfev < 150
    assert_allclose(result.fun, 1.0, atol=1e-6)


def test_a_region_that_converges_where_constraints_are_violated_does_not_stop():
    result = meco.minimize(lambda x: (float(x @ x), [1.0 + x[0] ** 2]), BOX, stop="converged", budget=100, seed=1)
    assert (result.run.stop_reason, result.nfev) == ("budget", 100)


def test_only_methods_that_can_tell_stop_when_converged():
    with pytest.raises(InvalidInput, match="TR; SHADE cannot"):
        meco.minimize(bowl, BOX, stop="converged", method="SHADE")


def test_multipliers_are_those_of_the_optimum_in_the_users_units():
    """min (x - 3)^2 with 1000 (x - 1) <= 0: lambda is 4 / 1000; a constraint far from active has none."""

    def fun(x):
        return {
            "f": (x[0] - 3.0) ** 2 + x[1] ** 2,
            "g": {"wall": 1e3 * (x[0] - 1.0), "far": x[1] - 50.0},
            "h": {"tie": x[1] - 1.0},
        }

    result = meco.minimize(fun, [(-5, 5)] * 2, budget=100, seed=1, tolerances=Tolerances(eq=1e-6))
    assert_allclose(result.multipliers["wall"], 4e-3, rtol=1e-2)
    assert_allclose(result.multipliers["tie"], -2.0, rtol=1e-2)
    assert result.multipliers["far"] == 0.0
    assert json.dumps(result.summary()["multipliers"])


def test_a_search_that_has_not_converged_and_a_run_under_way_have_no_multipliers():
    assert meco.minimize(bowl, BOX, method="SHADE", budget=60, seed=1).multipliers == {"g1": None}
    told = []
    meco.minimize(bowl, BOX, budget=20, seed=1, callback=lambda result: told.append(result.multipliers))
    assert set(told) == {None}


def test_the_printed_result_tells_how_often_the_search_began():
    result = meco.minimize(bowl, BOX, budget=150, seed=1)
    assert f"starts: {result.run.starts}" in repr(result)
    assert result.run.starts == result.trace["restarts"][-1] + 1
