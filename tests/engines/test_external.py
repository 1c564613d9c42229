"""Wrapped libraries: what they are told, when they start again, and what failures look like to them."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco import get_problem, solve
from meco.core.engine import Task, first_population
from meco.core.evaluation import Evaluation
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem
from meco.core.streams import Streams
from meco.engines.external import FailureCeiling, pack_evaluation, unpack_evaluation
from meco.engines.external.directions import reference_directions
from meco.engines.external.own_loop import Ruler
from meco.engines.external.pycma import AugmentedLagrangian, CmaEs
from meco.engines.external.pymoo import Isres, Nsga3
from meco.engines.external.scipy import Cobyla, Cobyqa, DifferentialEvolution
from meco.engines.external.slsqp import Slsqp
from meco.errors import InvalidInput, UnknownName

for needed in ("cma", "pymoo", "scipy"):
    pytest.importorskip(needed)

TALKERS = [CmaEs, AugmentedLagrangian, Nsga3, Isres]
DRIVERS = [DifferentialEvolution, Cobyqa, Cobyla, Slsqp]
SMOOTH = ["corner", "ring", pytest.param("tilted", marks=pytest.mark.slow)]  # the first has its planes too


def start(engine, problem="tilted", budget=130, seed=1, x0=None, **options):
    problem = get_problem(problem, dim=3) if isinstance(problem, str) else problem
    evaluator = Evaluator.on(problem, budget)
    return engine(Task.of(evaluator, Streams([seed]), x0=x0), **options), evaluator


def line(formula, counts=(0, 0), dim=2):
    return Problem("made up", np.zeros(dim), np.ones(dim), *counts, formula)


@pytest.mark.parametrize("engine", TALKERS)
def test_ask_and_tell_equal_a_run(engine):
    ran, evaluator = start(engine)
    Loop(ran, evaluator).run()
    told, by_hand = start(engine)
    while by_hand.left:
        x = told.ask()
        assert np.all((x >= 0) & (x <= 1))
        told.tell(x, by_hand.evaluate(x))
    a, b = evaluator.results("", [1])[0], by_hand.results("", [1])[0]
    assert_array_equal(a.x, b.x)
    assert a.score == b.score


@pytest.mark.parametrize("engine", DRIVERS)
def test_self_driving_methods_say_that_they_cannot_be_asked(engine):
    driver, _ = start(engine)
    with pytest.raises(InvalidInput, match=r"calls the problem itself.*solve\(\)"):
        driver.ask()


@pytest.mark.parametrize("engine", DRIVERS)
def test_self_driving_methods_obey_stop(engine):
    driver, evaluator = start(engine, budget=5000)
    Loop(driver, evaluator).run(stop=lambda: evaluator.nfev[0] >= 100)
    assert 100 <= evaluator.nfev[0] <= 200


@pytest.mark.parametrize("engine", [*TALKERS, *DRIVERS])
def test_points_to_try_first_are_tried_first(engine):
    asked = []

    def formula(x):
        asked.append(x.reshape(-1, 2))
        return np.sum(x, axis=-1), [], []

    given = np.array([[0.25, 0.5], [0.75, 0.125]])
    ran, evaluator = start(engine, line(formula), budget=60, x0=given)
    Loop(ran, evaluator).run()
    first = np.concatenate(asked)[:50]
    for point in given:
        assert np.min(np.max(np.abs(first - point), axis=1)) < 1e-6  # pycma moves points through its transformation


@pytest.mark.parametrize("engine", [*TALKERS, *DRIVERS])
def test_an_objective_that_fails_half_the_time_is_still_minimised(engine):
    def formula(x):
        bad = np.mod(100.0 * x[..., 1], 1.0) < 0.3
        return np.where(bad, np.inf, np.sum((x - 0.4) ** 2, axis=-1)), [x[..., 0] - 0.9], []

    ran, evaluator = start(engine, line(formula, (1, 0)), budget=120)
    Loop(ran, evaluator).run()
    found = evaluator.results("", [1])[0]
    assert found.run.nfail > 10
    assert found.f < 0.02


@pytest.mark.parametrize("engine", [*TALKERS, *DRIVERS])
def test_a_problem_that_always_fails_spends_its_budget(engine):
    ran, evaluator = start(engine, line(lambda x: (np.nan * x[..., 0], [x[..., 0]], [x[..., 1]]), (1, 1)), budget=60)
    Loop(ran, evaluator).run()
    found = evaluator.results("", [1])[0]
    assert (found.nfev, found.run.nfail) == (60, 60)


@pytest.mark.parametrize("engine", [Nsga3, Isres])
def test_pymoo_starts_from_the_shared_first_population(engine):
    ran, _ = start(engine)
    evaluator = Evaluator.on(get_problem("tilted", dim=3), 60)
    assert_array_equal(ran.ask(), first_population(Task.of(evaluator, Streams([1])), 50))


# --- stand-ins for failures


def test_failed_candidates_stand_above_everything_seen():
    ceiling = FailureCeiling()
    first = ceiling.replace_failed(np.array([[1.0, -8.0], [np.nan, np.nan]]), np.array([False, True]))
    assert_array_equal(first, [[1.0, -8.0], [3.0, 17.0]])
    later = ceiling.replace_failed(np.array([[np.nan, np.nan]]), np.array([True]))
    assert_array_equal(later, [[3.0, 17.0]])
    assert np.isfinite(ceiling.replace_failed(np.array([[1e300, 0.0]]), np.array([False])) ** 2).all()


def test_a_surviving_failure_is_moved_above_later_values():
    seen = iter([np.nan, 1.0, 2.0, 3.0] * 13)

    def formula(x):
        f = np.array([next(seen, 1e6) for _ in range(x.shape[-2])]).reshape(x.shape[:-1])
        return f, [], []

    ran, evaluator = start(Nsga3, line(formula), budget=150)
    for _ in range(2):
        x = ran.ask()
        ran.tell(x, evaluator.evaluate(x))
    failed = ran.population.ev.failed[0]
    assert not failed.any() or ran.algorithm.pop.get("F")[failed, 0].min() > 1e6


def test_evaluations_survive_packing():
    ev = Evaluation.of(np.array([[1.0, np.nan]]), np.array([[[1.0, -1.0], [0.0, 0.0]]]), np.zeros((1, 2, 1)))
    back = unpack_evaluation(pack_evaluation(ev), 2)
    for name in ("f", "g", "h", "failed", "feasible"):
        assert_array_equal(getattr(back, name), getattr(ev, name))


# --- pycma


def test_cma_starts_at_the_centre_and_again_at_random():
    cma, evaluator = start(CmaEs, "sphere", budget=3000)
    cma.ask()
    assert_allclose(cma.es.result.xfavorite, 0.5, atol=1e-9)
    Loop(cma, evaluator).run()
    assert cma.starts > 1  # three variables converge to the last bit long before 3000 evaluations
    assert evaluator.nfev[0] == 3000


def test_cma_has_the_population_it_was_given_or_the_native_one():
    assert start(CmaEs, pop_size=50)[0].ask().shape == (1, 50, 3)
    assert start(CmaEs)[0].ask().shape == (1, 7, 3)  # 4 + floor(3 ln 3)


def test_cma_works_on_a_single_variable():
    found = solve("CMA-ES-native", line(lambda x: ((x[..., 0] - 0.3) ** 2, [], []), dim=1), budget=80, seeds=[1])[0]
    assert_allclose(found.x, [0.3], atol=1e-2)


def test_the_augmented_lagrangian_finds_a_constrained_optimum_the_penalty_misses():
    toy = get_problem("corner", dim=3)
    lagrangian = solve("CMA-ES-AL", toy, budget=1500, seeds=[1])[0]
    assert lagrangian.feasible
    assert_allclose(lagrangian.f, toy.best_known, rtol=0.02)


# --- pymoo


def test_nsga3_objectives_are_f_and_every_violation_or_their_sum():
    assert start(Nsga3, "corner")[0]._count_outputs() == {"n_obj": 4}
    assert start(Nsga3, "corner", objectives="bi")[0]._count_outputs() == {"n_obj": 2}
    assert start(Nsga3, "sphere")[0]._count_outputs() == {"n_obj": 2}  # the second one is constant
    with pytest.raises(UnknownName, match="multi"):
        start(Nsga3, "corner", objectives="many")


def test_nsga3_sums_violations_when_there_are_more_than_directions_and_says_so():
    crowded = line(lambda x: (x[..., 0], [x[..., 0] - k for k in range(60)], []), (60, 0))
    found = solve("NSGA-III", crowded, budget=60, seeds=[1])[0]
    assert "60 violations were summed" in found.run.notes[0]


def spread_quickly(name, n_obj, count, seed):
    """Directions that take no time to find."""
    return np.full((count, n_obj), 1.0 / n_obj)


def test_reference_directions_lie_on_the_simplex_and_are_kept_on_disk(tmp_path, monkeypatch):
    from pymoo.util.ref_dirs import get_reference_directions

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    reference_directions.cache_clear()
    few = partial(get_reference_directions, n_max_iter=20)  # of a thousand
    monkeypatch.setattr("pymoo.util.ref_dirs.get_reference_directions", few)
    found = reference_directions(3, 4)
    monkeypatch.setattr("pymoo.util.ref_dirs.get_reference_directions", spread_quickly)
    assert found.shape == (4, 3)
    assert_allclose(found.sum(axis=1), 1.0)
    stored = next(tmp_path.rglob("*.npy"))
    reference_directions.cache_clear()
    assert_array_equal(reference_directions(3, 4), found)
    stored.write_bytes(b"torn")
    reference_directions.cache_clear()
    assert_array_equal(reference_directions(3, 4), spread_quickly("energy", 3, 4, 1))  # computed again


@pytest.mark.slow
def test_the_directions_that_the_tests_keep_are_those_that_pymoo_finds(tmp_path, monkeypatch):
    kept = {path.name: np.load(path) for path in (Path(__file__).parents[1] / "data").rglob("directions-*.npy")}
    assert len(kept) > 3
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    reference_directions.cache_clear()
    for name, directions in kept.items():
        count, n_obj = directions.shape
        assert name == f"directions-{n_obj}-{count}.npy"
        assert_allclose(reference_directions(n_obj, count), directions, atol=1e-12)


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    (tmp_path / "meco").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("pymoo.util.ref_dirs.get_reference_directions", spread_quickly)
    reference_directions.cache_clear()
    assert reference_directions(3, 4).shape == (4, 3)


def test_two_objectives_have_an_even_grid():
    assert_allclose(reference_directions(2, 5), [[0, 1], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [1, 0]])


# --- SciPy


def test_objective_and_constraints_of_a_point_are_one_evaluation():
    asked = []

    def formula(x):
        asked.append(x.reshape(-1, 2))
        return np.sum(x, axis=-1), [0.5 - x[..., 0]], [x[..., 0] - x[..., 1]]

    for engine in DRIVERS:
        asked.clear()
        ran, evaluator = start(engine, line(formula, (1, 1)), budget=90)
        Loop(ran, evaluator).run()
        points = np.concatenate(asked)
        assert len(points) == 90
        assert len(np.unique(points, axis=0)) == 90


def test_cobyqa_starts_from_the_best_of_fifty_and_again_after_converging():
    cobyqa, evaluator = start(Cobyqa, "sphere", budget=400)
    Loop(cobyqa, evaluator).run()
    assert cobyqa.starts > 1
    assert evaluator.results("", [1])[0].f < 1e-10


@pytest.mark.parametrize("name", SMOOTH)
def test_cobyqa_solves_smooth_problems(name):
    toy = get_problem(name, dim=4)
    found = solve("COBYQA", toy, budget=120, seeds=[1])[0]
    assert found.feasible
    assert_allclose(found.f, toy.best_known, atol=1e-3)


def test_populations_too_small_for_a_library_are_refused_by_name():
    for engine, least in ((CmaEs, 3), (Nsga3, 4), (Isres, 14), (DifferentialEvolution, 5)):
        with pytest.raises(InvalidInput, match=f"at least {least}"):
            start(engine, pop_size=least - 1)


# --- local searches in the problem's own units


@pytest.mark.parametrize("method", ["SLSQP", "COBYLA"])
@pytest.mark.parametrize("name", SMOOTH)
def test_local_searches_solve_smooth_problems(method, name):
    toy = get_problem(name, dim=4)
    found = solve(method, toy, budget=120, seeds=[1])[0]
    assert found.feasible
    assert_allclose(found.f, toy.best_known, atol=1e-4)


def test_a_ruler_measures_in_the_units_of_the_box_or_of_the_cube():
    box = Evaluator.on(Problem("box", np.array([-2.0, 3.0]), np.array([2.0, 3.0]), 0, 0, None), 1).box
    own, cube = Ruler(box, own_units=True), Ruler(box, own_units=False)
    assert_array_equal(own.from_unit(np.array([0.25, 0.7])), [-1.0, 3.0])
    assert_array_equal(own.to_unit(np.array([[-1.0, 3.0]])), [[0.25, 0.0]])  # a fixed variable has no coordinate
    exact = np.array([[-1.0 + 1.7e-9, 3.0]])
    assert_array_equal(box.to_box(own.to_unit(exact)[None])[0], exact)  # bit for bit
    assert own.narrowest == 4.0
    assert_array_equal(cube.from_unit(np.array([0.25, 0.7])), [0.25, 0.7])


def test_slsqp_counts_every_call_of_its_differences_and_has_exact_slopes_of_linear_functions():
    asked = []

    def formula(x):
        asked.append(x.reshape(-1, 3))
        return 1e6 * x[..., 0] - 3.0 * x[..., 2], [x[..., 1] - 0.5], []

    box = Problem("made up", np.full(3, -7.0), np.full(3, 9.0), 1, 0, formula)
    engine, evaluator = start(Slsqp, box, budget=40)
    slopes, plain = [], Slsqp._slopes_at

    def kept(self, callbacks, x):
        slopes.append(plain(self, callbacks, x))
        return slopes[-1]

    Slsqp._slopes_at = kept
    try:
        Loop(engine, evaluator).run()
    finally:
        Slsqp._slopes_at = plain
    assert len(np.concatenate(asked)) == 40
    assert_allclose(slopes[0], [[1e6, 0.0, -3.0], [0.0, 1.0, 0.0]], rtol=1e-6, atol=0.2)  # rounding of f / step


def test_slsqp_and_cobyla_start_again_elsewhere_when_they_have_converged():
    for engine, found in ((Slsqp, 1e-10), (Cobyla, 1e-8)):  # a start of COBYLA ends at a radius of 1e-4
        ran, evaluator = start(engine, "sphere", budget=300)
        Loop(ran, evaluator).run()
        assert ran.starts > 1
        assert evaluator.results("", [1])[0].f < found
