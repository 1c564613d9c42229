"""Whole searches: known optima, units, restarts, and the events that a search is a function of."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr_single import Answers, IntegerTask, Options, Task, make_search
from meco.tr_single.region import Source

TOLERANCES = np.zeros(0)


def solved(fun, task, seed=1, options=None):
    """Points [n, D], values [n, F] and the search after the budget. fun gives f, g, h of a point in the unit cube."""
    search = make_search(task, np.random.default_rng(seed), options)
    points, values = [], []
    while len(points) < task.budget:
        x = search.ask()
        f, g, h = (np.array(each, dtype=float) for each in zip(*(fun(each) for each in x)))
        search.tell(x, Answers.of(f, g, h, task.tolerances(g.shape[1], h.shape[1])))
        points += list(x)
        values += list(np.concatenate([f[:, None], g, h], axis=1))
    return np.array(points)[: task.budget], np.array(values)[: task.budget], search


def best(values, n_ineq=0, eq_tol=1e-4):
    """The least feasible f."""
    c = values[:, 1:]
    feasible = (c[:, :n_ineq] <= 0.0).all(axis=1) & (np.abs(c[:, n_ineq:]) <= eq_tol).all(axis=1)
    return values[feasible, 0].min(initial=np.inf)


@pytest.mark.parametrize("dim", [2, 5, 10])
def test_a_sphere_above_a_plane_is_solved_to_nine_digits(dim):
    """30 evaluations for each variable. The least f is 1 / D."""

    def fun(u):
        x = 10.0 * u - 5.0
        return x @ x, [1.0 - x.sum()], []

    values = solved(fun, Task(dim, 30 * dim))[1]
    assert abs(best(values, 1) * dim - 1.0) <= 1e-9


@pytest.mark.parametrize(("dim", "least"), [(5, 0.6655268369944923), (20, 0.24501775438158346)])
def test_an_ellipsoid_of_condition_a_thousand_in_two_balls_is_solved_to_nine_digits(dim, least):
    """30 evaluations for each variable. The least f is that of SciPy's SLSQP."""
    scale, centres = 1e3 ** (np.arange(dim) / (dim - 1)), np.zeros((2, dim))
    centres[0, 0], centres[1, 1] = 1.5, 1.5

    def fun(u):
        x = 10.0 * u - 5.0
        return scale @ x**2, [((x - centre) ** 2).sum() - 1.5 for centre in centres], []

    values = solved(fun, Task(dim, 30 * dim))[1]
    assert abs(best(values, 2) / least - 1.0) <= 1e-9


def test_an_equality_is_met_and_the_multiplier_found():
    """min x0 + x1 on the circle of radius 1: at -(1, 1) / sqrt(2), with multiplier 1 / sqrt(2)."""

    def fun(u):
        x = 4.0 * u - 2.0
        return x.sum(), [], [x @ x - 1.0]

    _, values, search = solved(fun, Task(2, 20, x0=np.array([[0.3, 0.4]]), lengths=np.full(2, 0.25)))
    assert best(values) <= -np.sqrt(2.0) + 1e-4
    assert_allclose(np.abs(search.region.multipliers), 1.0 / np.sqrt(2.0), rtol=0.1)


@pytest.mark.parametrize("also", [[], [-5.0]], ids=["alone", "beside a constant that is satisfied"])
def test_constraints_that_conflict_end_at_the_least_sum_of_violations(also):
    """The first asks for 90 at least, the second for 7.07 at most: the sum is least at the limit of the second."""

    def fun(u):
        x = 0.1 + 11.9 * u[0]
        return x, [1.0 - x / 90.0, x**2 / 50.0 - 1.0, *also], []

    points, values, _ = solved(fun, Task(1, 60))
    violation = np.maximum(values[:, 1:], 0.0).sum(axis=1)
    assert_allclose(0.1 + 11.9 * points[np.argmin(violation), 0], np.sqrt(50.0), rtol=1e-6)


