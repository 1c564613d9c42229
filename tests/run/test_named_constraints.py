"""Separate constraints beside named variables."""

from types import SimpleNamespace

import numpy as np
import pytest

import meco

NAMED = {"width": (0.0, 2.0), "height": (0.0, 2.0)}


def minimize_named(constraints, budget, vectorized):
    """The least sum of squares of width and height under constraints, seed 1."""
    workers = meco.Workers(vectorized=vectorized)
    return meco.minimize(
        lambda v: v["width"] ** 2 + v["height"] ** 2, NAMED, constraints, budget=budget, seed=1, workers=workers
    )


@pytest.mark.parametrize(
    "constraint",
    [
        lambda v: 1.0 - v["width"] - v["height"],
        {"type": "ineq", "fun": lambda v, least: v["width"] + v["height"] - least, "args": (1.0,)},
        SimpleNamespace(fun=lambda v: v["width"] + v["height"], lb=1.0, ub=np.inf),
        meco.LinearConstraint([[1.0, 1.0]], lb=1.0),
    ],
)
@pytest.mark.parametrize("vectorized", [False, True])
def test_constraints_of_named_variables_get_a_dict_and_matrices_rows(constraint, vectorized):
    result = minimize_named(constraint, 80, vectorized)
    assert result.feasible
    np.testing.assert_allclose(result.x, [0.5, 0.5], atol=1e-2)


def mixture(v):
    return v["width"] + v["height"]


TWO = SimpleNamespace(fun=lambda v: [v["width"], v["height"]], lb=[0.2, -np.inf], ub=[1.5, 1.4])


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_dict_of_constraints_names_their_values_in_the_result(vectorized):
    limits = {
        "octane": SimpleNamespace(fun=mixture, lb=1.0, ub=3.0),
        "least": {"type": "ineq", "fun": lambda v: v["width"] - 0.1},
        "rows": meco.LinearConstraint([[1.0, 0.0], [1.0, -1.0]], lb=[0.0, 0.0], ub=[2.0, 0.0]),
        "most": lambda v: v["height"] - 1.9,
    }
    limits |= {} if vectorized else {"two": TWO}
    result = minimize_named(limits, 60, vectorized)
    two = [] if vectorized else ["two 1 (upper)", "two 2", "two 1 (lower)"]
    assert list(result.constraints) == [
        "octane (upper)", "octane (lower)", "least", "rows 1 (upper)", "rows 1 (lower)", "most", *two, "rows 2",
    ]  # fmt: skip
    width, height = result.x
    assert result.constraints["octane (lower)"].value == pytest.approx(1.0 - width - height)
    assert result.constraints["rows 2"].value == pytest.approx(0.0, abs=1e-9)
    assert result.success


def test_a_named_constraint_may_be_one_that_is_never_violated():
    safe = meco.LinearConstraint([[1.0, 2.0]], ub=[2.0], keep_feasible=True)
    limits = {"load": safe, "load case": lambda v: v["width"] - 1.0}
    result = meco.minimize(lambda v: -v["width"] - v["height"], NAMED, limits, budget=40, seed=1)
    assert (result.evaluations.g[:, 0] <= 1e-9).all()
    assert (result.evaluations.g[:, 1] > 0.0).any()
    by_name = meco.Tolerances(ineq={"load case": 0.1})
    result = meco.minimize(lambda v: -v["width"] - v["height"], NAMED, limits, budget=40, seed=1, tolerances=by_name)
    assert result.constraints["load case"].tolerance == 0.1


def test_scipys_door_takes_names_too():
    optimize = pytest.importorskip("scipy.optimize")
    limits = {"octane": optimize.NonlinearConstraint(lambda x: x[0] + x[1], 1.0, 3.0)}
    found = optimize.minimize(
        lambda x: float(x @ x), [1.0, 1.0], method=meco.scipy_method, bounds=[(0, 2)] * 2, constraints=limits,
        options={"budget": 40, "seed": 1},
    )  # fmt: skip
    assert list(found.meco.constraints) == ["octane (upper)", "octane (lower)"]
