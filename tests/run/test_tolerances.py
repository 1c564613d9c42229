"""Feasible means feasible, within the tolerance of each constraint."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Checkpoint, Tolerances
from meco.cli import main
from meco.errors import InvalidInput
from meco.methods import DEFAULT
from meco.run.recorded import read_recorded
from small_runs import BOX, named

QUICK = {"method": "SHADE-FR", "budget": 60, "seed": 1}


def table(rows):
    """A function that gives these (f, g) one after the other."""
    left = iter(rows)

    def fun(x):
        f, g = next(left)
        return f, {"stress": g}

    return fun


def test_a_point_that_keeps_every_limit_goes_before_a_better_one_within_the_tolerance():
    result = meco.minimize(table([(1.0, 5e-9), (2.0, 0.0), (3.0, -1.0)]), [(0, 1)], **{**QUICK, "budget": 3})
    assert (result.fun, result.maxcv, result.status) == (2.0, 0.0, 0)
    assert "tolerance" not in result.message


def test_a_point_within_the_tolerance_is_the_answer_when_there_is_no_better():
    result = meco.minimize(table([(1.0, 5e-9), (0.5, 2e-8)]), [(0, 1)], **{**QUICK, "budget": 2})
    assert (result.fun, result.success) == (1.0, True)
    assert "stress is over by 5e-09, within the tolerance of 1e-08" in result.message
    assert "stress: 5e-09 over by 5e-09, within the tolerance of 1e-08" in repr(result)


def test_an_answer_of_cobyqa_is_feasible_as_scipy_says_it_is():
    pytest.importorskip("scipy")
    for seed in range(3):
        result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="COBYQA", budget=60, seed=seed)
        assert result.success, result.message
        assert_allclose(result.fun, 1.0, atol=1e-3)


def test_most_of_a_small_budget_of_cobyqa_is_for_its_search():
    pytest.importorskip("scipy")
    result = meco.minimize(lambda x: (x @ x, [1.0 - x[0]]), BOX, method="COBYQA", budget=60, seed=1)
    near = np.linalg.norm(result.evaluations.x - [1.0, 0.0, 0.0], axis=1) < 0.1
    assert near.sum() > 10


GIVEN = [
    ({"tolerances": Tolerances(eq=0.5, ineq=0.25)}, [0.25, 0.25, 0.5]),
    ({"tolerances": Tolerances(eq=[0.5], ineq=[0.25, 0.125])}, [0.25, 0.125, 0.5]),
    ({"tolerances": Tolerances(eq={"level": 0.5}, ineq={"height": 0.125})}, [1e-8, 0.125, 0.5]),
    ({"tolerances": {"level": 0.5, "height": 0.125}}, [1e-8, 0.125, 0.5]),
    ({"tolerances": 0.25}, [0.25, 0.25, 0.25]),
    ({}, [1e-8, 1e-8, 1e-4]),
]


@pytest.mark.parametrize(
    ("tolerances", "wanted", "method"),
    [
        *((*given, "SHADE-FR") for given in GIVEN),
        *((*given, method) for given in GIVEN[2::3] for method in (DEFAULT, "MDE-CGO")),  # read alike for all
    ],
)
def test_tolerances_are_numbers_lists_or_dicts_by_name(tolerances, wanted, method):
    result = meco.minimize(named, BOX, **{**QUICK, "method": method}, **tolerances)
    assert [c.tolerance for c in result.constraints.values()] == wanted
    every = result.evaluations
    ok = (every.g <= wanted[:2]).all(axis=1) & (np.abs(every.h) <= wanted[2:]).all(axis=1)
    assert_array_equal(every.feasible, ok)


def test_tolerances_per_constraint_are_recorded_and_resumed(tmp_path):
    options = {"tolerances": Tolerances(eq={"level": 0.5}, ineq=[0.25, 0.125]), **QUICK}
    first = meco.minimize(named, BOX, checkpoint=tmp_path / "run", **options)
    assert read_recorded(tmp_path / "run").inputs["tolerances"]["eq"] == {"level": 0.5}
    again = meco.minimize(named, BOX, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert_array_equal(again.evaluations.feasible, first.evaluations.feasible)
    assert main(["export", str(tmp_path / "run"), "--output", str(tmp_path / "run.csv")]) == 0


def test_tolerances_per_constraint_survive_the_state_of_an_optimizer():
    search = meco.Optimizer(BOX, n_ineq=2, budget=40, seed=1, tolerances=Tolerances(ineq=[0.25, 0.5], names=["a", "b"]))
    x = search.ask()
    search.tell(x, (x * x).sum(axis=1), g=np.full((len(x), 2), [0.2, 0.4]))
    again = meco.Optimizer.from_state(search.state())
    assert again.result.feasible
    assert again.request.tolerances.ineq == [0.25, 0.5]


@pytest.mark.parametrize(
    ("tolerances", "words"),
    [
        ({"ineq": {"reech": 0.1}}, "did you mean 'reach'"),
        ({"ineq": {"level": 0.1}}, "no constraint .* named 'level'"),
        ({"ineq": [0.1, 0.1, 0.1]}, "3 values, but there are 2 constraints: reach, height"),
        ({"eq": {"level": -1.0}}, r"eq\['level'\] must be a finite number"),
        ({"eq": "tight"}, "eq must be a finite number"),
    ],
)
def test_a_tolerance_that_fits_no_constraint_is_refused(tolerances, words):
    with pytest.raises(InvalidInput, match=words):
        meco.minimize(named, BOX, **QUICK, tolerances=Tolerances(**tolerances))


def test_a_plain_dict_that_fits_no_constraint_is_refused():
    with pytest.raises(InvalidInput, match="did you mean 'reach'"):
        meco.minimize(named, BOX, **QUICK, tolerances={"reech": 0.1})