def test_the_first_feasible_point_gives_the_weights_back_to_the_multipliers():
    """Feasible near x[0] = 0.75 only; the first region ends in the bay around 0.2, which has no feasible point."""

    def two_bays(u):
        x = u * [1.0, 4.0, 4.0]
        bays = np.exp(-(((x[0] - 0.75) / 0.08) ** 2)) + 0.15 * np.exp(-(((x[0] - 0.2) / 0.15) ** 2))
        return x[1] ** 2 + 2.0 * x[2] ** 2 + x[0], [0.2 - bays, 1.0 - x[1] * x[2]], []

    x0 = np.array([[0.2, 0.75, 0.75]])
    _, values, search = solved(two_bays, Task(3, 300, x0=x0, lengths=np.array([1.0, 0.75, 0.75])))
    assert search.region.restart > 0
    assert not search.merit.restoring
    assert best(values, 2) == pytest.approx(3.4769331, abs=1e-4)


def test_several_active_constraints_hold_strictly_at_the_best_point():
    """Aimed at exactly, one of them would be violated by rounding."""
    rng = np.random.default_rng(300)
    tilt, place, bend = rng.normal(size=(6, 3)), rng.uniform(-2, 2, 3), rng.uniform(0, 0.5, 6)

    def fun(u):
        x = 4.0 * u - 2.0
        return ((x - place) ** 2).sum(), tilt @ x - 0.5 + bend * (x @ x), []

    near, far = best(solved(fun, Task(3, 70))[1], 6), best(solved(fun, Task(3, 150))[1], 6)
    assert abs(near - far) <= 1e-9 * abs(far)


def smooth(u):
    """A quartic with curved, linear and equality constraints in four variables."""
    x = 5.0 * u - 3.0
    f = 5.0 + ((x - 0.3) ** 2 @ [1.0, 0.4, 2.0, 3.0]) + 0.1 * ((x - 0.3) ** 4).sum()
    return f, np.array([x @ x - 2.0, x @ [1.0, -0.4, 0.3, 0.8] - 0.5]), np.array([x @ [0.2, 1.0, -0.7, 0.1] - 0.2])


@pytest.mark.parametrize("batch", [1, 3])
def test_powers_of_two_as_units_change_no_bit_of_any_point(batch):
    def other(u):
        f, g, h = smooth(u)
        return 2.0**-7 * f, 2.0 ** np.array([14.0, -9.0]) * g, 2.0**11 * h

    task = Task(4, 100, batch)
    changed = Task(4, 100, batch, tolerances=lambda p, q: np.repeat((0.0, 1e-4 * 2.0**11), (p, q)))
    assert_array_equal(solved(smooth, task)[0], solved(other, changed)[0])


def test_the_same_events_give_the_same_points_and_another_seed_others():
    task = Task(4, 80)
    one, again, other = (solved(smooth, task, seed)[0] for seed in (1, 1, 2))
    assert_array_equal(one, again)
    assert (one != other).any()


def test_the_search_uses_the_points_that_were_evaluated():
    """A point that another machine evaluated, next to the proposed one, is the one in the archive."""
    search = make_search(Task(2, 40), np.random.default_rng(1))
    for _ in range(15):
        x = search.ask() + 1e-3
        search.tell(x, Answers.of((x**2).sum(axis=1), x[:, :0], x[:, :0], TOLERANCES))
        assert_array_equal(search.archive.x[-len(x) :], x)


def test_nothing_is_allocated_by_the_budget():
    search = make_search(Task(2, 10**12), np.random.default_rng(1))
    x = search.ask()
    search.tell(x, Answers.of((x**2).sum(axis=1), x[:, :0], x[:, :0], TOLERANCES))
    assert len(search.archive._x) < 1000


def test_the_archive_keeps_the_points_near_the_centre():
    search = make_search(Task(1, 10**4), np.random.default_rng(1))
    x = search.ask()
    search.tell(x, Answers.of(x[:, 0] ** 2, x[:, :0], x[:, :0], TOLERANCES))
    x = np.linspace(0.0, 1.0, 3000)[:, None]
    search.know(x, Answers.of(x[:, 0] ** 2, x[:, :0], x[:, :0], TOLERANCES))
    assert search.archive.count == 2000
    assert np.sort(np.abs(search.archive.x - 0.5), axis=None)[-2] < 0.4  # all but the newest


