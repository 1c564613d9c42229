"""Numbers of constraints that differ from answer to answer."""

import os
import random
import signal

import pytest

import meco

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

METHODS = ("TR", "SHADE-FR")
posix = pytest.mark.skipif(os.name != "posix", reason="signals")


def staged(x):
    """Stops at the first stage that is violated."""
    g = {"room": 1 - x[0]}
    if g["room"] > 0:
        return {"g": g}
    g["stress"] = x[1] - 2
    return {"f": float(x @ x), "g": g}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", range(2, 13))
def test_a_run_may_end_while_its_search_begins_again_with_more_constraints(method, budget):
    for dim in (2, 3, 5):
        for x0 in (None, [0.0] * dim):
            result = meco.minimize(staged, [(-4, 4)] * dim, budget=budget, method=method, seed=1, x0=x0)
            assert result.nfev == budget


@posix
@pytest.mark.parametrize("method", ["TR", "SHADE-FR"])
@pytest.mark.parametrize("call", [9, 15, 22, 23, 24])
def test_an_interrupt_while_the_search_begins_again_gives_a_result(method, call):
    made = []

    def fun(x):
        made.append(x)
        if len(made) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return staged(x)

    result = meco.minimize(fun, [(-4, 4)] * 10, x0=[0.0] * 10, budget=500, seed=1, method=method)
    assert result.run.stop_reason == "interrupt"
    assert call - 1 <= result.nfev <= call


@pytest.mark.parametrize("method", ["TR", "SHADE-FR"])
@pytest.mark.parametrize("budget", [40, 80, 150])
@pytest.mark.parametrize("dim", [2, 5])
def test_a_number_alone_is_never_the_answer_beside_answers_with_constraints(method, budget, dim):
    calls = []

    def fun(x):
        calls.append(abs(x - 1).max() <= 0.5)
        return (float(x @ x), [1.2 - x[0]]) if calls[-1] else 1e9

    for seed in range(2):
        result = meco.minimize(fun, [(-4, 4)] * dim, budget=budget, seed=seed, method=method, x0=[1.1] * dim)
        assert result.fun < 1e9
        assert result.nfev - result.run.nfail == sum(calls[-budget:])


@pytest.mark.parametrize("budget", [3, 8, 20, 60])
def test_a_number_alone_by_chance_is_never_the_answer(budget):
    for seed in range(10):
        draw, constrained = random.Random(seed), []

        def fun(x, draw=draw, constrained=constrained):
            if draw.random() < 0.6:
                return 1e9
            constrained.append(x)
            return float(x @ x), [1 - x[0]]

        result = meco.minimize(fun, [(-4, 4)] * 2, budget=budget, seed=seed)
        assert not constrained or result.fun != 1e9
