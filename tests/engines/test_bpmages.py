"""BP-epsMAg-ES: its level, reflection and repair, what repair costs, and its restarts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco import Evaluator, Problem, get_problem, solve
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.errors import InvalidInput
from meco.paper.baselines.bpepsmages import (
    BpEpsMagEs,
    centroid,
    difference_steps,
    gauss_newton_move,
    reflect_into,
    small_pop_size,
)
from meco.rules import Population, Progress, order
from meco.rules.levels import HellwigBeyerEpsilon, average_violation, masked_median, next_level


def run(problem, budget, seed=1, **options):
    """Engine and evaluator after a run."""
    evaluator = Evaluator.on(problem, budget)
    engine = BpEpsMagEs(Task.of(evaluator, Streams([seed])), **options)
    Loop(engine, evaluator).run()
    return engine, evaluator


def evaluated(f, g, h):
    """One run of candidates f [N], g [N, p], h [N, q]."""
    return Evaluation.of(np.asarray(f, float)[None], np.asarray(g, float)[None], np.asarray(h, float)[None])


# -- the level --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("generations", "level"), [(10, 0.804486), (20, 0.428392), (30, 0.150316), (50, 0.005108)])
def test_pure_decrease_multiplies_up(generations, level):
    eps = np.ones(1)
    for g in range(1, generations + 1):
        eps = next_level(eps, share=np.ones(1), generation=g, horizon=500)
    assert_allclose(eps, level, atol=5e-7)


def test_the_level_grows_while_few_parents_keep_it_and_ends_at_the_horizon():
    assert_allclose(next_level(np.array([2.0]), np.array([0.2]), 7, 500), 2.2)
    assert_allclose(next_level(np.array([2.0]), np.array([0.21]), 7, 500), 2.0 * (1 - 7 / 500) ** 2)
    assert_allclose(next_level(np.array([2.0]), np.array([1.0]), 1, 500), 2.0)  # the first generation waits
    assert_allclose(next_level(np.array([1e-9]), np.array([1.0]), 1, 500), 0.0)
    assert_allclose(next_level(np.array([2.0]), np.array([1.0]), 500, 500), 0.0)


def test_violation_is_averaged_and_small_equalities_are_kept():
    ev = evaluated([0, 0], [[3.0, -1.0], [-1.0, -1.0]], [[9e-5, -0.5], [0.0, 2e-5]])
    assert_allclose(average_violation(ev), [[3.5 / 4, 0.0]])
    assert_allclose(average_violation(evaluated([1.0], np.zeros((1, 0)), np.zeros((1, 0)))), [[0.0]])


def test_the_level_starts_at_the_median_of_what_did_not_fail():
    rng = np.random.default_rng(0)
    values = rng.random((3, 9))
    keep = rng.random((3, 9)) < 0.7
    keep[2] = False
    want = [np.median(values[0][keep[0]]), np.median(values[1][keep[1]]), 0.0]
    assert_allclose(masked_median(values, keep), want)


def test_within_the_level_the_objective_decides():
    ev = evaluated([3.0, 1.0, 2.0, 0.0], [[0.1], [0.2], [0.0], [5.0]], np.zeros((4, 0)))
    rule = HellwigBeyerEpsilon()
    assert_array_equal(order(rule.key(ev, np.array([0.2]))), [[1, 2, 0, 3]])
    assert_array_equal(order(rule.key(ev, np.array([0.0]))), [[2, 0, 1, 3]])


def test_the_share_counts_parents_only():
    ev = evaluated(np.zeros(9), [[0.1]] + [[9.0]] * 8, np.zeros((9, 0)))  # one of three parents is within: 1/3 > 0.2
    pop = Population(np.zeros((1, 9, 1)), ev)
    assert HellwigBeyerEpsilon().adapt(np.array([1.0]), pop, Progress(0, 1, 5), None)[0] < 1.0
    assert HellwigBeyerEpsilon(one_in=1).adapt(np.array([1.0]), pop, Progress(0, 1, 5), None)[0] > 1.0


# -- bounds, repair, restarts -----------------------------------------------------------------------


def test_reflection_is_the_published_one():
    x = np.array([-1.25, -3.5, 1.25, 4.5, 0.3])
    assert_allclose(reflect_into(x, np.full(5, -1.0), np.full(5, 1.0)), [-0.75, -0.5, 0.75, -0.5, 0.3])


def test_reflection_stays_in_a_box_without_width():
    assert_array_equal(reflect_into(np.array([-7.0, 9.0]), np.array([2.0, 2.0]), np.array([2.0, 2.0])), [2.0, 2.0])


def test_differences_stay_in_the_box():
    low, high = np.zeros(4), np.array([1.0, 1.0, 1e-6, 0.0])
    x = np.array([0.5, 1.0, 1e-6, 0.0])
    steps = difference_steps(x, low, high)
    assert_allclose(steps, [1e-4, -1e-4, -5e-7, 0.0])
    assert np.all((x + steps >= low) & (x + steps <= high))


def test_one_step_keeps_linear_constraints():
    a = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])

    def values(x):
        g = x @ a[0] - 1.0
        h = x @ a[1]
        return evaluated(np.zeros(len(x)), g[:, None], h[:, None])

    x = np.array([1.0, 2.0, -1.0])
    h = np.full(3, 1e-4)
    moved = x + gauss_newton_move(values(x[None]), values(x + np.diag(h)), h)
    after = values(moved[None])
    assert_allclose([after.g[0, 0, 0], after.h[0, 0, 0]], 0.0, atol=1e-9)
    assert_allclose(moved - x, -np.linalg.pinv(a) @ [4.0, 3.0], atol=1e-8)  # the least such move


def test_the_start_is_the_plain_mean_of_the_parents_that_did_not_fail():
    x = np.array([[[0.0], [1.0], [2.0], [9.0]]])
    ev = evaluated([1.0, 2.0, np.nan, 3.0], np.zeros((4, 0)), np.zeros((4, 0)))
    assert_allclose(centroid(x, ev, np.array([[0, 1, 2]])), [[0.5]])
    all_failed = evaluated([np.nan] * 4, np.zeros((4, 0)), np.zeros((4, 0)))
    assert_allclose(centroid(x, all_failed, np.array([[0, 1, 2]])), [[3.0]])


def test_small_starts_lie_between_the_first_size_and_half_the_large_one():
    assert small_pop_size(50, 400, 0.0) == 50
    assert small_pop_size(50, 400, 1.0) == 200
    assert small_pop_size(50, 400, 0.5) == int(50 * 4**0.25)


def infeasible_corner(dim):
    """Only a small corner keeps the constraints, so the first offspring need repair."""

    def formula(x):
        return np.sum(x, axis=-1), [0.9 - x[..., 0], 0.9 - x[..., 1]], []

    return Problem("corner of a box", np.zeros(dim), np.full(dim, 10.0), 2, 0, formula)


def test_repair_is_charged_unless_told_otherwise():
    calls = []
    base = infeasible_corner(8)
    shift = np.full(8, 9.5)

    def formula(x):
        calls.append(x.shape[1])
        return base.formula(x - shift)

    problem = Problem("recorded", base.lower, base.upper, 2, 0, formula)
    for charged, all_paid in ((True, True), (False, False)):
        calls.clear()
        _, evaluator = run(problem, 400, charge_jacobian=charged)
        assert evaluator.nfev[0] == 400
        assert 8 in calls  # differences were taken
        assert (sum(calls) == 400) is all_paid


def test_free_differences_compete_for_no_incumbent():
    evaluator = Evaluator.on(get_problem("sphere", 2), 10)
    evaluator.evaluate(np.full((1, 1, 2), 0.9))
    evaluator.evaluate_uncounted(np.full((1, 1, 2), 0.5))
    assert evaluator.nfev[0] == 1
    assert_allclose(evaluator.results("", [0])[0].f, 2 * 4.0**2)


def test_a_start_that_stops_improving_is_followed_by_larger_and_smaller_ones():
    engine, evaluator = run(get_problem("tilted", 2), 8000, pop_size=10)
    sizes = np.unique(evaluator.results("", [1])[0].trace["offspring"])
    assert sizes[0] == 10
    assert 20 in sizes
    assert np.any((sizes > 10) & (sizes % 10 != 0))  # a small start
    assert engine.best[0] == 0.0


def test_the_search_reaches_a_constrained_optimum():
    problem = get_problem("corner", 4)
    result = solve("BP-epsMAg-ES", problem, budget=6500, seeds=[1])[0]
    assert result.feasible
    assert_allclose(result.f, problem.best_known, rtol=0.01)


@pytest.mark.parametrize("budget", [1, 49, 50, 51, 333])
def test_the_budget_is_spent_exactly(budget):
    for charged in (True, False):
        result = solve("BP-epsMAg-ES", "corner", budget=budget, seeds=[1], charge_jacobian=charged)[0]
        assert result.nfev == budget


def test_it_can_be_asked_and_told():
    problem = get_problem("corner", 3)
    evaluator = Evaluator.on(problem, 300)
    engine = BpEpsMagEs(Task.of(evaluator, Streams([5])))
    while evaluator.left > 0:
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
    _, driven = run(problem, 300, seed=5)
    assert_array_equal(evaluator.results("", [5])[0].x, driven.results("", [5])[0].x)


def test_unusable_settings_are_refused():
    with pytest.raises(InvalidInput, match="at least 4"):
        solve("BP-epsMAg-ES", "sphere", budget=10, seeds=[1], pop_size=3)
