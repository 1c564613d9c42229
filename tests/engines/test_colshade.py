"""COLSHADE: shrinking tolerances, Lévy flights, and selection that never loses the strictly best."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from array_libraries import assert_runs_agree, every_library
from meco import Evaluator, get_problem, solve
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.streams import Streams
from meco.engines.de.colshade import ColShade, levy_flight, mark_best, move_back_inside, update_flight_share
from meco.engines.de.success_history import SuccessHistory, positive_cauchy
from meco.errors import InvalidInput
from meco.rules import FeasibilityFirst, Key, Population, Progress
from meco.rules.levels import ShrinkingTolerance


def with_equalities(h):
    """A population of one run with these equality values [N, q]."""
    h = np.asarray(h, float)[None]
    f = np.arange(float(h.shape[1]))[None]
    return Population(np.zeros((1, h.shape[1], 2)), Evaluation.of(f, np.zeros((1, h.shape[1], 0)), h))


# -- tolerances -------------------------------------------------------------------------------------


def test_tolerances_start_at_the_largest_equality_and_reach_the_final_one_at_sixty_percent():
    rule, pop = ShrinkingTolerance(), with_equalities([[4.0, 0.0], [-8.0, 2e-5]])
    budget, size = 100, 2
    state = rule.start(pop, Progress(0, budget, 0), None)
    assert 1.0 < state[0, 0] < 8.0
    assert state[0, 1] == 1e-4
    kept = with_equalities([[0.0, 0.0], [9.0, 9.0]])
    seen = [state[0, 0]]
    for evaluations in range(size, 70, size):
        state = rule.adapt(state, kept, Progress(evaluations, budget, 0), None)
        seen.append(state[0, 0])
    ratios = np.array(seen[1:29]) / np.array(seen[:28])
    assert_allclose(ratios, ratios[0], rtol=1e-9)  # geometric
    assert_allclose(seen[29:], 1e-4)


def test_a_tolerance_that_nobody_keeps_waits():
    rule = ShrinkingTolerance()
    state = np.array([[2.0, 2.0]])
    new = rule.adapt(state, with_equalities([[1.0, 3.0], [2.5, 4.0]]), Progress(10, 1000, 1), None)
    assert new[0, 0] < 2.0
    assert new[0, 1] == 2.0


def test_equalities_count_beyond_their_tolerance_and_inequalities_in_full():
    ev = Evaluation.of(np.array([[7.0]]), np.array([[[2.0, -1.0]]]), np.array([[[-0.5, 0.3]]]))
    key = ShrinkingTolerance().key(ev, np.array([[0.2, 1.0]]))
    assert_allclose(key.major, [[2.3]])
    assert_allclose(ShrinkingTolerance(final=0.1).strict(ev).major, [[2.0 + 0.4 + 0.2]])


# -- moves ------------------------------------------------------------------------------------------


def test_flights_follow_the_one_sided_levy_law():
    stats = pytest.importorskip("scipy.stats")
    z = np.random.default_rng(0).normal(size=(1, 200_000, 1))
    flown = levy_flight(np.zeros_like(z), np.ones_like(z), np.ones(z.shape[:2]), z)
    shares = [0.1, 0.5, 0.9]
    assert_allclose(np.quantile(flown, shares), stats.levy(scale=0.01).ppf(shares), rtol=0.02)


def test_a_flight_goes_towards_the_guide():
    x, guide = np.array([[[0.2, 0.8]]]), np.array([[[0.6, 0.4]]])
    flown = levy_flight(x, guide, np.array([[0.5]]), np.array([[[0.1, 0.2]]]))
    assert_allclose(flown, [[[0.2 + 0.5 * 1.0 * 0.4, 0.8 - 0.5 * 0.25 * 0.4]]])


def test_outside_components_return_near_the_bound():
    mutant, parent = np.array([[-0.4, 1.3, 0.5]]), np.array([[0.5, 0.5, 0.9]])
    assert_allclose(move_back_inside(mutant, parent, np.full((1, 3), 0.5)), [[0.025, 0.975, 0.5]])


def test_scale_factors_lie_above_the_critical_one():
    history = SuccessHistory.initial(np.zeros((1, 1, 1)), 6)
    u = np.random.default_rng(0).random((3, 1, 100_000))
    scale, rate = history.sample(u[0], u[1], np.zeros((1, 100_000)), crowd=50)
    assert_allclose(rate, 0.5)
    limit = np.sqrt(0.75 / 50)
    assert scale.min() > limit
    cauchy = 0.5 + 0.1 * np.tan(np.pi * (u[2, 0] - 0.5))
    redrawn = np.minimum(cauchy[cauchy > limit], 1.0)
    assert_allclose(np.quantile(scale, [0.05, 0.5, 0.8]), np.quantile(redrawn, [0.05, 0.5, 0.8]), rtol=0.02)
    assert_allclose(positive_cauchy(np.array([0.5]), np.array([0.0])), 1.0)


def test_the_share_of_flights_follows_what_they_gained():
    share = np.array([0.5, 0.5, 0.5, 0.002])
    walk, flight = np.array([[1.0], [0.0], [0.0], [4.0]]), np.array([[3.0], [0.0], [2.0], [0.0]])
    assert_allclose(update_flight_share(share, walk, flight), [0.125 + 0.75 * 0.75, 0.5, 0.875, 0.001])


# -- the engine -------------------------------------------------------------------------------------


def test_the_first_best_of_each_run_leads():
    marked = mark_best(Key(np.array([[1.0, 0.0, 0.0], [2.0, 2.0, 2.0]]), np.array([[0.0, 5.0, 5.0], [3.0, 1.0, 2.0]])))
    assert_array_equal(marked, [[False, True, False], [False, True, False]])


def test_the_strictly_best_never_gets_worse():
    evaluator = Evaluator.on(get_problem("corner", 5), 2000, 3)
    engine = ColShade(Task.of(evaluator, Streams([1, 2, 3])), pop_size=20)
    least = np.full(3, np.inf)
    while evaluator.left > 0:
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
        now = engine.rule.strict(engine.population.ev).major.min(axis=1)
        assert np.all(now <= least)
        least = now
    assert engine.archive.x.shape == (3, 52, 5)


def test_an_equality_problem_is_solved():
    problem = get_problem("ring", 3)
    for result in solve("COLSHADE", problem, budget=6000, seeds=[1, 2]):
        assert result.feasible
        assert result.f < 0.85 * problem.best_known


def test_tolerances_and_flights_are_recorded():
    trace = solve("COLSHADE", "corner", budget=1000, seeds=[1])[0].trace
    assert trace["tolerance"].shape == (20, 1)
    assert np.all(np.diff(trace["tolerance"][:, 0]) <= 0)
    assert_allclose(trace["tolerance"][12:], 1e-4)
    assert trace["flights"][0] == 0.5


def test_row_b_of_a_batch_is_run_b_alone():
    together = solve("COLSHADE", "corner", budget=700, seeds=[3, 4, 5])
    assert_array_equal(together[1].x, solve("COLSHADE", "corner", budget=700, seeds=[4])[0].x)


@every_library
def test_the_engine_runs_on_any_array_library(xp):
    assert_runs_agree("COLSHADE", xp, within=1e-8, budget=150, pop_size=10)


@pytest.mark.parametrize("options", [{"pop_size": 3}, {"flights": 1.5}, {"rule": FeasibilityFirst()}])
def test_unusable_settings_are_refused(options):
    with pytest.raises(InvalidInput):
        solve("COLSHADE", "sphere", budget=10, seeds=[1], **options)


def test_problems_with_other_tolerances_do_not_share_a_batch():
    strict, loose = (dataclasses.replace(get_problem("ring", 2), eq_tol=tol) for tol in (1e-4, 0.1))
    with pytest.raises(InvalidInput, match="the same ineq_tol and eq_tol"):
        solve("COLSHADE", [strict, loose], 200, [1, 2])
