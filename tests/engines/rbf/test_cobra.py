"""COBRA: the design, the surrogate search, the margin, and small problems solved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("scipy")

from meco import get_problem, solve
from meco.core.engine import Task
from meco.core.evaluator import Evaluator
from meco.core.loop import Loop
from meco.core.problem import Problem, problem
from meco.core.streams import Streams
from meco.errors import InvalidInput
from meco.paper.baselines.cobra import FIRST_MARGIN, LARGEST_MARGIN, Cobra, SafetyMargin
from meco.paper.baselines.samples import Samples, Training
from meco.paper.baselines.surrogate import CubicRBF
from meco.paper.baselines.surrogate_problem import CachedProblem, SurrogateProblem


def engine(name="tilted", dim=4, budget=60, **options):
    evaluator = Evaluator.on(get_problem(name, dim=dim), budget)
    return Cobra(Task.of(evaluator, Streams([1])), **options), evaluator


@problem("three-bar truss", bounds=[(0, 1), (0, 1)], best=263.8958)
def truss(x):
    """A small engineering problem."""
    a, b = x[..., 0], x[..., 1]
    s2 = np.sqrt(2.0)
    shared = s2 * a**2 + 2 * a * b
    limits = [2 * (s2 * a + b) / shared - 2, 2 * b / shared - 2, 2 / (a + s2 * b) - 2]
    return (2 * s2 * a + b) * 100, limits, []


def test_the_design_is_a_latin_hypercube_of_2d_plus_1_points():
    cobra, _ = engine(dim=6)
    x = cobra.ask()[0]
    assert x.shape == (13, 6)
    assert_array_equal(np.sort(np.floor(13 * x), axis=0), np.tile(np.arange(13.0)[:, None], (1, 6)))


def test_points_to_try_first_lead_the_design():
    evaluator = Evaluator.on(get_problem("tilted", dim=3), 30)
    given = np.array([[0.25, 0.5, 0.75], [0.1, 0.1, 0.1]])
    cobra = Cobra(Task.of(evaluator, Streams([1]), x0=given))
    assert_allclose(cobra.ask()[0, :2], given)


@pytest.mark.parametrize(
    ("name", "dim", "budget"),
    [("corner", 5, 60), ("ring", 5, 70), pytest.param("tilted", 5, 60, marks=pytest.mark.slow)],
)
def test_smooth_problems_are_solved_in_a_few_dozen_evaluations(name, dim, budget):
    toy = get_problem(name, dim=dim)
    found = solve("COBRA", toy, budget=budget, seeds=[1])[0]
    assert found.feasible
    assert found.nfev == budget
    assert_allclose(found.f, toy.best_known, atol=2e-3)


def test_the_three_bar_truss_is_solved_in_forty_evaluations():
    found = solve("COBRA", truss, budget=40, seeds=[2])[0]
    assert found.feasible
    assert_allclose(found.f, 263.8958, rtol=1e-3)


def test_phase_one_ends_at_a_feasible_point():
    found = solve("COBRA", get_problem("corner", dim=5), budget=60, seeds=[3], phase_one=True)[0]
    assert found.feasible


def test_the_margin_halves_after_a_row_of_feasible_points_and_doubles_up_to_its_limit():
    safety = SafetyMargin(patience=4)
    for _ in range(4):
        safety.update(feasible=True)
    assert safety.margin == FIRST_MARGIN / 2
    for _ in range(3):
        safety.update(feasible=False)
    safety.update(feasible=True)  # a feasible point ends the row
    assert safety.margin == FIRST_MARGIN / 2
    for _ in range(12):
        safety.update(feasible=False)
    assert safety.margin == LARGEST_MARGIN


def test_ask_and_tell_equal_a_run():
    cobra, evaluator = engine(budget=40)
    Loop(cobra, evaluator).run()
    other, by_hand = engine(budget=40)
    while by_hand.left:
        x = other.ask()
        other.tell(x, by_hand.evaluate(x))
    a, b = evaluator.results("COBRA", [1])[0], by_hand.results("COBRA", [1])[0]
    assert_array_equal(a.x, b.x)
    assert a.score == b.score


def test_a_cap_is_kept_and_reported():
    cobra, evaluator = engine(dim=4, budget=80, cap=40)
    Loop(cobra, evaluator).run()
    assert cobra.training.rbf.size <= 40
    result = evaluator.results("COBRA", [1])[0]
    assert "at most 40 points" in " ".join(result.run.notes)
    assert_allclose(result.f, 0.25, atol=2e-2)


def test_a_cap_too_small_to_span_the_space_is_refused():
    with pytest.raises(InvalidInput, match="at least 4 D = 16"):
        engine(dim=4, cap=10)


def test_a_capped_set_holds_the_best_the_newest_and_the_neighbours():
    random = np.random.default_rng(0)
    samples = Samples(2, 1)
    x = random.uniform(-1, 1, (100, 2))
    samples.add(x, np.sum(x**2, axis=1)[:, None], np.zeros(100, dtype=bool))
    rank = np.argsort(samples.y[:, 0])
    training = Training(2, 1, 60)
    training.capped = False
    training.update(samples, samples.y, rank, int(rank[0]))
    kept = {tuple(row) for row in training.rbf.x[: training.rbf.size]}
    assert training.capped
    assert len(kept) == 55
    assert all(tuple(x[i]) in kept for i in rank[:9])
    assert all(tuple(x[i]) in kept for i in range(85, 100))


def test_failed_points_are_left_out_of_training_and_not_proposed_again():
    def formula(x):
        bad = x[..., 0] > 0.5
        return np.where(bad, np.nan, np.sum(x**2, axis=-1)), [1.0 - np.sum(x, axis=-1)], []

    awkward = Problem("awkward", -np.ones(3), np.ones(3), 1, 0, formula)
    evaluator = Evaluator.on(awkward, 50)
    cobra = Cobra(Task.of(evaluator, Streams([4])))
    Loop(cobra, evaluator).run()
    found = evaluator.results("COBRA", [4])[0]
    assert found.run.nfail > 0
    assert found.feasible
    assert_allclose(found.f, 1 / 3, atol=1e-2)
    trained = cobra.training.rbf.x[: cobra.training.rbf.size]
    assert np.all(trained[:, 0] <= 0.5)
    assert len(np.unique(cobra.samples.x, axis=0)) == 50


def test_a_problem_that_always_fails_spends_its_budget():
    hopeless = Problem("hopeless", -np.ones(3), np.ones(3), 0, 0, lambda x: (np.nan * x[..., 0], [], []))
    found = solve("COBRA", hopeless, budget=25, seeds=[0])[0]
    assert (found.nfev, found.run.nfail) == (25, 25)


def surrogate_of(fun, dim=3, count=60):
    x = np.random.default_rng(5).uniform(-1, 1, (count, dim))
    rbf = CubicRBF(dim, fun(x).shape[1])
    rbf.fit(x, fun(x))
    return rbf.surrogate()


def test_the_subproblem_keeps_limits_and_distance():
    surrogate = surrogate_of(lambda x: np.stack([np.sum(x, axis=1), 0.5 - x[:, 0]], axis=1))
    near = surrogate.x[np.argmin(np.sum(surrogate.x, axis=1))]
    sub = SurrogateProblem(surrogate, 1, 0.01, np.empty(0), rho=0.3)
    found = sub.solve(near + 0.1, 100)
    assert surrogate.value(found)[1] + 0.01 <= 1e-5
    assert np.min(np.linalg.norm(surrogate.x - found, axis=1)) >= 0.3 - 1e-5
    assert np.all(np.abs(found) <= 1.0)


def test_limits_that_cannot_be_kept_are_approached():
    surrogate = surrogate_of(lambda x: np.stack([np.sum(x, axis=1), 1.0 + np.sum(x**2, axis=1)], axis=1))
    found = SurrogateProblem(surrogate, 1, 0.0, np.empty(0)).solve(np.full(3, 0.5), 100)
    assert_allclose(found, 0.0, atol=0.1)


def test_slopes_of_the_subproblem_agree_with_differences():
    surrogate = surrogate_of(lambda x: np.stack([np.sum(x**2, axis=1), x[:, 0] ** 3, np.sin(x[:, 1])], axis=1))
    view = CachedProblem(SurrogateProblem(surrogate, 1, 0.01, np.array([0.1]), rho=0.4), np.full(3, 0.2))
    at, step = np.array([0.1, -0.2, 0.3]), 1e-6

    def everything(x):
        return np.append(view.limits(x), view.objective(x)[0])

    numeric = np.stack([(everything(at + m) - everything(at - m)) / (2 * step) for m in step * np.eye(3)], axis=1)
    analytic = np.vstack([view.limit_slopes(at), view.objective(at)[1]])
    assert analytic.shape == (5, 3)  # a limit, both sides of an equality, the distance, f
    assert_allclose(analytic, numeric, rtol=1e-4, atol=1e-5)
