"""Resuming with a larger budget just goes on: nothing is called again, and an extended run can be interrupted too."""

import numpy as np
import pytest

import meco
from meco import Checkpoint
from meco.errors import InvalidInput

BOX = [(-5, 5)] * 3


class Counted:
    """A bowl with a wall that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return float(((x - 0.3) ** 2).sum()), [1 - x[0]]


@pytest.mark.parametrize("method", ["TR", "SHADE", "CMA-ES", "COBRA"])
def test_a_finished_run_goes_on_with_a_larger_budget(method, tmp_path):
    fun, options = Counted(), {"method": method, "seed": 1}
    first = meco.minimize(fun, BOX, budget=30, checkpoint=tmp_path / "run", **options)
    more = meco.minimize(fun, BOX, budget=50, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    assert (first.nfev, more.nfev, fun.calls) == (30, 50, 50)
    assert (more.evaluations.x[:30] == first.evaluations.x).all()
    assert more.fun <= first.fun
    assert not [note for note in more.run.notes if "population" in note and "generations" not in note]


@pytest.mark.parametrize(
    ("method", "budget"),
    [("TR", 30), ("SHADE", 60), pytest.param("TR", 60, marks=pytest.mark.slow)],
)
def test_a_search_goes_on_where_it_ended(method, budget, tmp_path):
    """Starts, models and failures included: no other search begins."""

    def fun(x):
        if x[1] > 3:
            raise RuntimeError("no convergence")
        return float(((x - 0.3) ** 2).sum()), [1 - x[0]]

    options = {"method": method, "seed": 1}
    first = meco.minimize(fun, BOX, budget=budget, checkpoint=tmp_path / "run", **options)
    more = meco.minimize(fun, BOX, budget=budget + 20, checkpoint=Checkpoint(tmp_path / "run", resume=True), **options)
    for name in first.trace:
        np.testing.assert_array_equal(more.trace[name][: len(first.trace[name])], first.trace[name])


@pytest.mark.parametrize("method", ["TR", "COBRA"])
def test_an_extended_run_that_was_interrupted_ends_as_if_it_had_not_been(method, tmp_path):
    def run(folder, **more):
        return meco.minimize(
            fun, BOX, seed=1, method=method, checkpoint=Checkpoint(tmp_path / folder, resume=True), **more
        )

    results = []
    for folder, stop_at in (("whole", 10**9), ("cut", 25)):
        fun = Counted()
        run(folder, budget=20)
        run(folder, budget=30, callback=lambda result, at=stop_at: result.nfev >= at)
        results.append(run(folder))
        assert fun.calls == 30
    assert (results[0].evaluations.x == results[1].evaluations.x).all()


def test_an_asynchronous_run_goes_on_with_a_larger_budget(tmp_path):
    workers = meco.Workers(2, asynchronous=True)
    meco.minimize(Counted(), BOX, budget=30, seed=1, workers=workers, checkpoint=tmp_path / "run")
    more = meco.minimize(
        Counted(), BOX, budget=45, seed=1, workers=workers, checkpoint=Checkpoint(tmp_path / "run", resume=True)
    )
    assert more.nfev == 45


def test_a_smaller_budget_is_refused(tmp_path):
    meco.minimize(Counted(), BOX, budget=30, seed=1, checkpoint=tmp_path / "run")
    with pytest.raises(InvalidInput, match="has a budget of 30; it can be raised, not lowered: got 20"):
        meco.minimize(Counted(), BOX, budget=20, seed=1, checkpoint=Checkpoint(tmp_path / "run", resume=True))


def test_known_points_are_not_counted_as_a_population_that_the_budget_does_not_reach():
    known = meco.minimize(Counted(), BOX, budget=40, seed=1).evaluations
    result = meco.minimize(Counted(), BOX, budget=30, seed=2, evaluated=known)
    assert result.nfev == 30
    assert "population" not in result.message
