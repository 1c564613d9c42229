"""What is told, returned or given is copied once: changing it later changes nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from meco import Method
from small_runs import BOX, run


def test_what_is_told_is_copied():
    search = meco.Optimizer(BOX, n_ineq=1, n_eq=1, method=Method("SHADE-FR", pop_size=10), budget=300, seed=1)
    x, f, g, h = (np.zeros((10, n)) for n in (3, 1, 1, 1))
    while not search.done:
        asked = search.ask()
        n = len(asked)
        x[:n], f[:n, 0], g[:n], h[:n] = asked, (asked**2).sum(1), 1 - asked[:, :1], 0.0
        search.tell(x[:n], f[:n, 0], g[:n], h[:n])
        for told in (x, f, g, h):
            told[:] = -777.0
    result = search.result
    assert result.fun == float((result.x**2).sum())
    assert result.constraints["g1"].value == 1 - result.x[0] <= 0


def test_what_a_function_returns_is_copied():
    shared = np.zeros(1)

    def fun(x):
        shared[0] = 1.0 - x[0]
        return float(x @ x), shared

    made = run(fun).evaluations
    assert_array_equal(made.g[:, 0], 1.0 - made.x[:, 0])


def test_points_bounds_limits_and_known_values_are_copied():
    class Limits:
        lb, ub = np.array([1.0]), np.array([np.inf])
        A = np.array([[1.0, 0.0, 0.0]])

    given = {"x0": np.full((1, 3), 2.0), "evaluated": (np.full((2, 3), 3.0), np.full(2, 27.0), np.full((2, 1), -2.0))}
    box = np.array(BOX)

    def fun(x):
        box[:], given["x0"][:], given["evaluated"][0][:], given["evaluated"][2][:] = 9.0, 9.0, 9.0, 9.0
        Limits.lb[:], Limits.A[:] = 9.0, 9.0
        return float(x @ x)

    result = meco.minimize(fun, box, Limits(), method=Method("SHADE-FR", pop_size=10), budget=40, seed=1, **given)
    made = result.evaluations
    assert (made.x >= -5).all()
    assert (made.x <= 5).all()
    assert_array_equal(made.x[2], [2.0] * 3)
    assert_array_equal(made.x[0], [3.0] * 3)
    assert_array_equal(made.g[:, 0], 1.0 - made.x[:, 0])


def test_a_callback_cannot_change_the_run():
    def spoil(result):
        with pytest.raises(ValueError, match="read-only"):
            result.evaluations.f[:] = -1.0
        result.x[:] = 99.0

    assert_array_equal(run(callback=spoil).evaluations.f, run().evaluations.f)