def test_points_of_other_searches_enter_the_models_and_judge_nothing():
    def told(search, x):
        return Answers.of(((x - 0.3) ** 2).sum(axis=1), x[:, :0], x[:, :0], TOLERANCES)

    search = make_search(Task(2, 60), np.random.default_rng(1))
    for _ in range(3):
        x = search.ask()
        search.tell(x, told(search, x))
    radius = search.region.radius
    search.know(np.full((1, 2), 0.3), told(search, np.full((1, 2), 0.3)))
    assert search.region.radius == radius
    search.ask()
    assert_array_equal(search.region.centre, 0.3)


def test_a_search_restarts_from_its_minimum_and_says_that_it_converged():
    def fun(u):
        return ((u - 0.4) ** 2).sum(), [], []

    search = make_search(Task(2, 200), np.random.default_rng(1))
    converged = []
    for _ in range(150):
        x = search.ask()
        search.tell(x, Answers.of(((x - 0.4) ** 2).sum(axis=1), x[:, :0], x[:, :0], TOLERANCES))
        converged.append(search.converged)
    assert any(converged)
    assert search.region.restart > 0


def test_a_search_whose_first_points_all_fail_goes_on_until_one_works():
    def fun(u):
        return (u[0] if u.sum() > 1.6 else np.nan), [], []

    _, values, search = solved(fun, Task(2, 80))
    assert np.isfinite(values).any()
    assert np.nanmin(values) < 0.8
    assert search.region.next in Source


def test_integer_variables_are_integers_and_the_best_combination_is_found():
    low, high = np.zeros(3), np.array([8.0, 4.0, 1.0])
    task = IntegerTask(np.array([True, True, False]), low, high, low, high)

    def fun(u):
        x = u * high
        return (x[0] - 5.3) ** 2 + (x[1] - 1.2) ** 2 + (x[2] - 0.3) ** 2, [x[0] - 4.5], []

    points, values, _ = solved(fun, Task(3, 80, integers=task))
    whole = points[:, :2] * [8.0, 4.0]
    assert_allclose(whole, np.round(whole), atol=1e-12)
    assert best(values, 1) == pytest.approx(1.3**2 + 0.2**2, abs=1e-9)


def bent(u):
    """A narrow valley with a rough wall, far from the first point."""
    x = 8.0 * u - 4.0
    wall = np.abs(x[0] - x[1]) - 1.0 + 0.2 * np.sin(9.0 * x[1])
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2, [wall], []


def waves(u):
    """Many local minima beside curved constraints."""
    x = 6.0 * u - 3.0
    return np.sin(3.0 * x).sum() + 0.1 * x @ x, [np.sin(2.0 * x[0]) - x[1], x[0] * x[1] - 0.5 + x[2] ** 2], []


TASKS = (
    (smooth, Task(4, 60)),
    (waves, Task(3, 200)),
    (bent, Task(2, 80, x0=np.array([[0.2, 0.9]]), lengths=np.array([0.1, 0.01]))),
)


@pytest.mark.parametrize("name", [each.name for each in fields(Options)])
def test_every_option_has_an_effect(name):
    known = Options.__dataclass_fields__[name]
    for end in ("low", "high"):
        value = known.metadata[end] if known.type == "int" else 0.5 * (known.metadata[end] + known.default)
        for fun, task in TASKS:
            if (solved(fun, task)[0] != solved(fun, task, options=Options(**{name: value}))[0]).any():
                return
    pytest.fail(f"{name} changes no point")


def test_an_option_out_of_its_range_is_refused():
    with pytest.raises(ValueError, match=r"radius_growth must be in \[1.1, 4\]; got 1"):
        Options(radius_growth=1.0)
