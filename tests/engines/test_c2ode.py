"""C2oDE: trials against a slow reference, the falling allowance, restarts and the last, cut generation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from array_libraries import assert_runs_agree, every_library
from meco import Evaluator, Problem, get_problem, solve
from meco.bench.run.run_record import RunRecord
from meco.core.engine import Task
from meco.core.evaluation import Evaluation
from meco.core.loop import Loop
from meco.core.streams import Streams
from meco.paper.baselines.c2ode import C2oDE, C2oDENumbers, is_stuck, make_trials, preselect_trials, reflect_into_cube
from meco.rules import Population, Progress
from meco.rules.levels import FallingEpsilon, falling_level

LEVELS = {0.0: 1000, 0.1: 140.574, 0.2: 15.6800, 0.3: 1.30444, 0.4: 0.0739167, 0.49: 0.00358414}


def evaluated(f, g):
    f, g = np.atleast_2d(np.asarray(f, float)), np.asarray(g, float)
    g = g.reshape(*f.shape, 1)
    return Evaluation.of(f, g, np.zeros((*f.shape, 0)))


@pytest.mark.parametrize(("reached", "level"), LEVELS.items())
def test_the_level_falls_as_published(reached, level):
    assert_allclose(falling_level(np.array([1000.0]), reached, until=0.5), level, rtol=5e-6)


def test_the_level_is_zero_from_half_the_budget_on():
    assert falling_level(np.array([1000.0]), 0.5, until=0.5) == 0
    assert falling_level(np.array([1000.0]), 0.9, until=0.5) == 0


def test_a_small_first_level_never_grows():
    first = np.array([0.0, 1e-4, 1e-9])
    assert_allclose(falling_level(first, 0.4, until=0.5), first)


def test_the_rule_counts_the_budget_after_the_first_population():
    pop = Population(np.zeros((1, 2, 1)), evaluated([1, 2], [10, 1000]))
    rule = FallingEpsilon()
    state = rule.start(pop, Progress(50, 2500, 0), None)
    assert_allclose(state.eps, 1000.0)
    state = rule.adapt(state, pop, Progress(50 + 250, 2500, 1), None)
    assert_allclose(state.eps, 140.574, rtol=1e-5)


def test_a_population_is_stuck_when_violations_are_alike_and_none_is_feasible():
    assert is_stuck(evaluated([1, 2, 3], [5, 5, 5]))
    assert not is_stuck(evaluated([1, 2, 3], [5, 5, 5.1]))
    assert not is_stuck(evaluated([1, 2, 3], [-1, -1, -1]))
    assert is_stuck(evaluated([1, np.nan, 3], [5, 9, 5]))  # a failed one does not count


def slow_trials(x, f, nu, u, b):
    """One run's trials, an individual at a time; scalars only where the algorithm has scalars."""
    size, dim = x.shape
    pool_f, pool_cr = (0.6, 0.8, 1.0), (0.1, 0.2, 1.0)
    by_f = x[np.argmin(f)]
    by_nu = x[np.lexsort((f, nu))[0]]

    def partners(i, numbers):
        left, chosen = [j for j in range(size) if j != i], []
        for number in numbers:
            chosen.append(left.pop(int(number * len(left))))
        return [x[j] for j in chosen]

    def inside(v):
        v = np.where(v < 0, -v, np.where(v > 1, 2 - v, v))
        return np.clip(v, 0, 1)

    def cross(i, v, k):
        rate = pool_cr[int(u.CR[b, i, k] * 3)]
        take = u.cross[b, i, k] < rate
        take[int(u.forced[b, i, k] * dim)] = True
        return np.where(take, v, x[i])

    made = []
    for i in range(size):
        f1, f2, f3 = (pool_f[int(u.F[b, i, k] * 3)] for k in range(3))
        r1, r2 = partners(i, u.others[0][b, i])
        made.append(cross(i, inside(x[i] + f1 * (by_f - x[i]) + f1 * (r1 - r2)), 0))
        r1, r2, r3, r4 = partners(i, u.others[1][b, i])
        made.append(cross(i, inside(r1 + f2 * (by_nu - r2) + f2 * (r3 - r4)), 1))
        r1, r2, r3 = partners(i, u.others[2][b, i])
        made.append(inside(x[i] + u.blend[b, i] * (r1 - x[i]) + f3 * (r2 - r3)))
    return np.array(made)


