"""The evolution strategy: its formulas against a slow reference, and the engine with any rule."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from array_libraries import every_library
from meco import Evaluator, Problem, get_problem, solve
from meco.core.engine import Task
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.engines.es.maes import (
    MIN_STEP,
    MaEs,
    SearchDistribution,
    StrategyParameters,
    find_lost_and_broken,
    fold,
    move_distribution,
    native_size,
    parent_weights,
    repair_distribution,
    shorten_steps,
    step_change,
)
from meco.errors import InvalidInput
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, ScheduledEpsilon, StaticPenalty

RULES = [StaticPenalty(), BalancedPenalty(), FeasibilityFirst(), FixedEpsilon(), ScheduledEpsilon()]


def run(problem, budget=200, seeds=(1, 2, 3), rule=None, x0=None, **options):
    """Engine and evaluator after a run."""
    evaluator = Evaluator.on(problem, budget, len(seeds))
    engine = MaEs(Task.of(evaluator, Streams(seeds), x0), rule or StaticPenalty(), **options)
    Loop(engine, evaluator).run()
    return engine, evaluator


# -- formulas ---------------------------------------------------------------------------------------


def test_weights_and_rates_are_the_published_numbers():
    wide = StrategyParameters.of(dim=50, mu=17)
    assert_allclose(wide.weights.on(np.zeros(1))["w"][:3], [0.188895, 0.143150, 0.116390], atol=5e-7)
    assert_allclose([wide.mu_eff, wide.c_sigma, wide.c1, wide.cmu], [9.713237, 0.181002, 0.000757, 0.005761], atol=5e-7)
    small = StrategyParameters.of(dim=10, mu=17)
    assert_allclose([small.c_sigma, small.c1, small.cmu], [0.473966, 0.014556, 0.101698], atol=5e-7)
    native = StrategyParameters.of(dim=10, mu=4)
    assert_allclose([native.mu_eff, native.c_sigma], [2.600179, 0.261371], atol=5e-7)


def test_native_population_grows_with_the_logarithm_of_the_dimension():
    assert [native_size(d) for d in (2, 10, 50, 100)] == [6, 10, 15, 17]


def test_folding_reflects_with_period_two_and_leaves_the_cube_alone():
    y = np.array([0.3, -0.25, 1.25, 2.0, 2.4, -1.75, 7.5, 0.0, 1.0])
    assert_allclose(fold(y), [0.3, 0.25, 0.75, 0.0, 0.4, 0.25, 0.5, 0.0, 1.0])
    inside = np.random.default_rng(0).random(1000) ** 9
    assert_array_equal(fold(inside), inside)
    assert_allclose(fold(inside + 14.0), inside, atol=1e-14)
    assert_allclose(fold(-inside), inside, atol=1e-14)


def test_failed_parents_get_no_weight_and_the_others_share_it():
    weights = np.array([0.5, 0.3, 0.2])
    ok = np.array([[True, True, True], [True, False, True], [False, False, False]])
    assert_allclose(parent_weights(weights, ok), [[0.5, 0.3, 0.2], [5 / 7, 0.0, 2 / 7], [0.0, 0.0, 0.0]])


def slow_update(mean, sigma, matrix, path, steps, rates):
    """One run, one number at a time, straight from the published recursion."""
    w = rates.weights.on(np.zeros(1))["w"]
    dim, mu_w = len(mean), 1 / np.sum(w**2)
    z_mean = sum(w[i] * steps[i] for i in range(len(w)))
    d_mean = sum(w[i] * (matrix @ steps[i]) for i in range(len(w)))
    c = rates.c_sigma
    new_path = (1 - c) * path + math.sqrt(c * (2 - c) * mu_w) * z_mean
    learn_one = np.outer(matrix @ new_path, new_path) - matrix
    learn_many = sum(w[i] * np.outer(matrix @ steps[i], steps[i]) for i in range(len(w))) - matrix
    new_matrix = matrix + rates.c1 / 2 * learn_one + rates.cmu / 2 * learn_many
    expected = math.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))
    damping = 1 + c + 2 * max(0.0, math.sqrt((mu_w - 1) / (dim + 1)) - 1)
    new_sigma = sigma * math.exp(c / damping * (np.linalg.norm(new_path) / expected - 1))
    return mean + sigma * d_mean, new_sigma, new_matrix, new_path


@pytest.mark.parametrize(("dim", "mu"), [(2, 3), (7, 4), (50, 7)])
def test_update_equals_a_slow_reference(dim, mu):
    rng = np.random.default_rng(dim)
    runs, rates = 3, StrategyParameters.of(dim, mu)
    cloud = SearchDistribution(
        rng.random((runs, dim)), rng.random(runs), rng.normal(size=(runs, dim, dim)), rng.normal(size=(runs, dim))
    )
    z = rng.normal(size=(runs, mu, dim))
    d = z @ np.swapaxes(cloud.matrix, 1, 2)
    weight = np.broadcast_to(rates.weights.on(z)["w"], (runs, mu))
    new = move_distribution(cloud, z, d, weight, rates)
    sigma = new.sigma * step_change(new.path, rates)
    for b in range(runs):
        want = slow_update(*(part[b] for part in cloud), z[b], rates)
        for got, expected in zip((new.mean[b], sigma[b], new.matrix[b], new.path[b]), want):
            assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


def test_a_run_without_parents_stays_as_it_is():
    rng = np.random.default_rng(1)
    cloud = SearchDistribution(rng.random((2, 4)), rng.random(2), rng.normal(size=(2, 4, 4)), rng.normal(size=(2, 4)))
    z = rng.normal(size=(2, 3, 4))
    weight = np.array([[0.0, 0.0, 0.0], [0.5, 0.3, 0.2]])
    new = move_distribution(cloud, z, z, weight, StrategyParameters.of(4, 3))
    for old, now in zip(cloud, new):
        assert_array_equal(old[0], now[0])
    assert not np.allclose(cloud.matrix[1], new.matrix[1])


def test_what_ran_away_is_made_round_and_what_converged_starts_afresh():
    cloud = SearchDistribution.isotropic(np.array([[0.5, 2.25], [0.1, 0.2], [0.3, 0.4], [0.6, 0.7]]), 0.5)
    cloud = cloud._replace(path=np.ones((4, 2)), matrix=cloud.matrix * 3.0)
    d = np.ones((4, 3, 2)) * np.array([1.0, np.nan, 1e-3 * MIN_STEP, 1.0])[:, None, None]
    lost, broken = find_lost_and_broken(cloud, d, some=np.ones(4, dtype=bool))
    assert_array_equal(broken, [False, True, False, False])
    assert_array_equal(lost, [False, False, True, False])
    new = repair_distribution(cloud, broken, lost, np.full((4, 2), 0.9), 0.2)
    assert_allclose(new.mean, [[0.5, 0.25], [0.1, 0.2], [0.9, 0.9], [0.6, 0.7]])  # 2.25 and 0.25 are one place
    assert_allclose(new.sigma, [0.5, 0.5, 0.2, 0.5])
    assert_allclose(new.matrix[:, 0, 0], [3.0, 1.0, 1.0, 3.0])
    assert_allclose(new.path[:, 0], [1.0, 0.0, 0.0, 1.0])


def test_a_run_that_only_ever_failed_starts_afresh_but_one_that_moved_waits():
    cloud = SearchDistribution.isotropic(np.full((2, 3), 0.5), 0.2)
    cloud = cloud._replace(path=np.array([[0.0] * 3, [1.0] * 3]))
    lost, _ = find_lost_and_broken(cloud, np.ones((2, 4, 3)), some=np.zeros(2, dtype=bool))
    assert_array_equal(lost, [True, False])


def test_given_steps_are_cut_to_a_length_that_chance_allows():
    z = np.array([[[30.0, 40.0], [0.1, 0.0], [0.0, 0.0]]])
    short, d = shorten_steps(z, 2.0 * z)
    limit = math.sqrt(2) + 1.0
    assert_allclose(short, [[[0.6 * limit, 0.8 * limit], [0.1, 0.0], [0.0, 0.0]]])
    assert_allclose(d, 2.0 * short)


@every_library
def test_formulas_run_on_any_array_library(xp):
    rng = np.random.default_rng(3)
    rates = StrategyParameters.of(5, 3)
    parts = (rng.random((2, 5)), rng.random(2), rng.normal(size=(2, 5, 5)), rng.normal(size=(2, 5)))
    z, d = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 3, 5))
    ok = np.array([[True, False, True], [False, False, False]])
    fresh = rng.random((2, 5))

    def all_of_it(move):
        cloud, z_, d_ = SearchDistribution(*map(move, parts)), move(z), move(d)
        weight = parent_weights(rates.weights.on(z_)["w"], move(ok))
        new = move_distribution(cloud, *shorten_steps(z_, d_), weight, rates)
        new = new._replace(sigma=new.sigma * step_change(new.path, rates))
        lost, broken = find_lost_and_broken(new, d_, move(np.array([False, True])))
        return [*repair_distribution(new, broken, lost, move(fresh), 0.2), fold(d_)]

    for ours, theirs in zip(all_of_it(np.asarray), all_of_it(xp.asarray)):
        assert_allclose(np.asarray(theirs), ours, rtol=1e-13, atol=1e-13)


# -- the engine -------------------------------------------------------------------------------------


def test_the_search_starts_at_the_centre_with_the_given_step():
    engine, _ = run(get_problem("sphere", 30), budget=400, seeds=range(50), sigma=0.05, pop_size=400)
    x = engine.population.x
    assert_allclose(x.mean(), 0.5, atol=0.001)
    assert_allclose(x.std(), 0.05, rtol=0.01)


def test_a_given_point_is_evaluated_first_and_is_the_mean():
    x0 = np.array([[0.9, 0.1, 0.6]])
    seen = []
    base = get_problem("sphere", 3)

    def formula(x):
        seen.append(np.array(x))
        return base.formula(x)

    problem = Problem("seen", base.lower, base.upper, 0, 0, formula)
    run(problem, budget=40, x0=x0)
    first = (seen[0] - base.lower) / (base.upper - base.lower)
    assert_allclose(first[:, 0], np.repeat(x0, 3, axis=0))
    assert abs(first[:, 1:].mean(axis=(0, 1)) - x0).max() < 0.3


def test_many_given_points_are_all_tried():
    x0 = np.random.default_rng(0).random((5, 3))
    engine, _ = run(get_problem("sphere", 3), budget=7, x0=x0, seeds=(1,))
    assert_allclose(engine.population.x[0, :5], x0, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_every_rule_steers_the_strategy(rule):
    results = solve("MA-ES", "tilted", budget=2000, seeds=range(3), rule=rule)
    best = get_problem("tilted").best_known
    limit = 5.0 if isinstance(rule, FixedEpsilon) else 1.5  # a fixed allowance is never given up
    assert all(r.feasible and r.f < limit * best for r in results)


@pytest.mark.parametrize("dim", [2, 10, 50])
def test_row_b_of_a_batch_is_run_b_alone(dim):
    together = solve("MA-ES", get_problem("corner", dim), budget=300, seeds=[3, 4, 5])
    alone = solve("MA-ES", get_problem("corner", dim), budget=300, seeds=[4])[0]
    assert_array_equal(together[1].x, alone.x)
    assert_array_equal(together[1].trace["sigma"], alone.trace["sigma"])


@pytest.mark.parametrize("budget", [1, 9, 10, 11, 123])
def test_the_budget_is_spent_exactly(budget):
    assert [r.nfev for r in solve("MA-ES", "corner", budget=budget, seeds=[1, 2])] == [budget, budget]


def test_a_converged_run_finds_the_second_valley_after_a_fresh_start():
    def formula(x):
        far = np.sum((x - 0.8) ** 2, axis=-1)
        near = 1e-3 + np.sum((x - 0.4) ** 2, axis=-1)
        return np.where(far < 0.003, far - 1.0, near), [], []

    problem = Problem("two valleys", np.zeros(2), np.ones(2), 0, 0, formula)
    short = solve("MA-ES", problem, budget=400, seeds=range(10))
    long = solve("MA-ES", problem, budget=6000, seeds=range(10))
    assert sum(r.f < 0 for r in long) > sum(r.f < 0 for r in short)


def test_a_failing_centre_is_left():
    def formula(x):
        hole = np.max(np.abs(x - 0.5), axis=-1) < 0.4
        return np.where(hole, np.nan, np.sum(x, axis=-1)), [], []

    problem = Problem("hole", np.zeros(2), np.ones(2), 0, 0, formula)
    results = solve("MA-ES", problem, budget=600, seeds=range(5), sigma=0.01)
    assert all(np.isfinite(r.f) for r in results)
    assert min(r.f for r in results) < 0.1


def test_the_torch_run_is_the_numpy_run():
    xp = pytest.importorskip("array_api_compat.torch")
    ours = solve("MA-ES", get_problem("corner", 5), budget=80, seeds=[1, 2])
    theirs = solve("MA-ES", get_problem("corner", 5), budget=80, seeds=[1, 2], xp=xp)
    for a, b in zip(ours, theirs):
        assert_allclose(b.x, a.x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{"pop_size": 1}, {"sigma": 0.0}, {"sigma": 2.0}, {"lambda_": 3}])
def test_settings_that_cannot_work_are_refused(options):
    with pytest.raises(InvalidInput):
        solve("MA-ES", "sphere", budget=10, seeds=[1], **options)


def test_a_policy_steers_the_strategy():
    results = solve("MeCO-rand", "tilted", budget=1500, seeds=range(3), engine="maes")
    assert all(r.feasible for r in results)
    assert len(np.unique(results[0].trace["action"])) > 3


def test_offspring_are_ranked_under_the_state_that_saw_them():
    """What a rule or a caller decides on seeing a generation already shapes the next one."""
    problem = get_problem("tilted", 4)
    evaluator = Evaluator.on(problem, 100, 1)
    engines = [MaEs(Task.of(evaluator, Streams([7])), FixedEpsilon(level=0.0)) for _ in range(2)]
    for engine, level in zip(engines, (0.0, np.inf)):
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
        engine.state = np.array([level])
    strict, loose = (engine.ask() for engine in engines)
    assert not np.allclose(strict, loose)
