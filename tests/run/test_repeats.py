"""A noisy function: the best points are called again, and their means decide."""

from types import SimpleNamespace

import numpy as np
import pytest
from meco.run.repeats import means, settled
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco.errors import InvalidInput
from small_runs import f_and_g, noted

BOX = [(-2.0, 2.0)] * 3


def noisy(seed):
    rng = np.random.default_rng(seed)
    return lambda x: (float(x @ x) + 0.1 * rng.normal(), [1.0 - x[0] + 0.01 * rng.normal()])


def test_the_best_point_of_a_noisy_function_is_called_again_within_the_budget():
    fun = noted(noisy(0))
    result = meco.minimize(fun, BOX, budget=100, repeats=20, seed=1)
    assert len(fun.seen) == result.nfev == 100
    again = result.repeated
    same = [i for i, x in enumerate(result.evaluations.x) if np.array_equal(x, result.x)]
    f = result.evaluations.f[same]
    assert again["calls"] == len(same) >= 4
    assert_allclose([result.fun, again["mean"], again["spread"]], [f.mean(), f.mean(), f.std(ddof=1)])
    assert_allclose(result.constr["g1"]["value"], result.evaluations.g[same].mean())
    assert f"the mean of {len(same)} calls" in result.message


def test_a_mean_lies_nearer_to_the_truth_than_the_least_of_many_values():
    def bias(**options):
        runs = [meco.minimize(noisy(s), BOX, budget=100, seed=s, ineq_tol=0.05, **options) for s in range(6)]
        return np.mean([r.fun - r.x @ r.x for r in runs])

    assert bias() < -0.12
    assert abs(bias(repeats=20)) < 0.06


def test_repeats_are_refused_where_the_budget_has_no_room():
    with pytest.raises(InvalidInput, match="less than half of the budget"):
        meco.minimize(f_and_g, BOX, budget=20, repeats=10)


def test_a_run_with_repeats_resumes_with_what_it_recorded(tmp_path):
    whole = meco.minimize(noisy(0), BOX, budget=60, repeats=10, seed=1, checkpoint=tmp_path / "run")
    again = meco.minimize(noisy(1), BOX, budget=60, seed=1, checkpoint=tmp_path / "run", resume=True)
    assert_array_equal(again.evaluations.f, whole.evaluations.f)
    assert again.repeated["calls"] == whole.repeated["calls"]


def test_means_and_spreads_of_repeated_points():
    every = SimpleNamespace(
        x=np.array([[0.0], [1.0], [0.0], [2.0]]), f=np.array([1.0, 2.0, 3.0, 0.0]), g=np.zeros((4, 0)),
        h=np.zeros((4, 0)), failed=np.array([False, False, False, True]),
    )  # fmt: skip
    found = means(every)
    assert_array_equal(found.calls, [2, 1])
    assert_array_equal(found.mean[0], [2.0, 2.0])
    assert_allclose(found.spread[0], [np.sqrt(2.0), 0.0])
    assert settled(every, (0.0, 0.0)).x == [0.0]


def test_a_search_that_ends_early_still_calls_its_best_point_again():
    result = meco.minimize(noisy(0), BOX, budget=200, repeats=8, target=3.0, seed=1)
    assert result.stop_reason == "target"
    assert result.repeated["calls"] >= 4
    assert result.nfev < 150
