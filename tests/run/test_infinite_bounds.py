"""Infinite and half-infinite bounds through the doors: what is found, refused, written down and gone on with."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from interruption import pass_for
from meco.errors import InvalidInput
from meco.methods import METHODS
from meco.options import Checkpoint, Tolerances, Workers
from meco.run.constraints import LinearConstraint

INF = np.inf
FREE = [(-INF, INF)] * 2
ABLE = ("TR", "TR-ES", "MeCO-TR")
ABLE_PEERS = ("SLSQP", "COBYLA")


def plane(x):
    return x @ x, [1.0 - x.sum()]


def strict(text):
    return json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize("method", ABLE_PEERS)
def test_peers_that_need_no_bounds_get_none(method):
    found = meco.minimize(plane, FREE, x0=[300.0, -4000.0], budget=120, method=method, seed=1)
    assert found.fun < 0.51


@pytest.mark.parametrize("method", ABLE)
def test_a_constrained_minimum_is_found_without_any_bounds(method):
    found = meco.minimize(plane, FREE, x0=[3.0, -4.0], budget=60, method=method, seed=1)
    assert found.success
    assert found.fun - 0.5 < 1e-8
    assert_allclose(found.multipliers["g1"], 1.0, rtol=1e-4)


def test_rosenbrock_is_solved_from_its_usual_start():
    found = meco.minimize(
        lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, FREE, x0=[-1.2, 1.0], budget=200, method="TR", seed=1
    )
    assert found.fun < 1e-8


def test_hs71_is_solved_with_its_lower_bounds_alone():
    found = meco.minimize(
        lambda x: (x[0] * x[3] * x[:3].sum() + x[2], [25.0 - x.prod()], [x @ x - 40.0]),
        [(1.0, INF)] * 4,
        x0=[1.0, 5.0, 5.0, 1.0],
        budget=120,
        method="TR",
        seed=1,
        tolerances=Tolerances(1e-8, 1e-6),
    )
    assert found.success
    assert abs(found.fun - 17.0140173) < 1e-5


def test_a_minimum_far_from_x0_is_found():
    found = meco.minimize(lambda x: ((x - 1e4) ** 2).sum(), [(None, None)] * 3, x0=[0.0] * 3, budget=100, seed=1)
    assert_allclose(found.x, 1e4, rtol=1e-6)


@pytest.mark.parametrize(("bounds", "x0", "best"), [((0, INF), 1.0, [3, 0]), ((-INF, 0), -1.0, [0, -2])])
def test_half_infinite_bounds_are_kept_and_reached(bounds, x0, best):
    asked = []

    def fun(x):
        asked.append(x.copy())
        return ((x - [3.0, -2.0]) ** 2).sum()

    found = meco.minimize(fun, [bounds] * 2, x0=[x0] * 2, budget=50, seed=1)
    assert_allclose(found.x, best, atol=1e-6)
    assert (np.array(asked) >= bounds[0]).all()
    assert (np.array(asked) <= bounds[1]).all()


def test_variables_of_a_billionth_beside_a_billion_are_scaled_by_x0():
    found = meco.minimize(
        lambda x: (x[0] / 1e-9 - 2.0) ** 2 + (x[1] / 1e9 + 2.0) ** 2, FREE, x0=[1e-9, 1e9], budget=50, seed=1
    )
    assert_allclose(found.x, [2e-9, -2e9], rtol=1e-6)


def test_an_infeasible_x0_is_ordinary():
    found = meco.minimize(plane, FREE, x0=[-50.0, -60.0], budget=50, method="TR", seed=1)
    assert found.fun - 0.5 < 1e-6


def test_integers_need_no_bounds():
    variables = [meco.Variable(None, None, integer=True), meco.Variable(-3, None, integer=True), (0, 1)]
    found = meco.minimize(lambda x: ((x - [123, -5, 0.2]) ** 2).sum(), variables, x0=[0, 0, 0.5], budget=100, seed=1)
    assert_allclose(found.x, [123, -3, 0.2], atol=1e-3)


@pytest.mark.parametrize("hard", [False, True])
def test_linear_constraints_are_known_exactly_without_a_box(hard):
    asked = []

    def fun(x):
        asked.append(x.copy())
        return ((x - 300.0) ** 2).sum()

    row = LinearConstraint([[1.0, 2.0]], -INF, 90.0, keep_feasible=hard)
    found = meco.minimize(fun, [(-INF, INF), (0.0, INF)], row, x0=[0.0, 0.0], budget=60, method="TR", seed=1)
    assert_allclose(found.x, [90.0, 0.0], atol=1e-4)
    if hard:
        assert (np.array(asked) @ [1.0, 2.0] <= 90.0 * (1 + 1e-9)).all()


def test_a_row_that_no_point_keeps_gives_a_warning_and_one_with_an_infinite_term_does_not():
    unreachable = LinearConstraint([[1.0, 0.0]], -INF, -1.0)
    with pytest.warns(UserWarning, match="lies between 0 and inf within the bounds"):
        meco.minimize(plane, [(0.0, INF)] * 2, unreachable, x0=[1.0, 1.0], budget=20)
    meco.minimize(lambda x: x @ x, FREE, LinearConstraint([[1.0, 0.0]], -INF, -1.0), x0=[1.0, 1.0], budget=20)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ABLE + ABLE_PEERS])
def test_other_methods_refuse_before_the_first_call_and_name_those_that_can(method):
    with pytest.raises(InvalidInput, match=r"infinite bounds, \(-inf, inf\), and .* use one of TR, TR-ES, MeCO-TR"):
        meco.minimize(pytest.fail, FREE, x0=[0.0, 0.0], budget=50, method=method)


@pytest.mark.parametrize(
    ("bounds", "more", "said"),
    [
        (FREE, {}, "needs a point to begin at: give x0="),
        ([(0, 1), (0, INF)], {}, r"variable x2 has infinite bounds, \(0, inf\)"),
        (FREE, {"evaluated": ([[1.0, 2.0]], [np.nan])}, "give x0="),
        (FREE, {"x0": [INF, 0.0]}, "variable 0 of point 0 must be finite; got inf"),
        (FREE, {"x0": [0.0, -1e300]}, "too far from 0 to search around it: x2 is -1e"),
        ([(0, INF)] * 2, {"x0": [-1.0, 0.0]}, r"outside its bounds \[0.0, inf\]"),
    ],
)
def test_what_a_search_without_bounds_needs_is_asked_for(bounds, more, said):
    with pytest.raises(InvalidInput, match=said):
        meco.minimize(pytest.fail, bounds, budget=50, **more)


def test_the_best_of_known_points_is_where_the_search_begins():
    x = np.array([[500.0, 500.0], [480.0, 520.0], [300.0, 100.0]])
    values = [plane(point) for point in x]
    first = []

    def fun(point):
        first.append(point.copy())
        return plane(point)

    known = x, [f for f, _ in values], [g for _, g in values]
    found = meco.minimize(fun, FREE, evaluated=known, budget=60, method="TR", seed=1)
    assert_allclose(found.fun, 0.5, atol=1e-6)
    assert np.abs(first[0] - [300.0, 100.0]).max() < 1000.0


@pytest.mark.parametrize("stop", [7, 23, pytest.param(41, marks=pytest.mark.slow)])
def test_a_run_is_continued_bit_for_bit(tmp_path, stop):
    bounds, calls = [(-INF, INF), (0.0, None), (None, 9.0)], []

    def fun(x):
        return ((x - [40.0, -1.0, 3.0]) ** 2).sum(), [1.0 - x.sum()]

    def broken(x):
        calls.append(1)
        if len(calls) > stop:
            raise KeyboardInterrupt
        return fun(x)

    pass_for(fun, broken)
    start = {"x0": [0.0, 1.0, 1.0], "budget": 50, "seed": 3}
    whole = meco.minimize(fun, bounds, **start)
    meco.minimize(broken, bounds, checkpoint=tmp_path / "run", **start)
    again = meco.minimize(fun, bounds, checkpoint=Checkpoint(tmp_path / "run", resume=True), **start)
    assert_array_equal(again.evaluations.x, whole.evaluations.x)


def test_run_json_and_result_json_are_strict_json_and_say_null_for_no_bound(tmp_path):
    meco.minimize(plane, [(-INF, INF), (0, INF)], x0=[1.0, 1.0], budget=20, seed=1, checkpoint=tmp_path / "run")
    told = strict((tmp_path / "run" / "run.json").read_text())["inputs"]["variables"]
    assert [(v["low"], v["high"]) for v in told] == [(None, None), (0.0, None)]
    strict((tmp_path / "run" / "result.json").read_text())
    again = meco.minimize(plane, [(-INF, INF), (0, INF)], evaluated=tmp_path / "run", budget=20, seed=2)
    assert again.fun <= 0.5 + 1e-3


def test_an_optimizer_is_asked_and_told_and_saved_without_bounds():
    def spend(search, until=None):
        points = []
        while not search.done and (until is None or len(points) < until):
            x = search.ask()
            points += list(x)
            search.tell(x, (x**2).sum(axis=1), g=1.0 - x.sum(axis=1, keepdims=True))
        return np.array(points)

    search = meco.Optimizer([(None, None)] * 2, 1, x0=[5.0, 5.0], budget=50, seed=3)
    whole = spend(meco.Optimizer([(None, None)] * 2, 1, x0=[5.0, 5.0], budget=50, seed=3))
    first = spend(search, 20)
    state = search.state()
    strict(str(state["inputs"]))
    rest = spend(meco.Optimizer.from_state(state))
    assert_array_equal(np.concatenate([first, rest]), whole)
    assert search.variables.each[0].infinite


def test_points_are_asked_one_by_one_without_bounds():
    search = meco.Optimizer(FREE, 1, x0=[9.0, -3.0], budget=60, seed=1, workers=Workers(batch=3, asynchronous=True))
    while not search.done:
        x = search.ask()
        search.tell(x, (x**2).sum(axis=1), g=1.0 - x.sum(axis=1, keepdims=True))
    assert search.result.fun < 0.51


def test_a_function_that_fails_where_x0_is_is_looked_for_around_it():
    def fun(x):
        if abs(x[0]) < 2.0:
            raise ValueError("no mesh")
        return (x - 5.0) @ (x - 5.0)

    found = meco.minimize(fun, FREE, x0=[0.0, 0.0], budget=80, seed=1)
    assert found.fun < 1e-3
