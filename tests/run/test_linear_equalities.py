"""Linear equalities are known exactly, and so the answer keeps them to rounding."""

import numpy as np
import pytest

import meco
from meco.answer.table import Judgement, Table
from meco.run.constraints import LimitedValues, MatrixProduct
from meco.run.layout import Answers, PriorEvaluations

TARGET, WEIGHTS = np.array([8.0, 6.0, 4.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0])


def cost(x):
    return float((WEIGHTS * (x - TARGET) ** 2).sum())


def optimum(total=20.0):
    return (TARGET.sum() - total) ** 2 / (1.0 / WEIGHTS).sum()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_answer_keeps_a_linear_equality_to_rounding(seed):
    rows = meco.LinearConstraint(np.ones((1, 4)), 20.0, 20.0)
    result = meco.minimize(cost, [(0, 10)] * 4, rows, budget=120, seed=seed)
    assert result.success
    assert abs(result.x.sum() - 20.0) < 1e-7
    assert optimum() - 1e-7 < result.fun < optimum() + 1e-4


def test_scipys_door_keeps_it_too():
    optimize = pytest.importorskip("scipy.optimize")
    rows = optimize.LinearConstraint(np.ones((1, 4)), 20.0, 20.0)
    options = {"budget": 120, "seed": 1}
    found = optimize.minimize(
        cost, [5.0] * 4, method=meco.scipy_method, bounds=[(0, 10)] * 4, constraints=rows, options=options
    )
    assert abs(found.x.sum() - 20.0) < 1e-7


def best_f(h, g, exact):
    answers, f = Answers(), np.arange(float(len(h)))
    answers.declare(1, 1)
    known = PriorEvaluations(np.zeros((len(h), 1)), f, np.array(g)[:, None], np.array(h)[:, None])
    return Table(answers, known, 1).evaluations(Judgement(0.1, 1e-4, exact)).best.f


def test_exact_points_come_first_then_those_with_every_inequality_kept_then_those_within_tolerances():
    exact = np.array([1e-9])
    assert best_f([1e-5, 1e-12, 1e-12], [0.0, 0.0, 0.0], exact) == 1.0
    assert best_f([1e-5, 1e-12, 1e-12], [0.0, 0.0, 0.0], None) == 0.0
    assert best_f([1e-5, 1e-5], [0.05, 0.0], exact) == 1.0
    assert best_f([1e-5, 1.0], [0.05, 0.0], exact) == 0.0


def test_a_point_on_a_row_keeps_it_whatever_rounding_says():
    row = LimitedValues(
        MatrixProduct(np.array([[0.1, 0.2], [1.0, 2.0]])), np.array([-np.inf, 90.0]), np.array([0.3, np.inf])
    )
    g, _ = row(np.array([1.0, 1.0]))  # 0.1 + 0.2 is 5e-17 above 0.3
    assert g[0] == 0.0
    g, _ = row(np.array([90.0 * (1 + 1e-13), 0.0]))
    assert g[1] == 0.0
    g, _ = row(np.array([90.0 * (1 - 1e-10), 0.0]))
    assert g[1] > 0.0