def test_trials_equal_a_slow_reference():
    runs, size, dim = 2, 8, 5
    rng = np.random.default_rng(4)
    problem = get_problem("corner", dim)
    task = Task.of(Evaluator.on(problem, 100, runs), Streams([1, 2]))
    x = rng.random((runs, size, dim))
    f, g, h = problem.raw(problem.lower + x * (problem.upper - problem.lower))
    population = Population(x, Evaluation.of(f, g, h))
    u = C2oDENumbers.draw(task, size)
    got = make_trials(population, u)
    for b in range(runs):
        assert_allclose(got[b], slow_trials(x[b], f[b], population.ev.nu[b], u, b), atol=1e-14)


def test_of_three_trials_the_least_violating_goes_on():
    x = np.arange(6.0).reshape(1, 6, 1)
    ev = evaluated([5, 1, 9, 3, 2, 1], [1, 7, 1, 0, -4, np.nan])
    chosen = preselect_trials(x, ev, size=2)
    assert_array_equal(chosen.x[0, :, 0], [0, 4])
    assert_array_equal(chosen.ev.f, [[5, 2]])


@pytest.mark.parametrize(("dim", "generations"), [(10, 3), (30, 9), (50, 16), (100, 33)])
def test_generations_fit_the_budget_of_fifty_times_the_dimension(dim, generations):
    evaluator = Evaluator.on(get_problem("sphere", dim), 50 * dim, 1)
    engine = C2oDE(Task.of(evaluator, Streams([1])))
    Loop(engine, evaluator).run()
    whole = engine.generation if (50 * dim - 50) % 150 == 0 else engine.generation - 1
    assert whole == generations
    assert evaluator.nfev[0] == 50 * dim


def test_a_remainder_goes_to_the_first_individuals():
    problem = get_problem("tilted", 4)
    evaluator = Evaluator.on(problem, 10 + 7, 1)
    engine = C2oDE(Task.of(evaluator, Streams([1])), pop_size=10)
    x = engine.ask()
    engine.tell(x, evaluator.evaluate(x))
    before = engine.population.x
    x = engine.ask()
    engine.tell(x, evaluator.evaluate(x))  # two triples and one more trial
    changed = np.any(engine.population.x != before, axis=-1)[0]
    assert not changed[3:].any()


def flat(dim):
    """Every point violates by exactly 1: always stuck."""
    return Problem(
        "flat", np.zeros(dim), np.ones(dim), 1, 0, lambda x: (np.sum(x, axis=-1), [1.0 + 0.0 * x[..., 0]], [])
    )


def test_a_stuck_run_gets_a_fresh_population_and_pays_for_it():
    evaluator = Evaluator.on(flat(3), 430, 1)
    engine = C2oDE(Task.of(evaluator, Streams([1])), pop_size=10)
    Loop(engine, evaluator).run()
    assert evaluator.nfev[0] == 430
    assert engine.generation == 11  # 10 at first, then 40 for each: ten whole ones and a half


def test_a_stuck_run_does_not_disturb_its_neighbours():
    stuck_one, other = flat(3), get_problem("tilted", 3)
    together = solve("C2oDE", [other, stuck_one, other], budget=333, seeds=[1, 2, 3], pop_size=10)
    assert [r.nfev for r in together] == [333, 333, 333]
    for row, problem, seed in ((0, other, 1), (1, stuck_one, 2), (2, other, 3)):
        alone = solve("C2oDE", problem, budget=333, seeds=[seed], pop_size=10)[0]
        assert_array_equal(together[row].x, alone.x)
        assert together[row].paper.final_score == alone.paper.final_score
        recorded, wanted = (RunRecord.from_result(r, problem, 333, 0.0) for r in (together[row], alone))
        assert recorded == wanted  # also its curve: generations spent waiting do not show


def test_the_search_reaches_a_constrained_optimum():
    problem = get_problem("tilted", 4)
    for result in solve("C2oDE", problem, budget=6000, seeds=[1, 2]):
        assert result.feasible
        assert_allclose(result.f, problem.best_known, rtol=0.02)


@every_library
def test_formulas_run_on_any_array_library(xp):
    assert_runs_agree("C2oDE", xp, within=1e-9, budget=200, pop_size=8)


def test_reflection_mirrors_once_and_then_stops():
    assert_allclose(reflect_into_cube(np.array([-0.25, 1.25, 0.3, -1.5, 2.5])), [0.25, 0.75, 0.3, 1.0, 0.0])
