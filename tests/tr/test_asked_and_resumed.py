"""TR asked and told in any order, saved and loaded, interrupted and resumed: always the same run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import meco
from interruption import broken_off

BOX = [(-5.0, 5.0)] * 3
BUDGET = 50


def values(x):
    return (x * x).sum(axis=-1), np.stack([1.0 - x[:, 0], x[:, 1] - 3.0], axis=-1), x[:, :1] - x[:, 2:]


def fun(x):
    if x[1] > 4:
        raise ValueError("no mesh")
    f, g, h = values(x[None])
    return f[0], g[0], h[0]


def options(**more):
    return {"method": "TR", "budget": BUDGET, "seed": 4, **more}


def same(a, b):
    for key in ("x", "f", "g", "h", "failed"):
        assert_array_equal(getattr(a.evaluations, key), getattr(b.evaluations, key))
    assert_array_equal(a.x, b.x)
    assert a.nfev == b.nfev
    for key in a.trace:
        assert_array_equal(a.trace[key], b.trace[key])


@cache
def undisturbed():
    """The run of minimize() that nobody stopped."""
    return meco.minimize(fun, BOX, **options())


@pytest.mark.parametrize("save", [False, True])
def test_asking_and_telling_in_any_order_is_the_run_of_minimize(save):
    search, rng = meco.Optimizer(BOX, 2, 1, **options()), np.random.default_rng(1)
    while not search.done:
        x = search.ask()
        x = x[rng.permutation(len(x))]
        search.tell(x, *values(x), failed=x[:, 1] > 4)
        if save and rng.random() < 0.3:
            search = meco.Optimizer.from_state(search.state())
    same(search.result, undisturbed())


@pytest.mark.parametrize("after", [0, 3, 7, 8, 31, 49])
def test_an_interrupted_run_goes_on_bit_for_bit(after, tmp_path):
    part = meco.minimize(broken_off(fun, after), BOX, checkpoint=tmp_path / "run", **options())
    assert (part.run.stop_reason, part.nfev) == ("interrupt", after)
    resumed = meco.minimize(fun, BOX, checkpoint=meco.Checkpoint(tmp_path / "run", resume=True), **options())
    same(resumed, undisturbed())


def test_known_and_starting_points_are_resumed_with_the_run(tmp_path):
    known = np.random.default_rng(3).uniform(-5, 4, (15, 3))
    more = options(evaluated=(known, *values(known)), x0=[0.1, 0.2, 0.3])
    meco.minimize(broken_off(fun, 20), BOX, checkpoint=tmp_path / "run", **more)
    resumed = meco.minimize(fun, BOX, checkpoint=meco.Checkpoint(tmp_path / "run", resume=True), **more)
    same(resumed, meco.minimize(fun, BOX, **more))


def test_workers_change_nothing():
    by_two = meco.minimize(fun, BOX, workers=meco.Workers(2, batch=1), **options())
    same(by_two, undisturbed())  # a batch follows workers unless given
