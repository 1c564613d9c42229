"""The evaluator counts and keeps the budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from recording_problem import recording

import meco
from meco.core.evaluator import BudgetSpent, Evaluator


@settings(max_examples=40, deadline=None)
@given(budget=st.integers(1, 300), size=st.integers(4, 60), method=st.sampled_from(["SHADE", "SHADE-FR"]))
def test_the_budget_is_spent_exactly_and_never_passed(budget, size, method):
    problem, asked = recording()
    result = meco.solve(method, problem, budget=budget, seeds=[1], pop_size=size)[0]
    points = np.concatenate(asked)
    assert len(points) == budget == result.nfev
    assert (points >= problem.lower).all()
    assert (points <= problem.upper).all()


def test_a_budget_below_the_population_evaluates_that_many_first_points():
    problem, asked = recording()
    result = meco.solve("SHADE", problem, budget=7, seeds=[1])[0]
    assert sum(len(x) for x in asked) == 7 == result.nfev
    assert any("7" in note and "population" in note for note in result.run.notes)


def test_more_than_the_budget_is_refused():
    problem, _ = recording()
    evaluator = Evaluator.on(problem, 2)
    evaluator.evaluate(np.zeros((1, 2, 3)))
    with pytest.raises(BudgetSpent):
        evaluator.evaluate(np.zeros((1, 1, 3)))


def test_runs_may_want_different_candidates():
    problem, asked = recording()
    evaluator = Evaluator.on(problem, 5, runs=2)
    wanted = np.array([[True, False, True, False], [False, False, False, True]])
    ev = evaluator.evaluate(np.full((2, 4, 3), 0.5), wanted)
    assert_array_equal(ev.failed, ~wanted)
    assert_array_equal(evaluator.nfev, [2, 1])
    assert evaluator.left == 3
    ev = evaluator.evaluate(np.full((2, 4, 3), 0.25))
    assert_array_equal(evaluator.nfev, [5, 5])
    assert_array_equal(ev.failed, [[False, False, False, True], [False, False, False, False]])
    assert sum(len(x) for x in asked) == 10
