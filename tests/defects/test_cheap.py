"""Cheap constraints: no evaluated point violates them, and every combination of variables runs to its end."""

import math

import numpy as np
import pytest

import meco
from meco import Optimizer, Workers

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

METHODS = ("TR",)
INFINITE = [(-4, math.inf), (-4, 4)]
OUTSIDE = [-4.0, 4.0]


def ball(x):
    return (x[0] - 0.73) ** 2 + (x[1] - 0.7) ** 2 - 4.0


@pytest.mark.parametrize("method", METHODS)
def test_an_infinite_bound_and_a_start_outside_leave_every_call_inside(method):
    called = []

    def fun(x):
        called.append(ball(x))
        return float(x @ x), [1 - x[0]]

    result = meco.minimize(fun, INFINITE, cheap=ball, x0=OUTSIDE, budget=60, seed=1, method=method)
    assert max(called) <= 1e-9
    assert result.success
    assert result.fun == pytest.approx(1.0, abs=1e-2)


def test_an_optimizer_with_an_infinite_bound_and_a_start_outside_asks_for_points_inside():
    search = Optimizer(INFINITE, n_ineq=1, cheap=ball, x0=OUTSIDE, budget=60, seed=1)
    asked = []
    while not search.done:
        x = search.ask()
        asked += [ball(point) for point in x]
        search.tell(x, (x**2).sum(axis=1), 1 - x[:, :1])
    assert max(asked) <= 1e-9


def test_a_run_with_an_infinite_bound_and_a_start_outside_resumes_bit_for_bit(tmp_path):
    def run(budget_of_calls, **given):
        made = []

        def fun(x):
            if len(made) == budget_of_calls:
                raise KeyboardInterrupt
            made.append(x.copy())
            return float(x @ x), [1 - x[0]]

        return meco.minimize(fun, INFINITE, cheap=ball, x0=OUTSIDE, budget=40, seed=1, **given)

    whole = run(40)
    run(25, checkpoint=tmp_path / "run")
    resumed = run(40, checkpoint=meco.Checkpoint(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(whole.evaluations.x, resumed.evaluations.x)


MIXED = {"m": ["a", "b", "c"], "w": (-4.0, 4.0)}
UNORDERED = {"m": ["a", "b", "c", "d"], "n": ["u", "v"]}


def weighed(d):
    return d["w"] ** 2 + {"a": 1.0, "b": 2.0, "c": 0.5}[d["m"]], [1 - d["w"]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [1, 3])
def test_categories_and_a_thin_cheap_set_run_to_the_budget(method, batch):
    thin = lambda d: abs(d["w"] - 1.5) - (0.0 if d["m"] == "a" else 0.001)  # noqa: E731
    result = meco.minimize(
        weighed, MIXED, cheap=thin, budget=60, seed=0, method=method, workers=Workers(1, batch=batch)
    )
    assert result.nfev == 60
    assert result.design["m"] == "c"
    assert result.design["w"] == pytest.approx(1.499, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_categories_alone_and_a_cheap_constraint_run_to_the_budget(method):
    def fun(d):
        return float("abcd".index(d["m"]) + "uv".index(d["n"]))

    result = meco.minimize(fun, UNORDERED, cheap=lambda d: -1.0, budget=20, seed=0, method=method)
    assert result.nfev == 20
    assert result.design == {"m": "a", "n": "u"}
