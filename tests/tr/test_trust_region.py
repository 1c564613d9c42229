"""TR as a search: any size, any constraints, any budget, and every door."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from searches import visited

import meco
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.streams import Streams
from meco.errors import InvalidInput
from meco.tr.engine import TrustRegion
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


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 30])
def test_any_number_of_variables_with_twenty_constraints(dim):
    problem, budget = planes(dim), 2 * dim + 31
    points, _ = visited("TR", problem, budget)
    assert points.shape == (1, budget, dim)
    f, g, _ = problem.raw(4.0 * points[0] - 2.0)
    assert f[(g <= 0.0).all(axis=-1)].min() < problem.raw(np.zeros(dim))[0]


@pytest.mark.slow
@pytest.mark.parametrize("dim", [100, 200])
def test_many_variables_with_twenty_constraints(dim):
    problem = planes(dim)
    result = meco.solve("TR", problem, 2 * dim + 41, seeds=[1])[0]
    assert result.feasible
    assert result.f < 0.5 * problem.raw(np.zeros(dim))[0]


@pytest.mark.slow
def test_a_thousand_constraints():
    result = meco.solve("TR", planes(20, n_ineq=1000), 61, seeds=[1])[0]
    assert result.feasible
    assert result.f < planes(20, n_ineq=1000).raw(np.zeros(20))[0]


@pytest.mark.parametrize(
    ("name", "within"), [("sphere", 1e-8), ("tilted", 1e-4), ("ring", 2e-4), ("corner", 1e-4)]
)  # an equality may be missed by its tolerance
def test_known_optima_are_found(name, within):
    problem = meco.get_problem(name, 4)
    for result in meco.solve("TR", problem, 120, seeds=[1, 2]):
        assert result.feasible
        assert abs(result.f - problem.best_known) < within


def test_equalities_alone_are_met():
    result = meco.solve("TR", planes(5, n_ineq=0, n_eq=3), 60, seeds=[1])[0]
    assert result.feasible


def test_where_nothing_is_feasible_the_least_violation_is_found():
    result = meco.solve("TR", meco.get_problem("impossible", 3), 100, seeds=[1])[0]
    assert not result.feasible
    assert_allclose(result.nu, 1.0, atol=1e-9)


def test_where_every_evaluation_fails_the_search_looks_everywhere():
    problem = meco.Problem(
        "nothing", -np.ones(2), np.ones(2), 1, 1, lambda x: (x[..., 0] * np.nan, [x[..., 0]], [x[..., 1]])
    )
    points, engine = visited("TR", problem, 40)
    assert_array_equal(engine.archive.failed, np.ones((1, 40), dtype=bool))
    assert np.ptp(points[0, 20:], axis=0).min() > 0.8


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 6, 7, 8, 13])
def test_budgets_from_one_evaluation_up(budget):
    result = meco.solve("TR", meco.get_problem("tilted", 3), budget, seeds=[1])[0]
    assert result.nfev == budget
    assert np.isfinite(result.f)


def test_a_budget_too_small_for_a_star_still_takes_model_steps():
    problem = planes(10)
    _, engine = visited("TR", problem, 12)
    assert engine.generation > 2
    assert meco.solve("TR", problem, 12, seeds=[1])[0].f < problem.raw(np.zeros(10))[0]


def test_the_search_begins_at_the_points_given():
    given = np.array([[0.9, 0.2, 0.3], [0.1, 0.8, 0.5]])
    points, _ = visited("TR", meco.get_problem("tilted", 3), 40, x0=given)
    assert_array_equal(points[0, :2], given)
    lengths = 0.05 * np.maximum(1.0, np.abs(10.0 * given[0] - 5.0))  # half of them, in the box from -5 to 5
    arms = np.abs(points[0, 2:8] - given[0]).max(axis=-1)
    assert_allclose(arms, np.tile(lengths, 2) * np.where(arms < 0.99 * np.tile(lengths, 2), 0.5, 1.0))


def constrained(x):
    return float(x @ x), {"plane": 1.0 - float(x.sum())}


def test_known_points_cost_nothing_and_feed_the_models():
    known = np.random.default_rng(3).uniform(-5, 5, (40, 3))
    f, g = (known * known).sum(axis=1), 1.0 - known.sum(axis=1, keepdims=True)
    with_them = meco.minimize(constrained, BOX, evaluated=(known, f, g), budget=25, seed=1)
    assert with_them.nfev == 25
    assert with_them.evaluations.known.sum() == 40
    assert with_them.fun < 0.34


@pytest.mark.parametrize("integer", [[True, True, True], [True, False, False]], ids=["pure", "mixed"])
def test_integers_are_found(integer):
    def fun(x):
        assert np.all(x[integer] == np.round(x[integer]))
        return float(((x - [1.3, -2.2, 3.4]) ** 2).sum()), {"sum": float(x.sum()) - 4.0}

    bounds = [meco.Variable(low, high, integer=is_integer) for (low, high), is_integer in zip(BOX, integer)]
    result = meco.minimize(fun, bounds, budget=80, seed=1)
    best = [1.0, -2.0, 3.0] if all(integer) else [1.0, -2.2, 3.4]
    assert result.feasible
    assert_allclose(result.x, best, atol=1e-3)


def test_a_pure_integer_search_does_not_ask_for_one_point_again_and_again():
    problem = meco.get_problem("sphere", 3)
    integer = meco.Problem("integer", problem.lower, problem.upper, 0, 0, problem.formula, integrality=[True] * 3)
    points, _ = visited("TR", integer, 120)
    assert len(np.unique(points[0].round(9), axis=0)) > 80


def test_a_fixed_variable_stays():
    bounds = [(-5.0, 5.0), (2.0, 2.0), (-5.0, 5.0)]
    result = meco.minimize(constrained, bounds, budget=80, seed=1)
    assert np.all(result.evaluations.x[:, 1] == 2.0)
    assert result.feasible
    assert_allclose(result.fun, 4.0, atol=1e-3)


def test_a_batch_asks_for_several_points_a_step():
    problem = meco.get_problem("corner", 4)
    points, engine = visited("TR", problem, 9 + 4 * 10, batch=4)  # before the first restart
    assert engine.generation == 11
    assert len(np.unique(points[0], axis=0)) == len(points[0])
    assert_array_equal(
        engine.asked.expectation.source[0, 1:], [PointSource.STEP, PointSource.GEOMETRY, PointSource.STEP]
    )
    assert meco.solve("TR", problem, 120, seeds=[1], batch=4)[0].f < problem.best_known + 0.01


def engine_of(**options):
    evaluator = Evaluator.on(meco.get_problem("corner", 4), 60, 2)
    return TrustRegion(Task.of(evaluator, Streams([1, 2])), **options), evaluator


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"theta": 1.5}, r"TR needs theta in \[0, 1\]; got 1.5"),
        ({"batch": 0}, "at least one point a step; got batch=0"),
        ({"radius": 1.0}, "TrustRegion has no control 'radius'; it offers theta, "),
    ],
)
def test_a_control_that_cannot_be_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        engine_of(**options)


def test_theta_stays_as_it_is_given():
    engine, evaluator = engine_of(theta=0.7)
    for _ in range(2):
        x = engine.ask()
        engine.tell(x, evaluator.evaluate(x))
    assert_array_equal(engine.theta(), [0.7, 0.7])


def test_the_trace_tells_radius_controls_weights_and_source():
    result = meco.solve("TR", meco.get_problem("corner", 4), 60, seeds=[1])[0]
    assert {"delta", "theta", "weights", "source", "restarts"} <= set(result.trace)
    assert result.trace["weights"].shape == (52, 3)


def test_a_step_costs_the_same_whatever_the_archive_holds(monkeypatch):
    monkeypatch.setattr("meco.tr.tr_state.ARCHIVE_CAPACITY", 40)
    _, engine = visited("TR", meco.get_problem("corner", 4), 120)
    assert engine.archive.count == engine.archive.x.shape[1] == 40
