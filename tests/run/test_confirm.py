"""A noisy function: the best points of a run are called again, and their means decide."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from event_logs import events_of
from meco import Stop
from meco.answer.confirm import average_calls, best_confirmed_point
from meco.errors import InvalidInput
from small_runs import f_and_g, noted

BOX = [(-2.0, 2.0)] * 3


def noisy(seed):
    rng = np.random.default_rng(seed)
    return lambda x: (float(x @ x) + 0.1 * rng.normal(), [1.0 - x[0] + 0.01 * rng.normal()])


def test_the_best_point_of_a_noisy_function_is_called_again():
    fun = noted(noisy(0))
    found = meco.minimize(fun, BOX, budget=80, seed=1)
    result = meco.confirm(found, fun, calls=20)
    assert len(fun.seen) == result.nfev == len(result.evaluations) == 100
    assert (found.nfev, found.repeated) == (80, None)  # the run's own result stays what it was
    again = result.repeated
    same = [i for i, x in enumerate(result.evaluations.x) if np.array_equal(x, result.x)]
    f = result.evaluations.f[same]
    assert again["calls"] == len(same) >= 4
    assert_allclose([result.fun, again["mean"], again["spread"]], [f.mean(), f.mean(), f.std(ddof=1)])
    assert_allclose(result.constraints["g1"].value, result.evaluations.g[same].mean())
    assert f"Confirmed by {len(same)} calls" in result.message


def test_a_mean_lies_nearer_to_the_truth_than_the_least_of_many_values():
    bias = []
    for seed in range(4):
        fun = noisy(seed)
        least = meco.minimize(fun, BOX, budget=60, seed=seed, tolerances=0.05, noise=False)
        bias.append([result.fun - result.x @ result.x for result in (least, meco.confirm(least, fun, 20))])
    assert np.mean(bias, axis=0)[0] < -0.12
    assert abs(np.mean(bias, axis=0)[1]) < 0.06


def test_a_result_of_a_resumed_run_is_confirmed_like_any_other(tmp_path):
    meco.minimize(noisy(0), BOX, budget=60, seed=1, checkpoint=tmp_path / "run")
    again = meco.minimize(noisy(1), BOX, checkpoint=meco.Checkpoint(tmp_path / "run", resume=True))
    one, two = (meco.confirm(again, noisy(2), calls=10) for _ in range(2))
    assert_array_equal(one.evaluations.f, two.evaluations.f)
    assert one.repeated["calls"] == two.repeated["calls"] > 1


def test_means_and_spreads_of_repeated_points():
    every = SimpleNamespace(
        x=np.array([[0.0], [1.0], [0.0], [2.0]]), f=np.array([1.0, 2.0, 3.0, 0.0]), g=np.zeros((4, 0)),
        h=np.zeros((4, 0)), failed=np.array([False, False, False, True]), feasible=np.array([True, True, True, False]),
    )  # fmt: skip
    found = average_calls(every)
    assert_array_equal(found.calls, [2, 1])
    assert_array_equal(found.f, [2.0, 2.0])
    assert_array_equal(found.several, [0])
    assert_allclose(found.spread[0], [np.sqrt(2.0)])
    assert best_confirmed_point(every, (0.0, 0.0)).x == [0.0]


def test_a_search_that_ended_early_is_confirmed_too():
    found = meco.minimize(noisy(0), BOX, budget=200, stop=Stop(target=3.0), seed=1)
    result = meco.confirm(found, noisy(1), calls=8)
    assert result.run.stop_reason == "target"
    assert result.repeated["calls"] >= 4
    assert result.nfev == found.nfev + 8 < 150


def test_separate_constraints_and_rows_of_points_are_called_as_in_the_run():
    def rows(x):
        return (x * x).sum(axis=1)

    found = meco.minimize(
        rows, BOX, lambda x: 1.0 - x[..., 0], workers=meco.Workers(vectorized=True), budget=60, seed=1
    )
    result = meco.confirm(found, rows, 6, constraints=lambda x: 1.0 - x[..., 0], vectorized=True)
    assert (result.nfev, result.feasible) == (66, True)
    assert result.repeated["spread"] == pytest.approx(0.0, abs=1e-15)
    assert result.fun == pytest.approx(found.fun, abs=1e-9)


def test_variables_by_name_are_confirmed_by_name():
    def fun(x):
        return x["a"] ** 2 + x["b"]

    found = meco.minimize(fun, {"a": (-1, 1), "b": (0, 2)}, budget=30, seed=1)
    assert meco.confirm(found, fun, 5).fun == found.fun


def test_a_call_that_fails_counts_and_changes_nothing():
    def broken(x):
        raise ValueError("no mesh")

    found = meco.minimize(f_and_g, BOX, budget=40, seed=1)
    result = meco.confirm(found, broken, calls=3)
    assert (result.nfev, result.fun, result.repeated) == (43, found.fun, None)


def test_mistakes_are_named():
    found = meco.minimize(f_and_g, BOX, budget=40, seed=1)
    with pytest.raises(InvalidInput, match="calls must be at least 1"):
        meco.confirm(found, f_and_g, calls=0)
    with pytest.raises(InvalidInput, match="a result of minimize"):
        meco.confirm(meco.solve("SHADE", "tilted", 60, [1])[0], f_and_g)
    with pytest.raises(InvalidInput, match=r"0 inequalities and 0 equalities, but the run has 1 and 0"):
        meco.confirm(found, lambda x: float(x @ x))
    with pytest.raises(InvalidInput, match="fun must be a function"):
        meco.confirm(found, None)


def test_arguments_in_the_wrong_order_are_refused_in_words():
    result = meco.minimize(lambda x: x @ x, [(-1, 1)] * 2, budget=20, seed=1)
    with pytest.raises(InvalidInput, match=r"confirm\(result, fun\)"):
        meco.confirm(lambda x: x @ x, result)


def test_the_calls_that_confirm_a_run_are_in_its_folder_and_a_resumed_run_ignores_them(tmp_path):
    fun = lambda x: float(x @ x)  # noqa: E731
    options = {"budget": 20, "seed": 1, "checkpoint": meco.Checkpoint(tmp_path / "run", resume=True)}
    first = meco.minimize(fun, [(-2, 2)] * 2, **options)
    meco.confirm(first, fun, calls=5)
    confirmed = [event for event in events_of(tmp_path / "run") if event[0] == "confirm"]
    assert [event[5] for event in confirmed] == [fun(np.array(event[1])) for event in confirmed]
    assert len(confirmed) == 5
    again = meco.minimize(fun, [(-2, 2)] * 2, **options)
    assert (again.nfev, again.fun) == (20, first.fun)
