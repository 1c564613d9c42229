"""How many points are asked for together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import meco
from meco import Checkpoint, Workers
from meco.run.recorded import read_recorded
from small_runs import BOX, named

QUICK = {"method": "SHADE-FR", "budget": 60, "seed": 1}


def test_the_batch_follows_the_workers_and_decides_the_points(tmp_path):
    three = meco.minimize(named, BOX, budget=60, seed=1, workers=3, checkpoint=tmp_path / "run")
    alone = meco.minimize(named, BOX, budget=60, seed=1, workers=Workers(batch=3))
    assert_array_equal(three.evaluations.x, alone.evaluations.x)
    assert read_recorded(tmp_path / "run").inputs["options"]["batch"] == 3
    again = meco.minimize(
        named, BOX, budget=60, seed=1, workers=1, checkpoint=Checkpoint(tmp_path / "run", resume=True)
    )
    assert_array_equal(again.evaluations.x, three.evaluations.x)


def test_an_executor_or_a_map_gets_eight_points_at_once():
    with ThreadPoolExecutor(2) as pool:
        found = [meco.minimize(named, BOX, budget=60, seed=1, workers=w) for w in (pool, pool.map)]
    eight = meco.minimize(named, BOX, budget=60, seed=1, workers=Workers(batch=8))
    for result in found:
        assert_array_equal(result.evaluations.x, eight.evaluations.x)


def test_methods_with_a_population_do_not_depend_on_workers():
    one, two = (meco.minimize(named, BOX, workers=n, **QUICK) for n in (1, 2))
    assert_array_equal(one.evaluations.x, two.evaluations.x)


@pytest.mark.parametrize("batch", [1, 8, *(pytest.param(batch, marks=pytest.mark.slow) for batch in (2, 4))])
def test_batches_leave_a_minimum_of_f_that_violates_the_constraints(batch):
    """The search starts in the middle of the box, where f is least and has no slope."""
    result = meco.minimize(
        lambda x: (x @ x, [1 - x[0]], [x[1] + x[2] - 1]), BOX, budget=160, workers=Workers(batch=batch), seed=1
    )
    assert result.feasible
    assert_allclose(result.fun, 1.5, rtol=1e-3)
