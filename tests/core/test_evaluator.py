"""The evaluator counts, keeps the budget, and remembers the best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import meco
from meco.core.evaluation import Evaluation
from meco.core.evaluator import BudgetSpent, Evaluator
from meco.core.results import feasibility_first, objective_plus_violation
from meco.core.rule import order
from meco.errors import InvalidInput


def recording(dim=3, fail_every=0):
    """A problem that keeps what it was asked."""
    base = meco.get_problem("corner", dim)
    asked = []

    def formula(x):
        asked.append(x.reshape(-1, dim).copy())
        f, g, h = base.raw(x)
        if fail_every:
            f = np.where((np.arange(f.size).reshape(f.shape) % fail_every) == 0, np.nan, f)
        return f, g, h

    return meco.Problem("recording", base.lower, base.upper, 2, 1, formula), asked


@settings(max_examples=40, deadline=None)
@given(budget=st.integers(1, 300), size=st.integers(4, 60), method=st.sampled_from(["SHADE", "SHADE-FR"]))
def test_the_budget_is_spent_exactly_and_never_passed(budget, size, method):
    problem, asked = recording()
    result = meco.solve(method, problem, budget=budget, seeds=[1], pop_size=size)[0]
    points = np.concatenate(asked)
    assert len(points) == budget == result.nfev
    assert (points >= problem.lower).all()
    assert (points <= problem.upper).all()


@pytest.mark.parametrize("fail_every", [0, 3])
def test_incumbents_are_the_best_of_all_evaluated_points(fail_every):
    problem, asked = recording(fail_every=fail_every)
    result = meco.solve("SHADE-eps", problem, budget=333, seeds=[2], pop_size=20)[0]
    parts = [Evaluation.of(*problem.raw(x[None])) for x in list(asked)]
    ev = Evaluation.of(*(np.concatenate([getattr(p, k) for p in parts], axis=1) for k in "fgh"))
    points = np.concatenate(asked[: len(parts)])
    first = order(feasibility_first(ev))[0, 0]
    least = order(objective_plus_violation(ev))[0, 0]
    assert_array_equal(result.x, points[first])
    assert (result.f, result.nu, result.feasible) == (ev.f[0, first], ev.nu[0, first], ev.feasible[0, first])
    assert_array_equal(result.x_score, points[least])
    assert result.score == ev.f[0, least] + ev.nu[0, least]
    assert result.nfail == ev.failed.sum()


def test_a_feasible_point_beats_any_violation_however_good_its_objective():
    ev = Evaluation.of(np.array([[5.0, -9.0, 3.0]]), np.array([[[0.0], [1e-9], [-1.0]]]), np.zeros((1, 3, 0)))
    assert order(feasibility_first(ev))[0].tolist() == [2, 0, 1]
    assert order(objective_plus_violation(ev))[0].tolist() == [1, 2, 0]


def test_a_budget_below_the_population_evaluates_that_many_first_points():
    problem, asked = recording()
    result = meco.solve("SHADE", problem, budget=7, seeds=[1])[0]
    assert sum(len(x) for x in asked) == 7 == result.nfev
    assert any("7" in note and "population" in note for note in result.notes)


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


def test_integer_variables_are_whole_where_they_are_evaluated():
    asked = []

    def formula(x):
        asked.append(x)
        return x.sum(axis=-1), [], []

    whole = np.array([True, False])
    problem = meco.Problem("whole", [-3.0, 0.0], [4.0, 1.0], 0, 0, formula, integrality=whole)
    meco.solve("SHADE", problem, budget=600, seeds=[1], pop_size=100)
    points = np.concatenate([x[0] for x in asked])
    assert_array_equal(points[:, 0], np.round(points[:, 0]))
    assert set(points[:, 0]) == set(range(-3, 5))


def test_the_trace_never_gets_worse_and_counts_evaluations():
    result = meco.solve("SHADE-BOC", meco.get_problem("C04", 10), budget=420, seeds=[1])[0]
    trace = result.trace
    assert_array_equal(trace["nfev"], [50, 100, 150, 200, 250, 300, 350, 400, 420])
    assert (np.diff(trace["score"]) <= 0).all()
    assert trace["score"][-1] == result.score
    assert {"f", "nu", "feasible", "feasible_share", "weight"} <= set(trace)


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_below_one_is_refused(budget):
    with pytest.raises(InvalidInput, match=f"at least 1 evaluation; got {budget}"):
        meco.solve("SHADE", "tilted", budget=budget)


def test_bounds_are_checked_by_name():
    with pytest.raises(InvalidInput, match=r"lower bound of variable 1 is above its upper bound: 3\.0 > 2\.0"):
        meco.Problem("mine", [0.0, 3.0], [1.0, 2.0], 0, 0, lambda x: (x.sum(-1), [], []))
    with pytest.raises(InvalidInput, match="variable 0 must be finite"):
        meco.Problem("mine", [-np.inf, 3.0], [1.0, 4.0], 0, 0, lambda x: (x.sum(-1), [], []))


def test_problems_in_lockstep_need_equal_dimension_and_number():
    a, b = meco.get_problem("tilted", 3), meco.get_problem("tilted", 4)
    with pytest.raises(InvalidInput, match=r"equal D; got \[3, 4\]"):
        meco.solve("SHADE", [a, b], seeds=[1, 2])
    with pytest.raises(InvalidInput, match="2 runs need one problem or 2 problems; got 3"):
        meco.solve("SHADE", [a, a, a], seeds=[1, 2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"problem": lambda x: x}, "goes to meco.minimize"),
        ({"problem": []}, "10 runs need one problem or 10 problems; got 0"),
        ({"problem": [3], "seeds": [1]}, "a problem must be a meco.Problem or a name; got int"),
        ({"seeds": 5}, "seeds must be a list of whole numbers; got 5"),
        ({"seeds": [1.7]}, "seeds must be a list of whole numbers"),
        ({"seeds": []}, "at least one seed"),
        ({"budget": 60.9}, "budget must be a whole number"),
        ({"method": "COBYQA", "problem": ["tilted"], "seeds": [1, 2]}, "2 runs need one problem or 2 problems; got 1"),
    ],
)
def test_solve_names_what_it_cannot_use(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        meco.solve(**{"method": "SHADE", "problem": "tilted", **arguments})


def test_solve_takes_a_list_of_names():
    found = meco.solve("SHADE", ["tilted", "ring", "tilted"], budget=60, seeds=[1, 2, 3])
    assert [r.problem for r in found] == ["tilted", "ring", "tilted"]


def test_fractional_bounds_of_integers_are_never_evaluated():
    asked = []

    def formula(x):
        asked.append(x)
        return x.sum(axis=-1), [], []

    whole = meco.Problem("whole", [0.4, -0.6], [2.6, 1.0], 0, 0, formula, integrality=[True, True])
    meco.solve("SHADE", whole, budget=300, seeds=[1], pop_size=100)
    points = np.concatenate([x[0] for x in asked])
    assert set(points[:, 0]) == {1.0, 2.0}
    assert set(points[:, 1]) == {0.0, 1.0}
    with pytest.raises(InvalidInput, match="no whole number between"):
        meco.Problem("none", [0.2], [0.8], 0, 0, formula, integrality=[True])


def test_a_formula_that_gives_other_counts_than_declared_is_named():
    wrong = meco.Problem("wrong", [0.0], [1.0], 2, 0, lambda x: (x[..., 0], [x[..., 0]], []))
    with pytest.raises(InvalidInput, match="wrong declares 2 inequalities and 0 equalities; its formula gave 1 and 0"):
        wrong.raw(np.zeros(1))
