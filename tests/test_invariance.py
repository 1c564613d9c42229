"""What a search does not notice: other units of f and of the variables, another order of the constraints (R14)."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco

BOX = [(-5.0, 5.0)] * 4


def plain(x):
    return float(x @ x + 0.3 * x[0] * x[1]), [1.0 - x[0], x[1] - 2.0, x[0] + x[1] - 6.0], [x[0] - x[2]]


def raised_by_1024(x):
    f, g, h = plain(x)
    return f + 1024.0, g, h


def four_times_f(x):
    f, g, h = plain(x)
    return 4.0 * f, g, h


def four_times_constraints(x):
    f, g, h = plain(x)
    return f, [4.0 * v for v in g], [4.0 * v for v in h]


def turned_constraints(x):
    f, g, h = plain(x)
    return f, g[::-1], h


ALL = {raised_by_1024, four_times_f, four_times_constraints, turned_constraints}
NOTICED = {  # what a method does notice, by its definition; docs/promises.md says the same
    "MeCO": {four_times_constraints, raised_by_1024},  # features of its policy
    "SHADE": {four_times_f, four_times_constraints},  # f + nu has units
    "MA-ES": {four_times_f, four_times_constraints},
    "TR": {raised_by_1024, four_times_constraints, turned_constraints},  # rounding in the models
    "TR-ES": {raised_by_1024, four_times_constraints, turned_constraints},
    **dict.fromkeys(("MeCO-rand", "SHADE-eps", "SHADE-BOC", "SHADE-FR", "MDE-CGO", "C2oDE"), frozenset()),
}


def points(method, fun, box=BOX):
    return meco.minimize(fun, box, method=method, budget=160, seed=3).evaluations.x


@pytest.mark.parametrize("method", NOTICED)
def test_a_search_does_not_notice_units_it_does_not_define(method):
    expected = points(method, plain)
    for change in ALL - NOTICED[method]:
        assert_array_equal(points(method, change), expected, err_msg=change.__name__)
    wider = points(method, lambda x: plain(x / 4.0), [(-20.0, 20.0)] * 4)
    assert_array_equal(wider / 4.0, expected)


def test_ranks_do_not_change_under_an_affine_change_of_f():
    from meco.problems.evaluation import Evaluation
    from meco.results import feasibility_first
    from meco.rules.rule import order

    rng = np.random.default_rng(1)
    f, g, h = rng.normal(size=(1, 50)), rng.normal(size=(1, 50, 2)), rng.normal(size=(1, 50, 1)) * 1e-4
    before = order(feasibility_first(Evaluation.of(f, g, h)))
    assert_array_equal(order(feasibility_first(Evaluation.of(8.0 * f + 3.0, g, h))), before)
