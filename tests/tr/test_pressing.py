"""When weights grow: for what is kept nowhere around, for everything late in a run, and never beyond a new start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from searches import default_values

import meco
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.tr.archive import PointArchive
from meco.tr.engine import TrustRegion
from meco.tr.expectation import Expectation
from meco.tr.merit import ESCALATION_BUDGET_SHARE, WEIGHT_GROWTH
from meco.tr.region import PointSource, Region


def tilted(dim=3):
    """A bowl beside a plane that only a corner of the box keeps."""

    def formula(x):
        return (x**2).sum(axis=-1), 5.0 - x.sum(axis=-1, keepdims=True), np.zeros((*x.shape[:-1], 0))

    return meco.Problem("tilted", np.full(dim, -2.0), np.full(dim, 2.0), 1, 0, formula)


def refused(budget, passed, unmet):
    """Weights before and after a step that ended worse than its centre, which violates the constraint."""
    evaluator = Evaluator.on(tilted(), budget, 1)
    engine = TrustRegion(Task.of(evaluator, Streams([1])))
    for _ in range(2):
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
    engine.ask()
    made = engine.asked.expectation
    yes = np.ones_like(made.violated)
    made = made._replace(source=np.zeros_like(made.source) + PointSource.STEP, violation=1.0 * yes, unmet=yes & unmet)
    engine.asked = engine.asked._replace(expectation=made)
    engine.state.told_array = np.array([float(passed)])
    before, far = engine.region.weights.w, np.zeros((1, 1, 3))
    engine.tell(far, Evaluation.of(made.merit[:, None] + 1.0, np.ones((1, 1, 1)), np.zeros((1, 1, 0))))
    return before, engine.region.weights.w


def test_a_refused_step_presses_what_is_kept_nowhere_around():
    before, after = refused(100, 10, unmet=True)
    assert_array_equal(after, WEIGHT_GROWTH * before)


def test_what_is_kept_around_is_pressed_only_late():
    before, after = refused(100, 100 * ESCALATION_BUDGET_SHARE - 1, unmet=False)
    assert_array_equal(after, before)
    before, after = refused(100, 100 * ESCALATION_BUDGET_SHARE, unmet=False)
    assert_array_equal(after, WEIGHT_GROWTH * before)


class Restart(NamedTuple):
    """A turn that starts anew: the engine's region when it is asked, and after the answer."""

    asked: Region
    made: Expectation
    after: Region
    archive: PointArchive
    blind: bool


def restarts(problem, budget, batch=1):
    """Every turn of a search that starts anew, at least one."""
    evaluator = Evaluator.on(problem, budget, 1)
    engine, found = TrustRegion(Task.of(evaluator, Streams([1])), batch=batch), []
    while evaluator.left >= batch:
        first = engine.generation == 0
        asked = None if first else engine.region
        blind = not first and bool(engine.archive.failed[engine.archive.restart_index == asked.restart_index].all())
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
        if not first and engine.asked.expectation.source[0, 0] == PointSource.RESTART:
            found.append(Restart(asked, engine.asked.expectation, engine.region, engine.archive, blind))
    assert found
    return found


@pytest.fixture(scope="module")
def starts_of_a_search():
    return restarts(tilted(), 400)


def test_a_new_start_has_the_weights_that_multipliers_and_scales_ask_for_and_no_floors(starts_of_a_search):
    for restart in starts_of_a_search:
        after = restart.after.weights
        assert_array_equal(after.floor, 0.0)
        assert_array_equal(after.w, restart.made.restart_weights)
        assert np.all(after.w > 0.0)  # else f alone would be looked at until the next step
        assert np.all(after.w <= restart.made.weights.w)


def test_until_its_answer_comes_a_new_start_is_compared_with_the_weights_of_the_search_before(
    starts_of_a_search,
):
    for restart in starts_of_a_search:
        faded = restart.asked.weights.decayed(3, default_values().weight_decay).w
        assert np.all(restart.made.weights.w >= faded)  # raised by the last step, not forgotten


def test_only_the_first_point_of_a_turn_belongs_to_the_new_start():
    found = restarts(tilted(), 400, batch=3)
    starts = found[0].archive.restart_index[0]
    assert starts.max() == len(found)
    for restart in found:
        new = int(restart.after.restart_index[0])
        place = int(np.argmax(starts == new))  # points come in order
        those = starts[place : place + 4].tolist()  # fewer at the end of the run
        assert those == [new, new - 1, new - 1, new][: len(those)]


def test_a_start_that_fails_keeps_what_is_left_of_the_weights():
    problem = tilted()
    calls = iter(range(10_000))

    def formula(x):
        f, g, h = problem.formula(x)
        return np.where(next(calls) % 3 == 0, np.nan, f), g, h  # every third turn fails

    fails = meco.Problem("fails", problem.lower, problem.upper, 1, 0, formula)
    blind = [restart for restart in restarts(fails, 120) if restart.blind]
    assert blind
    for restart in blind:
        assert_array_equal(restart.after.weights.w, restart.asked.weights.decayed(3, default_values().weight_decay).w)
