"""The single-run search behind the lockstep interface."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from single_runs import run

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.errors import InvalidInput
from meco.tr_single.engine import TrustRegionEngine, supports


def task_of(problem, seeds=(1,), budget=60):
    return Task.of(Evaluator.on(problem, budget, len(seeds)), Streams(seeds))


def test_every_run_is_the_run_alone():
    problem = meco.get_problem("tilted", 4)
    evaluator = Evaluator.on(problem, 60, 3)
    engine = TrustRegionEngine(Task.of(evaluator, Streams([1, 2, 3])), batch=2)
    points = []
    while evaluator.nfev.min() < 60:
        x = engine.ask()
        points.append(x)
        engine.tell(x, evaluator.evaluate(x))
    points = np.concatenate(points, axis=1)[:, :60]
    for row, seed in enumerate((1, 2, 3)):
        assert_array_equal(points[row], run(problem, 60, seed, batch=2)[0])


def test_tasks_with_features_that_are_missing_are_left_to_the_other_engine():
    task = task_of(meco.get_problem("tilted", 4))
    assert supports(task)
    assert not supports(replace(task, noisy=True))
    assert not supports(replace(task, dim=60))
    assert not supports(task, n_constraints=2000)


@pytest.mark.parametrize("options", [{"batch": 0}, {"radius_growth": 0.5}, {"theta": 0.5}])
def test_wrong_options_are_refused(options):
    with pytest.raises(InvalidInput, match="TR"):
        TrustRegionEngine(task_of(meco.get_problem("tilted", 4)), **options)
