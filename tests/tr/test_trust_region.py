"""TR and TR-ES as searches: any size, any constraints, any budget, and every door."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import both, visited

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.errors import InvalidInput
from meco.tr.controls import TR_CONTROLS
from meco.tr.engine import TrustRegion, make_tr_es
from meco.tr.proposers.offspring import SHARE
from meco.tr.region import PointSource

BOX = [(-5.0, 5.0)] * 3


def planes(dim, n_ineq=20, n_eq=0):
    """Squares around a random place, with tilted planes as constraints that hold at the centre of the box."""
    rng = np.random.default_rng(dim)
    tilt, place = rng.normal(size=(dim, n_ineq + n_eq)), rng.uniform(-1.0, 1.0, dim)

    def formula(x):
        level = x @ tilt
        return ((x - place) ** 2).sum(axis=-1), level[..., :n_ineq] - 0.5, level[..., n_ineq:]

    return meco.Problem(f"planes {dim}", np.full(dim, -2.0), np.full(dim, 2.0), n_ineq, n_eq, formula)


@pytest.mark.parametrize(
    ("method", "dim"),
    [
        *(("TR-ES", dim) for dim in (1, 2, 3, 10, 30)),  # which has all of TR
        ("TR", 3),
        *(pytest.param("TR", dim, marks=pytest.mark.slow) for dim in (1, 2, 10, 30)),
    ],
)
def test_any_number_of_variables_with_twenty_constraints(method, dim):
    problem, budget = planes(dim), 2 * dim + 31  # TR-ES comes to several planes at once from outside
    points, _ = visited(method, problem, budget)
    assert points.shape == (1, budget, dim)
    f, g, _ = problem.raw(4.0 * points[0] - 2.0)
    assert f[(g <= 0.0).all(axis=-1)].min() < problem.raw(np.zeros(dim))[0]


@pytest.mark.slow
@pytest.mark.parametrize("dim", [100, 200])
@both
def test_many_variables_with_twenty_constraints(method, dim):
    problem = planes(dim)
    result = meco.solve(method, problem, 2 * dim + 41, seeds=[1])[0]
    assert result.feasible
    assert result.f < 0.5 * problem.raw(np.zeros(dim))[0]


@pytest.mark.slow
@both
def test_a_thousand_constraints(method):
    result = meco.solve(method, planes(20, n_ineq=1000), 61, seeds=[1])[0]
    assert result.feasible
    assert result.f < planes(20, n_ineq=1000).raw(np.zeros(20))[0]


@pytest.mark.parametrize(
    ("name", "within"), [("sphere", 1e-8), ("tilted", 1e-4), ("ring", 2e-4), ("corner", 1e-4)]
)  # an equality may be missed by its tolerance
@pytest.mark.parametrize("method", ["TR-ES", pytest.param("TR", marks=pytest.mark.slow)])
def test_known_optima_are_found(method, name, within):
    problem = meco.get_problem(name, 4)
    for result in meco.solve(method, problem, 120, seeds=[1, 2]):
        assert result.feasible
        assert abs(result.f - problem.best_known) < within


@both
def test_equalities_alone_are_met(method):
    result = meco.solve(method, planes(5, n_ineq=0, n_eq=3), 60, seeds=[1])[0]
    assert result.feasible


@both
def test_where_nothing_is_feasible_the_least_violation_is_found(method):
    result = meco.solve(method, meco.get_problem("impossible", 3), 100, seeds=[1])[0]
    assert not result.feasible
    assert_allclose(result.nu, 1.0, atol=1e-9)


@both
def test_where_every_evaluation_fails_the_search_looks_everywhere(method):
    problem = meco.Problem(
        "nothing", -np.ones(2), np.ones(2), 1, 1, lambda x: (x[..., 0] * np.nan, [x[..., 0]], [x[..., 1]])
    )
    points, engine = visited(method, problem, 40)
    assert_array_equal(engine.archive.failed, np.ones((1, 40), dtype=bool))
    assert np.ptp(points[0, 20:], axis=0).min() > 0.8


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 6, 7, 8, 13])
@both
def test_budgets_from_one_evaluation_up(method, budget):
    result = meco.solve(method, meco.get_problem("tilted", 3), budget, seeds=[1])[0]
    assert result.nfev == budget
    assert np.isfinite(result.f)


def test_a_budget_too_small_for_a_star_still_takes_model_steps():
    problem = planes(10)
    _, engine = visited("TR", problem, 12)
    assert engine.generation > 2
    assert meco.solve("TR", problem, 12, seeds=[1])[0].f < problem.raw(np.zeros(10))[0]


@both
def test_the_search_begins_at_the_points_given(method):
    given = np.array([[0.9, 0.2, 0.3], [0.1, 0.8, 0.5]])
    points, _ = visited(method, meco.get_problem("tilted", 3), 40, x0=given)
    assert_array_equal(points[0, :2], given)
    lengths = 0.05 * np.maximum(1.0, np.abs(10.0 * given[0] - 5.0))  # half of them, in the box from -5 to 5
    arms = np.abs(points[0, 2:8] - given[0]).max(axis=-1)
    assert_allclose(arms, np.tile(lengths, 2) * np.where(arms < 0.99 * np.tile(lengths, 2), 0.5, 1.0))


def constrained(x):
    return float(x @ x), {"plane": 1.0 - float(x.sum())}


@both
def test_known_points_cost_nothing_and_feed_the_models(method):
    known = np.random.default_rng(3).uniform(-5, 5, (40, 3))
    f, g = (known * known).sum(axis=1), 1.0 - known.sum(axis=1, keepdims=True)
    with_them = meco.minimize(constrained, BOX, method=method, evaluated=(known, f, g), budget=25, seed=1)
    assert with_them.nfev == 25
    assert with_them.evaluations.known.sum() == 40
    assert with_them.fun < 0.34


@pytest.mark.parametrize("integer", [[True, True, True], [True, False, False]], ids=["pure", "mixed"])
@both
def test_integers_are_found(method, integer):
    def fun(x):
        assert np.all(x[integer] == np.round(x[integer]))
        return float(((x - [1.3, -2.2, 3.4]) ** 2).sum()), {"sum": float(x.sum()) - 4.0}

    bounds = [meco.Variable(low, high, integer=is_integer) for (low, high), is_integer in zip(BOX, integer)]
    result = meco.minimize(fun, bounds, method=method, budget=80, seed=1)
    best = [1.0, -2.0, 3.0] if all(integer) else [1.0, -2.2, 3.4]
    assert result.feasible
    assert_allclose(result.x, best, atol=1e-3)


@both
def test_a_pure_integer_search_does_not_ask_for_one_point_again_and_again(method):
    problem = meco.get_problem("sphere", 3)
    integer = meco.Problem("integer", problem.lower, problem.upper, 0, 0, problem.formula, integrality=[True] * 3)
    points, _ = visited(method, integer, 120)
    assert len(np.unique(points[0].round(9), axis=0)) > 80


@both
def test_a_fixed_variable_stays(method):
    bounds = [(-5.0, 5.0), (2.0, 2.0), (-5.0, 5.0)]
    result = meco.minimize(constrained, bounds, method=method, budget=80, seed=1)
    assert np.all(result.evaluations.x[:, 1] == 2.0)
    assert result.feasible
    assert_allclose(result.fun, 4.0, atol=1e-3)


@both
def test_a_batch_asks_for_several_points_a_step(method):
    problem = meco.get_problem("corner", 4)
    points, engine = visited(method, problem, 9 + 4 * 10, batch=4)  # before the first restart
    assert engine.generation == 11
    assert len(np.unique(points[0], axis=0)) == len(points[0])
    assert_array_equal(
        engine.asked.expectation.source[0, 1:], [PointSource.STEP, PointSource.GEOMETRY, PointSource.STEP]
    )
    assert meco.solve(method, problem, 120, seeds=[1], batch=4)[0].f < problem.best_known + 0.01


def engine_of(build, **options):
    evaluator = Evaluator.on(meco.get_problem("corner", 4), 60, 2)
    return build(Task.of(evaluator, Streams([1, 2])), **options), evaluator


def one_iteration(engine, evaluator):
    x = engine.ask()
    engine.tell(x, evaluator.evaluate(x))


def test_controls_are_declared_checked_and_steered():
    engine, evaluator = engine_of(make_tr_es)
    assert engine.controls == (*TR_CONTROLS, SHARE)
    one_iteration(engine, evaluator)
    engine.steer({"share": np.array([0.0, 1.0]), "theta": np.array([0.2, 0.9])})
    one_iteration(engine, evaluator)
    assert_array_equal(engine.theta(), [0.2, 0.9])
    assert_array_equal(engine.asked.expectation.source[:, 0] == PointSource.OFFSPRING, [False, True])
    with pytest.raises(InvalidInput, match=r"has no control 'radius'; it offers theta, .*, share"):
        engine.steer({"radius": np.ones(2)})
    for build, options in (
        (TrustRegion, {"theta": 1.5}),
        (TrustRegion, {"batch": 0}),
        (make_tr_es, {"share": -0.1}),
    ):
        with pytest.raises(InvalidInput):
            engine_of(build, **options)


def test_theta_falls_with_the_budget_unless_it_is_given():
    engine, evaluator = engine_of(make_tr_es)
    one_iteration(engine, evaluator)
    assert_allclose(engine.theta(), 0.5 * (1.0 - 9 / 60))
    assert_array_equal(engine_of(TrustRegion, theta=0.7)[0].settings["theta"], 0.7)


def test_the_trace_tells_radius_controls_weights_and_source():
    result = meco.solve("TR-ES", meco.get_problem("corner", 4), 60, seeds=[1])[0]
    assert {"delta", "theta", "share", "weights", "source", "restarts", "sigma"} <= set(result.trace)
    assert np.all(np.diff(result.trace["theta"]) <= 0.0)
    assert result.trace["weights"].shape == (52, 3)


@both
def test_a_step_costs_the_same_whatever_the_archive_holds(method, monkeypatch):
    monkeypatch.setattr("meco.tr.tr_state.ARCHIVE_CAPACITY", 40)
    _, engine = visited(method, meco.get_problem("corner", 4), 120)
    assert engine.archive.count == engine.archive.x.shape[1] == 40
