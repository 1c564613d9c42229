"""SACOBRA: what it adjusts by itself, and equality constraints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("scipy")

from meco import get_problem, solve
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.paper.baselines.cobra import LONG_CYCLE
from meco.paper.baselines.sacobra import SHORT_CYCLE, Sacobra, constraint_scale, plog, random_start_probability


def after_design(formula, counts, bound=1.0, dim=3, **options):
    """A SACOBRA that was told its initial design."""
    evaluator = Evaluator.on(Problem("made up", -bound * np.ones(dim), bound * np.ones(dim), *counts, formula), 40)
    sacobra = Sacobra(Task.of(evaluator, Streams([1])), **options)
    x = sacobra.ask()
    sacobra.tell(x, evaluator.evaluate(x))
    return sacobra


def steep(height):
    return lambda x: (height * x[..., 0], [], [])


@pytest.mark.parametrize(("extra", "chance"), [(0, 0.300), (15, 0.175), (20, 0.050)])
def test_random_starts_are_frequent_at_first_and_rare_later(extra, chance):
    assert_allclose(random_start_probability(101 + extra, 101), chance, atol=1e-3)


def test_plog_is_a_logarithm_for_both_signs():
    assert_allclose(plog(np.array([0.0, np.e - 1, 1 - np.e])), [0.0, 1.0, -1.0])


def test_a_steep_objective_shortens_the_cycle_and_a_very_steep_one_is_modelled_by_its_logarithm():
    assert after_design(steep(10.0), (0, 0)).cycle == LONG_CYCLE
    middle = after_design(steep(1e4), (0, 0))
    assert middle.cycle == SHORT_CYCLE
    assert not middle.logarithmic
    high = after_design(steep(1e6), (0, 0))
    assert high.logarithmic
    assert_allclose(high._training_targets()[:, 0], plog(high.samples.y[:, 0]))


def test_a_cycle_that_was_asked_for_stays():
    assert after_design(steep(1e6), (0, 0), cycle=(0.1, 0.0)).cycle == (0.1, 0.0)


def test_constraints_are_evened_out_only_when_their_ranges_differ_a_lot():
    assert_allclose(constraint_scale(np.array([1.0, 500.0])), 1.0)
    assert_allclose(constraint_scale(np.array([1.0, 1999.0])), [1e-3, 1.999])
    assert_allclose(constraint_scale(np.array([0.0, 1e9])), 1.0)  # a constant constraint: hands off
    assert constraint_scale(np.empty(0)).shape == (0,)


def test_the_first_band_is_the_median_violation_and_shrinks():
    def formula(x):
        return x[..., 0], [x[..., 1]], [2.0 * x[..., 2]]

    sacobra = after_design(formula, (1, 1))
    y = sacobra.samples.y
    violation = np.maximum(y[:, 1], 0.0) + np.abs(y[:, 2])
    assert_allclose(sacobra.band, np.median(violation))
    before = sacobra.band
    sacobra._end_iteration(feasible=True)
    assert_allclose(sacobra.band, before / 1.5)
    for _ in range(100):
        sacobra._end_iteration(feasible=False)
    assert sacobra.band == 1e-7


@pytest.mark.parametrize(
    ("name", "tolerance"), [("corner", 1e-3), ("ring", 1e-3), pytest.param("tilted", 2e-3, marks=pytest.mark.slow)]
)
def test_smooth_problems_are_solved_in_a_few_dozen_evaluations(name, tolerance):
    toy = get_problem(name, dim=5)
    found = solve("SACOBRA", toy, budget=60, seeds=[1])[0]
    assert found.feasible
    assert_allclose(found.f, toy.best_known, atol=tolerance)


def test_refining_puts_points_on_the_equality():
    evaluator = Evaluator.on(get_problem("ring", dim=5), 40)
    sacobra = Sacobra(Task.of(evaluator, Streams([2])))
    Loop(sacobra, evaluator).run()
    assert np.min(np.abs(sacobra.samples.y[-5:, 1])) < 1e-5


def test_without_progress_every_start_is_random():
    sacobra = after_design(steep(1.0), (0, 0))
    best = sacobra.samples.x[sacobra.best]
    sacobra.stalled = 10
    assert not any(np.array_equal(sacobra._choose_start(), best) for _ in range(20))
    sacobra.stalled = 0
    sacobra.design = -100  # long after the design
    assert sum(np.array_equal(sacobra._choose_start(), best) for _ in range(100)) > 80


def test_scaled_constraints_are_used_inside_and_true_ones_reported():
    def formula(x):
        return np.sum(x**2, axis=-1), [1e6 * (0.2 - x[..., 0]), 0.2 - x[..., 1]], []

    problem = Problem("uneven", -np.ones(3), np.ones(3), 2, 0, formula)
    found = solve("SACOBRA", problem, budget=40, seeds=[1])[0]
    assert found.feasible
    assert_allclose(found.f, 0.08, atol=2e-3)
