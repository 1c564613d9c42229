"""The method that is used where none is named."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Checkpoint, Tolerances
from meco.methods import DEFAULT
from small_runs import BOX, named

QUICK = {"method": "SHADE-FR", "budget": 60, "seed": 1}


def test_every_door_uses_the_same_default():
    for door in (meco.minimize, meco.Optimizer.__init__):
        assert inspect.signature(door).parameters["method"].default == DEFAULT
    assert meco.minimize(named, BOX, budget=40, seed=1).run.method == DEFAULT
    assert meco.Optimizer(BOX).request.method == DEFAULT


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
def test_the_default_solves_the_problem_on_which_peers_were_better(seed):
    result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]], [x[1] - x[2]]), BOX, budget=80, seed=seed)
    assert result.feasible
    assert_allclose(result.fun, 1.0, rtol=1e-4)


def test_the_default_does_not_depend_on_the_units_of_a_constraint():
    def scaled(factor):
        return meco.minimize(lambda x: (x @ x, [factor * (1.0 - x[0])]), BOX, budget=90, seed=1)

    kilo, plain = scaled(2.0**20), scaled(1.0)
    assert_allclose(kilo.fun, plain.fun, rtol=1e-6)


def test_a_resumed_run_keeps_the_method_and_tolerances_that_it_recorded(tmp_path):
    folder = tmp_path / "run"
    options = {
        "method": "SHADE-FR",
        "budget": 60,
        "seed": 3,
        "tolerances": Tolerances(ineq=0.0, eq=[0.1]),
        "on_error": "retry",
    }
    first = meco.minimize(named, BOX, checkpoint=folder, **options)
    again = meco.minimize(named, BOX, checkpoint=Checkpoint(folder, resume=True))
    assert again.run.method == "SHADE-FR"
    assert_array_equal(again.evaluations.x, first.evaluations.x)


@pytest.mark.parametrize("method", ["SHADE", "MeCO", "C2oDE", "MA-ES"])
def test_fewer_than_ten_generations_of_a_population_are_mentioned(method):
    size = meco.METHODS[method].population(2, 100)
    with pytest.warns(UserWarning, match=f"{10 * size - 1} evaluations are less than 10 generations of {method}"):
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, budget=10 * size - 1, seed=1, method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, budget=10 * size, seed=1, method=method)


def test_too_few_evaluations_for_the_variables_are_mentioned():
    with pytest.warns(UserWarning, match="20 evaluations are few for 10 variables"):
        result = meco.minimize(lambda x: x @ x, [(-1, 1)] * 10, budget=20, seed=1)
    assert "few for 10 variables" in result.message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 10, budget=31, seed=1)
        meco.minimize(lambda x: x @ x, [(-1, 1)] * 10, budget=500, seed=1, method="SHADE-FR")


def test_a_search_that_begins_again_says_how_often():
    def crossed(x):
        return np.sum(x * x - 3 * np.cos(2 * np.pi * x))

    result = meco.minimize(crossed, BOX[:2], budget=200, seed=1)
    assert result.run.starts == result.trace["restarts"][-1] + 1 > 1
    assert meco.minimize(crossed, BOX[:2], **QUICK).run.starts == 1


def test_seeds_share_their_first_points_as_the_quickstart_says():
    first, second = (meco.minimize(lambda x: x @ x, [(-5, 7)] * 3, budget=20, seed=s).evaluations.x for s in (1, 2))
    assert_array_equal(first[0], [1.0, 1.0, 1.0])  # the centre
    assert_array_equal(first[:7], second[:7])  # 2 D + 1


@pytest.mark.parametrize("budget", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_an_answer_lies_at_its_active_constraints(budget):
    result = meco.minimize(
        lambda x: (-3 * x[0] - 2 * x[1], [x[0] + x[1] - 4, x[0] - 3]), [(0, 10)] * 2, budget=budget, seed=1
    )
    assert result.success
    assert_allclose(result.fun, -11.0, rtol=1e-9)
