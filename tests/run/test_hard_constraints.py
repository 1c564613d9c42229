"""Linear constraints are exact models, and constraints that must never be violated are not."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Tolerances, Variable, Workers
from meco.errors import InvalidInput
from meco.tr.engine import TrustRegion
from small_runs import noted

BOX = [(-2.0, 2.0)] * 3
TRIANGLE = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]])
SIDES = np.array([6.0, 2.0, -2.0])
some_seeds = pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])


def target(x):
    return float((x[0] - 4.0) ** 2 + (x[1] - 2.0) ** 2)


def test_linear_constraints_are_the_models_of_the_search(monkeypatch):
    gradients = []
    subproblem = TrustRegion._make_subproblem
    monkeypatch.setattr(
        TrustRegion,
        "_make_subproblem",
        lambda self, local, values: (gradients.append(self.region.models), subproblem(self, local, values))[1],
    )
    result = meco.minimize(target, [(0, 5)] * 2, meco.LinearConstraint(TRIANGLE, ub=SIDES), budget=40, seed=1)
    assert result.feasible
    for models in gradients:
        assert_array_equal(models.gradient[0, 1:], 5.0 * TRIANGLE)
        assert_array_equal(models.hessian[0, 1:], 0.0)


def test_scipys_object_and_ours_make_the_same_search():
    optimize = pytest.importorskip("scipy.optimize")
    runs = [
        meco.minimize(target, [(0, 5)] * 2, kind(TRIANGLE, -np.inf, SIDES), budget=40, seed=1)
        for kind in (optimize.LinearConstraint, meco.LinearConstraint)
    ]
    assert_array_equal(runs[0].evaluations.x, runs[1].evaluations.x)
    assert list(runs[0].constraints) == [f"constraints[0] g{i}" for i in (1, 2, 3)]


def test_rows_with_two_sides_equalities_and_other_constraints_between_find_their_places():
    both = meco.LinearConstraint([[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], lb=[0.5, 0.25], ub=[1.5, 0.25])
    result = meco.minimize(
        lambda x: {"f": float(x @ x), "g": {"own": x[0] ** 2 - 3.0}},
        BOX,
        [lambda x: x[2] ** 2 - 2.0, both],
        budget=80,
        seed=1,
    )
    assert result.feasible
    x = result.x
    expected = [x[0] ** 2 - 3, x[2] ** 2 - 2, x[0] + x[1] - 1.5, 0.5 - x[0] - x[1], x[1] - x[2] - 0.25]
    assert_allclose([c.value for c in result.constraints.values()], expected, atol=1e-12)
    assert_allclose(result.fun, 0.125, atol=1e-3)  # (1/4, 1/4, 0)


@pytest.mark.parametrize("batch", [1, 4])
@some_seeds
def test_no_point_outside_linear_constraints_is_evaluated_where_that_is_forbidden(seed, batch):
    fun = noted(target)
    limits = meco.LinearConstraint(TRIANGLE, ub=SIDES, keep_feasible=True)
    result = meco.minimize(fun, [(0, 5)] * 2, limits, budget=40, workers=Workers(batch=batch), seed=seed)
    assert np.max(np.array(fun.seen) @ TRIANGLE.T - SIDES) <= 1e-9
    assert_allclose(result.fun, 0.8, atol=5e-3)  # the distance of (4, 2) from x + 2 y = 6


def test_linear_equalities_hold_at_every_evaluation():
    fun = noted(lambda x: float(x @ x))
    tie = meco.LinearConstraint([[1.0, -1.0, 0.0]], 0.5, 0.5, keep_feasible=True)
    result = meco.minimize(fun, BOX, tie, budget=60, seed=1)
    assert np.max(np.abs(np.array(fun.seen) @ [1.0, -1.0, 0.0] - 0.5)) <= 1e-9
    assert_allclose(result.fun, 0.125, atol=1e-5)


def test_whole_numbers_stay_inside_linear_constraints_too():
    fun = noted(target)
    limits = meco.LinearConstraint(TRIANGLE, ub=SIDES, keep_feasible=True)
    meco.minimize(fun, [Variable(0, 5, integer=True), (0, 5)], limits, budget=40, seed=1)
    assert np.max(np.array(fun.seen) @ TRIANGLE.T - SIDES) <= 1e-9


def test_a_search_that_looks_for_a_first_answer_stays_inside():
    fun = noted(lambda x: target(x) if x[1] < 1.0 else np.nan)
    limits = meco.LinearConstraint(TRIANGLE, ub=SIDES, keep_feasible=True)
    meco.minimize(fun, [(0, 5)] * 2, limits, budget=40, seed=1)
    assert np.max(np.array(fun.seen) @ TRIANGLE.T - SIDES) <= 1e-9


def disc(x):
    return {"f": float(-x[0] - x[1]), "g": {"disc": float(x @ x - 1.0), "soft": x[0] - 0.9}}


@some_seeds
def test_models_keep_a_search_inside_a_constraint_almost_always(seed):
    """Of 100 evaluations around an optimum on the border a few cross it, by little."""
    fun = noted(disc)
    result = meco.minimize(
        fun, [(-2, 2)] * 2, x0=[0.0, 0.0], tolerances=Tolerances(keep_feasible=["disc"]), budget=100, seed=seed
    )
    over = np.sum(np.array(fun.seen) ** 2, axis=1) - 1.0
    free = noted(disc)
    meco.minimize(free, [(-2, 2)] * 2, x0=[0.0, 0.0], budget=20, seed=seed)
    assert_allclose(result.fun, -np.sqrt(2.0), atol=1e-3)
    assert (over > 0).sum() <= 10
    assert over.max() < 0.01
    assert np.max(np.sum(np.array(free.seen) ** 2, axis=1) - 1.0) > 0.1  # which is not so without it


def test_what_must_be_kept_is_known_by_scipys_constraints_too():
    fun = noted(lambda x: float(-x[0] - x[1]))
    ring = SimpleNamespace(fun=lambda x: x @ x, lb=-np.inf, ub=1.0, keep_feasible=True)
    result = meco.minimize(fun, [(-2, 2)] * 2, ring, x0=[0.0, 0.0], budget=80, seed=1)
    assert list(result.constraints) == ["constraints[0] g1"]
    assert np.max(np.sum(np.array(fun.seen) ** 2, axis=1)) < 1.05


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tolerances": Tolerances(keep_feasible=True)}, "give x0="),
        ({"tolerances": Tolerances(keep_feasible=["disk"]), "x0": [0, 0]}, "did you mean 'disc'"),
        (
            {"tolerances": Tolerances(keep_feasible=["disc"]), "x0": [0, 0], "method": "SHADE"},
            "one of TR; SHADE knows",
        ),
        ({"constraints": meco.LinearConstraint([[1, 0]], ub=[0], keep_feasible=True), "x0": [1, 0]}, "violates"),
        (
            {
                "constraints": [
                    meco.LinearConstraint([[1, 1]], 3, 3, True),
                    meco.LinearConstraint([[1, -1]], 2, 2, True),
                ]
            },
            "no common point",
        ),
    ],
)
def test_impossible_promises_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        meco.minimize(disc, [(-2, 2)] * 2, budget=20, seed=1, **options)


def test_an_equality_that_is_not_linear_cannot_be_promised():
    with pytest.raises(InvalidInput, match="tie is an equality"):
        meco.minimize(
            lambda x: {"f": float(x @ x), "h": {"tie": x[0] * x[1]}},
            [(-2, 2)] * 2,
            x0=[0, 0],
            tolerances=Tolerances(keep_feasible=["tie"]),
            budget=20,
        )
