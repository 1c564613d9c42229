"""A first design of which every call fails: the search goes on from the first success."""

import math

import pytest

import meco
from meco import Optimizer

METHODS = ("TR",)
MIXED = {"m": ["a", "b", "c"], "w": (-4.0, 4.0), "v": (-4.0, 4.0)}
UNORDERED = {"m": ["a", "b", "c"], "n": ["u", "v"]}
UNBOUNDED = {"m": ["a", "b", "c"], "w": (-math.inf, math.inf)}


def failing_first(count):
    """A function whose first calls raise."""
    made = []

    def fun(d):
        made.append(d)
        if len(made) <= count:
            raise RuntimeError("mesh")
        return (d.get("w", 0.0) - 1.0) ** 2 + d.get("v", 0.0) ** 2 + "abc".index(d["m"])

    return fun


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("failures", [7, 12])
@pytest.mark.parametrize("bounds", [MIXED, UNORDERED, UNBOUNDED], ids=["mixed", "unordered", "unbounded"])
def test_categories_are_searched_after_a_failed_first_design(method, failures, bounds):
    x0 = {name: value[0] if isinstance(value, list) else 0.5 for name, value in bounds.items()}
    fun = failing_first(failures)
    result = meco.minimize(fun, bounds, budget=60, seed=0, method=method, on_error="penalize", x0=x0)
    assert result.nfev == 60
    assert result.success


def test_an_optimizer_searches_categories_after_a_failed_first_design():
    search = Optimizer(MIXED, budget=60, seed=0)
    fun = failing_first(9)
    while not search.done:
        for x in search.ask():
            try:
                search.tell(x, fun(search.variables.design(x)))
            except RuntimeError:
                search.tell(x, failed=True)
    assert search.result.fun < 1e-3
