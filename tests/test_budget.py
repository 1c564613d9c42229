"""Calls of the user's function never exceed the budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meco
from meco import Method

SERIAL, THREADS = "serial", "threads"


class Unreliable:
    """Fails at a share of its calls, in a different way each time, and counts them all."""

    def __init__(self, share, seed, constrained=True):
        self.share, self.constrained = share, constrained
        self.rng = np.random.default_rng(seed)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.rng.random() < self.share:
            if self.rng.random() < 0.5:
                raise RuntimeError("no convergence")
            return float("nan")
        return (float(x @ x), [1.0 - x[0]]) if self.constrained else float(x @ x)


@settings(max_examples=20, deadline=None)
@given(
    budget=st.integers(1, 130),
    size=st.integers(4, 60),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    on_error=st.sampled_from(["penalize", "retry"]),
    method=st.sampled_from(["SHADE-FR", "SHADE", "MA-ES", "MeCO-rand"]),
    workers=st.sampled_from([SERIAL, THREADS]),
    seed=st.integers(0, 10**6),
)
def test_calls_never_exceed_the_budget(budget, size, share, on_error, method, workers, seed):
    fun = Unreliable(share, seed)
    options = {"budget": budget, "method": Method(method, pop_size=size), "seed": seed, "on_error": on_error}
    if workers == THREADS:
        with ThreadPoolExecutor(3) as pool:
            result = meco.minimize(fun, [(-5, 5)] * 3, workers=pool, **options)
    else:
        result = meco.minimize(fun, [(-5, 5)] * 3, **options)
    assert fun.calls == result.nfev == budget
    assert len(result.evaluations) == budget


@pytest.mark.parametrize("method", ["SciPy-DE", "COBYQA", "CMA-ES-native", "ISRES", "COBRA"])
@pytest.mark.parametrize("on_error", ["penalize", "retry"])
def test_library_methods_keep_the_budget_too(method, on_error):
    pytest.importorskip("scipy"), pytest.importorskip("cma"), pytest.importorskip("pymoo")
    for budget in (1, 7, 60):
        fun = Unreliable(0.2, 1)
        result = meco.minimize(fun, [(-5, 5)] * 3, method=method, seed=1, budget=budget, on_error=on_error)
        assert fun.calls == result.nfev <= budget
        assert np.isfinite(result.x).all()


@settings(max_examples=4, deadline=None)
@given(budget=st.integers(1, 40), workers=st.integers(2, 4), share=st.sampled_from([0.0, 0.4]))
def test_worker_processes_keep_the_budget(tmp_path_factory, budget, workers, share):
    mark = tmp_path_factory.mktemp("calls") / "calls"
    inner = Unreliable(share, 3)

    def fun(x):
        with open(mark, "ab") as file:
            file.write(b".")
        return inner(x)

    meco.minimize(fun, [(-5, 5)] * 2, method="SHADE-FR", budget=budget, workers=workers, on_error="retry", seed=2)
    assert mark.stat().st_size == budget


def test_a_failed_point_is_tried_three_times_at_most_and_every_try_counts():
    seen = {}

    def fun(x):
        seen[x.tobytes()] = seen.get(x.tobytes(), 0) + 1
        if seen[x.tobytes()] < 3:
            raise OSError("licence server busy")
        return float(x @ x)

    result = meco.minimize(
        fun, [(-5, 5)] * 2, method=Method("SHADE-FR", pop_size=10), budget=90, on_error="retry", seed=1
    )
    assert sum(seen.values()) == 90
    assert max(seen.values()) == 3
    assert result.evaluations.attempt.max() == 2
    assert result.feasible


def test_a_budget_below_the_population_says_so():
    result = meco.minimize(lambda x: x @ x, [(-5, 5)] * 2, method=Method("SHADE-FR", pop_size=20), budget=3, seed=1)
    assert result.nfev == 3
    assert "below the population of 20" in result.message


def test_without_a_budget_fifty_evaluations_per_variable_are_made():
    assert meco.minimize(lambda x: x @ x, [(-5, 5)] * 3, method="SHADE-FR", seed=1).nfev == 150
