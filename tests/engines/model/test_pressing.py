"""When weights grow: for what is kept nowhere around, for everything late in a run, and never beyond a new start."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

import meco
from array_libraries import every_library
from meco.arrays import to_numpy
from meco.engines.engine import Task
from meco.engines.model.expectation import after_turn
from meco.engines.model.merit import GROWTH, LATE, Weights, kept_nowhere
from meco.engines.model.region import RESTART, STEP
from meco.engines.model.trust_region import TrustRegion
from meco.evaluator import Evaluator
from meco.streams import Streams


def tilted(dim=3):
    """A bowl beside a plane that only a corner of the box keeps."""

    def formula(x):
        return (x**2).sum(axis=-1), 5.0 - x.sum(axis=-1, keepdims=True), np.zeros((*x.shape[:-1], 0))

    return meco.Problem("tilted", np.full(dim, -2.0), np.full(dim, 2.0), 1, 0, formula)


def refused(budget, passed, unmet):
    """Weights before and after a step that ended worse than its centre, which violates the constraint."""
    evaluator = Evaluator(tilted(), budget, 1)
    engine = TrustRegion(Task.of(evaluator, Streams([1])))
    for _ in range(2):
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
    engine.ask()
    region, made = engine.region, engine.expectation
    yes = np.ones_like(made.violated)
    made = made._replace(who=np.zeros_like(made.who) + STEP, violated=yes, unmet=yes & unmet)
    late = np.array([passed >= LATE * budget])
    after = after_turn(region, made, made.merit[:, None] + 1.0, late, np.zeros(1))
    return region.weights.w, after.weights.w


def test_a_refused_step_presses_what_is_kept_nowhere_around():
    before, after = refused(100, 10, unmet=True)
    assert_array_equal(after, GROWTH * before)


def test_what_is_kept_around_is_pressed_only_late():
    before, after = refused(100, 100 * LATE - 1, unmet=False)
    assert_array_equal(after, before)
    before, after = refused(100, 100 * LATE, unmet=False)
    assert_array_equal(after, GROWTH * before)


def restarts(problem, budget, batch=1):
    """The engine before and after every turn that starts anew."""
    evaluator = Evaluator(problem, budget, 1)
    engine = TrustRegion(Task.of(evaluator, Streams([1])), batch=batch)
    while evaluator.left >= batch:
        x, first = engine.ask(), engine.generation == 0
        before = None if first else engine.region
        engine.tell(x, evaluator.evaluate(x))
        if not first and engine.expectation.who[0, 0] == RESTART:
            yield before, engine


def test_a_new_start_has_the_weights_that_multipliers_and_scales_ask_for_and_no_floors():
    found = 0
    for before, engine in restarts(tilted(), 400):
        after, found = engine.region.weights, found + 1
        assert_array_equal(after.floor, 0.0)
        assert_array_equal(after.w, engine.expectation.anew)
        assert np.all(after.w > 0.0)  # else f alone would be looked at until the next step
        assert np.all(after.w <= before.weights.w)
    assert found


def test_until_its_answer_comes_a_new_start_is_compared_with_the_weights_of_the_search_before():
    for before, engine in restarts(tilted(), 400):
        made = engine.expectation
        assert_array_equal(made.weights.w, before.weights.w)


def test_only_the_first_point_of_a_turn_belongs_to_the_new_start():
    for before, engine in restarts(tilted(), 400, batch=3):
        new = int(before.start[0])
        assert engine.seen.start[0, -3:].tolist() == [new, new - 1, new - 1]


def test_a_start_that_fails_keeps_the_weights_of_the_search_before():
    problem = tilted()

    def formula(x):
        f, g, h = problem.formula(x)
        return np.where(x[..., 0] < 1.2, np.nan, f), g, h  # new starts fail more often than not

    fails = meco.Problem("fails", problem.lower, problem.upper, 1, 0, formula)
    blind = [e for _, e in restarts(fails, 400) if e.seen.failed[0, -1]]
    assert blind
    assert np.all(blind[-1].region.weights.w > 0.0)


@every_library
def test_every_library_says_what_is_kept_nowhere(xp):
    c = np.random.default_rng(1).normal(size=(2, 3, 4))
    tolerance = np.array([[0.0, 0.1, 0.2, 0.3]])
    for n_ineq in (0, 2, 4):
        found = kept_nowhere(xp.asarray(c), n_ineq, xp.asarray(tolerance))
        assert_array_equal(to_numpy(found), kept_nowhere(c, n_ineq, tolerance))
    assert kept_nowhere(xp.asarray(c[..., :0]), 0, xp.asarray(tolerance[:, :0])).shape == (2, 0)


@every_library
def test_every_library_presses_alike(xp):
    rng = np.random.default_rng(2)
    w, floor, hurt, pressed = rng.random((2, 3)), rng.random((2, 3)), rng.random((2, 3)) > 0.5, rng.random((2, 3)) > 0.5
    ours = Weights(w, floor, np.zeros((1, 3))).after(hurt, pressed)
    theirs = Weights(*map(xp.asarray, (w, floor, np.zeros((1, 3))))).after(xp.asarray(hurt), xp.asarray(pressed))
    for mine, part in zip(ours, theirs, strict=True):
        assert_array_equal(to_numpy(part), mine)
