"""The SHADE engine against a slow reference, and the facts every run keeps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_shade import SlowShade

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.engines.de.shade import Shade, midpoint_repair, pick_guides, pick_others
from meco.engines.de.success_history import SuccessHistory, lehmer_mean, positive_cauchy, weighted_mean
from meco.errors import InvalidInput, UnknownName
from meco.rules import BalancedPenalty, FeasibilityFirst, FixedEpsilon, ScheduledEpsilon, StaticPenalty

RULES = {
    "penalty": StaticPenalty(),
    "boc": BalancedPenalty(),
    "fr": FeasibilityFirst(),
    "eps": FixedEpsilon(),
    "eps-vector": FixedEpsilon(per_constraint=True),
    "schedule": ScheduledEpsilon(),
}
SEEDS = range(3)
SIZE, DIM, GENERATIONS = 12, 10, 50


def engine_on(problem, rule, seeds, size=50, budget=2500, **options):
    evaluator = Evaluator.on(problem, budget, len(list(seeds)))
    return Shade(Task.of(evaluator, Streams(seeds)), rule=rule, pop_size=size, **options), evaluator


@pytest.mark.parametrize("preset", ["shade2013", "release"])
@pytest.mark.parametrize("name", RULES)
def test_the_engine_equals_the_slow_reference(name, preset):
    problem = meco.get_problem("C18", DIM)  # hard enough that gains stay far above rounding
    engine, evaluator = engine_on(problem, RULES[name], SEEDS, SIZE, preset=preset)
    slow = []
    SlowShade.n_ineq = problem.n_ineq
    for seed in SEEDS:
        slow.append(SlowShade(problem.raw, problem.lower, problem.upper, seed, name, SIZE, preset == "release"))
    for generation in range(GENERATIONS + 1):
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
        for b, run in enumerate(slow):
            if generation:
                run.generation()
            assert_allclose(engine.population.x[b], run.x, rtol=0, atol=1e-12)
            assert_allclose(engine.history.F[b], run.memory_f, rtol=0, atol=1e-12)
            assert_allclose(engine.history.CR[b], run.memory_cr, rtol=0, atol=1e-12)
            assert engine.archive.size[b] == len(run.archive)
            if run.archive:
                assert_allclose(engine.archive.x[b, : len(run.archive)], run.archive, rtol=0, atol=1e-12)
    assert np.abs(engine.history.F - 0.5).max() > 0.05
    assert np.abs(engine.history.CR - 0.5).max() > 0.05


def test_means_of_the_unit_vectors():
    weight = np.array([[1.0, 3.0, 6.0]])
    values = np.array([[0.4, 0.6, 0.9]])
    assert_allclose(lehmer_mean(values, weight), [0.8026315789473685])
    assert_allclose(weighted_mean(values, weight, weight.sum(axis=-1)), [0.76])


def test_the_memory_moves_away_from_a_half_and_turns_in_order():
    history = SuccessHistory.initial(np.zeros((2, 3, 2)), 4)
    scale = np.array([[0.4, 0.6, 0.9], [0.4, 0.6, 0.9]])
    weight = np.array([[1.0, 3.0, 6.0], [0.0, 0.0, 0.0]])
    after = history.learn(scale, scale, weight)
    assert_allclose(after.F[0, 0], 0.8026315789473685)
    assert_array_equal(after.F[1], [0.5] * 4)
    assert_array_equal(after.next_slot, [1, 0])


def test_positive_cauchy_follows_the_redrawing_law():
    rng = np.random.default_rng(0)
    redrawn = 0.1 + 0.1 * rng.standard_cauchy(400_000)
    redrawn = np.minimum(redrawn[redrawn > 0], 1.0)
    ours = positive_cauchy(np.full(400_000, 0.1), rng.random(400_000))
    assert (ours > 0).all()
    assert (ours <= 1).all()
    assert_allclose(np.quantile(ours, [0.1, 0.5, 0.8]), np.quantile(redrawn, [0.1, 0.5, 0.8]), rtol=0.02)


def test_others_differ_from_the_individual_and_each_other_and_reach_the_archive():
    rng = np.random.default_rng(0)
    size, archived = 5, np.array([0, 3])
    seen = set()
    for _ in range(400):
        first, second = pick_others(rng.random((2, size)), rng.random((2, size)), archived)
        own = np.arange(size)
        assert (first != own).all()
        assert (second != own).all()
        assert (second != first).all()
        assert first.max() < size
        assert second[0].max() < size
        seen |= set(second[1].tolist())
    assert seen == set(range(size + 3))


def test_guides_are_at_least_two_and_at_most_a_fifth():
    ranked = np.arange(50)[None]
    most = pick_guides(ranked, np.full((1, 50), 1 - 1e-12), np.full((1, 50), 1 - 1e-12), None)
    least = pick_guides(ranked, np.zeros((1, 50)), np.full((1, 50), 1 - 1e-12), None)
    assert most.max() == 9
    assert least.max() == 1


@pytest.mark.parametrize("method", ["SHADE", "SHADE-FR", "MeCO"])
@pytest.mark.parametrize("guides", [1.5, 0.0, -0.1, float("nan")])
def test_guides_are_a_share_of_the_population(method, guides):
    with pytest.raises(InvalidInput, match=f"SHADE needs a share of guides above 0 and up to 1; got {guides}"):
        meco.solve(method, "sphere", budget=100, guides=guides)


def test_everybody_may_guide():
    for size in (4, 50):
        assert meco.solve("SHADE", "sphere", budget=300, guides=1.0, pop_size=size)[0].nfev == 300


def test_a_component_outside_becomes_the_midpoint_to_the_bound():
    mutant, parent = np.array([[[-0.3, 1.7, 0.4]]]), np.array([[[0.2, 0.6, 0.9]]])
    assert_allclose(midpoint_repair(mutant, parent), [[[0.1, 0.8, 0.4]]])


@pytest.mark.parametrize("method", ["SHADE", "SHADE-eps", "SHADE-BOC", "SHADE-FR"])
def test_a_run_does_not_notice_its_neighbours(method):
    problem = meco.get_problem("C06", 10)
    together = meco.solve(method, problem, budget=730, seeds=[3, 4, 5])
    alone = meco.solve(method, problem, budget=730, seeds=[4])[0]
    assert_array_equal(together[1].x, alone.x)
    ours, theirs = together[1].paper, alone.paper
    assert_array_equal(ours.x_score, theirs.x_score)
    assert_array_equal(ours.snapshot.x, theirs.snapshot.x)
    assert_array_equal(ours.final.x, theirs.final.x)
    for name in alone.trace:
        assert_array_equal(together[1].trace[name], alone.trace[name])


@pytest.mark.parametrize("method", ["SHADE", "SHADE-eps", "SHADE-BOC", "SHADE-FR"])
def test_different_problems_in_lockstep_are_the_runs_alone(method):
    problems = [meco.get_problem(name, 10) for name in ("C01", "C06", "C13", "C06", "C19")]
    together = meco.solve(method, problems, budget=400, seeds=range(5))
    for seed, problem in enumerate(problems):
        alone = meco.solve(method, problem, budget=400, seeds=[seed])[0]
        assert_array_equal(together[seed].x, alone.x)
        assert together[seed].score == alone.score
        assert together[seed].run.problem == problem.name


def test_an_endless_allowance_is_unconstrained_and_none_is_feasibility_first():
    problem = meco.get_problem("C04", 10)
    bare = meco.Problem("bare", problem.lower, problem.upper, 0, 0, lambda x: (problem.raw(x)[0], [], []))

    def path(p, rule):
        engine, evaluator = engine_on(p, rule, [5], budget=1000)
        Loop(engine, evaluator).run()
        return engine.population.x

    for per in (False, True):
        assert_array_equal(path(problem, FixedEpsilon(level=np.inf, per_constraint=per)), path(bare, StaticPenalty()))
        assert_array_equal(
            path(problem, FixedEpsilon(level=0.0, per_constraint=per)), path(problem, FeasibilityFirst())
        )
    assert_array_equal(path(problem, StaticPenalty(0.0)), path(bare, FeasibilityFirst()))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("preset", ["shade2013", "release"])
def test_invariants_hold_along_a_run(rule, preset):
    problem = meco.get_problem("C13", 10)
    engine, evaluator = engine_on(problem, rule, [1, 2], preset=preset)
    for _ in range(20):
        x = engine.ask()
        assert x.min() >= 0
        assert x.max() <= 1
        before = engine.population and engine.rule.key(engine.population.ev, engine.state)
        state = engine.state
        engine.tell(x, evaluator.evaluate(x))
        assert engine.archive.size.max() <= 50
        if before:
            after = engine.rule.key(engine.population.ev, state)
            assert (
                (after.major < before.major) | ((after.major == before.major) & (after.minor <= before.minor))
            ).all()


def test_failed_evaluations_lose_and_are_not_learned_from():
    base = meco.get_problem("corner", 4)

    def flaky(x):
        f, g, h = base.raw(x)
        bad = np.sin(1e4 * x.sum(axis=-1)) > 0.2
        return np.where(bad, np.nan, f), g, h

    problem = meco.Problem("flaky", base.lower, base.upper, 2, 1, flaky)
    for name, rule in RULES.items():
        engine, evaluator = engine_on(problem, rule, [0, 1], size=20, budget=1000)
        Loop(engine, evaluator).run()
        results = evaluator.results(name, [0, 1])
        assert all(r.run.nfail > 100 and np.isfinite(r.f) and np.isfinite(r.score) for r in results)
        assert np.isfinite(engine.history.F).all()
        assert engine.population.ev.failed.sum() < 5


def test_points_to_try_first_are_in_the_first_population():
    problem = meco.get_problem("tilted", 3)
    evaluator = Evaluator.on(problem, 100)
    first = np.array([[0.25, 0.5, 0.75], [0.1, 0.1, 0.1]])
    engine = Shade(Task.of(evaluator, Streams([1]), x0=first), rule=StaticPenalty(), pop_size=10)
    assert_array_equal(engine.ask()[0, :2], first)


def test_wrong_settings_are_explained():
    problem = meco.get_problem("tilted", 3)
    with pytest.raises(UnknownName, match="shade2013"):
        meco.solve("SHADE", problem, seeds=[1], preset="shade2031")
    with pytest.raises(InvalidInput, match="at least 4"):
        meco.solve("SHADE", problem, seeds=[1], pop_size=3)
    with pytest.raises(InvalidInput, match="no option 'memry'"):
        meco.solve("SHADE", problem, seeds=[1], memry=3)


@pytest.mark.parametrize(("dim", "generations"), [(10, 9), (30, 29), (50, 49), (100, 99)])
def test_the_paper_budget_leaves_these_generations_after_the_first_population(dim, generations):
    result = meco.solve("SHADE", meco.get_problem("C01", dim), seeds=[1])[0]
    assert len(result.trace["nfev"]) - 1 == generations
