"""Vectorised and quick functions: batches that pay, and a word on methods that are made for them."""

from types import SimpleNamespace

import numpy as np
import pytest

from meco import Workers, minimize
from meco.run.quick_calls import advise
from meco.tr.proposers.model_points import wide_steps


def bowl(x):
    return np.sum((x - 0.3) ** 2, axis=1), 0.5 - x[:, :1]


def around(centre, reach):
    """A region as wide_steps() reads it."""
    return SimpleNamespace(centre=centre, reach=np.full_like(centre, reach))


def count_calls(**options):
    calls = []

    def counted(x):
        calls.append(len(x))
        return bowl(x)

    return minimize(counted, [(-1.0, 1.0)] * 4, seed=1, **options), calls


def test_a_vectorized_function_gets_batches_that_grow_with_the_budget():
    result, calls = count_calls(budget=1600, workers=Workers(vectorized=True))
    assert (sum(calls), max(calls)) == (1600, 20)
    assert result.fun == pytest.approx(0.04, abs=1e-6)
    assert len(calls) < 90


def test_a_small_budget_is_spent_one_by_one_as_before():
    first, calls = count_calls(budget=100, workers=Workers(vectorized=True))
    second, _ = count_calls(budget=100, workers=Workers(vectorized=True, batch=1))
    np.testing.assert_array_equal(first.evaluations.x, second.evaluations.x)
    assert calls.count(1) > 80


def test_a_batch_that_is_given_is_kept():
    _, calls = count_calls(budget=120, workers=Workers(vectorized=True, batch=3))
    assert sorted(set(calls))[:2] == [1, 3] or set(calls) >= {3}


def seconds_of(count, each):
    """What a run of so many points knows that took so many seconds each."""
    return lambda method: advise(method, count, count * each)


def test_a_function_of_microseconds_is_told_which_methods_are_made_for_it():
    (said,) = seconds_of(3000, 1e-5)("TR")
    assert "a point of fun takes 10 microseconds" in said
    assert "SHADE-FR, which is made for such functions" in said
    assert seconds_of(3000, 1e-5)("SHADE-FR") == []


def test_the_result_says_it(monkeypatch):
    monkeypatch.setattr("meco.run.quick_calls.QUICK_SECONDS", 1e9)  # however busy the machine is
    monkeypatch.setattr("meco.run.quick_calls.ENOUGH_CALLS", 60)
    result, _ = count_calls(budget=60, workers=Workers(vectorized=True))
    assert "which is made for such functions" in result.message
    other, _ = count_calls(budget=60, method="SHADE-FR", workers=Workers(vectorized=True))
    assert "made for such functions" not in other.message


def test_slow_functions_and_short_runs_are_told_nothing():
    assert seconds_of(3000, 0.01)("TR") == []
    assert seconds_of(1000, 1e-5)("TR") == []
    assert advise("TR", 0, 0.0) == []


def test_of_a_large_batch_some_points_lie_anywhere():
    calls = []

    def kept(x):
        calls.append(x)
        return bowl(x)

    found = minimize(kept, [(-1.0, 1.0)] * 3, seed=1, budget=600, workers=Workers(vectorized=True, batch=60))
    moved = np.abs(calls[-2] - found.x) > 0.1
    assert 20 <= moved.any(axis=1).sum() <= 27  # all but the step and 32 further points; a few move by less
    assert not moved.all(axis=1).all()


def test_a_wide_step_leaves_all_variables_but_a_few():
    step = wide_steps(around(np.full((1, 4), 0.25), 0.5), np.array([[[0.1, 0.9, 0.6, 0.7], [0.8, 0.9, 0.6, 0.7]]]))
    np.testing.assert_allclose(step, [[[(0.2 - 0.25) / 0.5, 0, 0, 0], [0, 0, (0.6 - 0.25) / 0.5, 0]]])
