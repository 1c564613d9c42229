"""minimize(), solve() and bench run the same search for the same method, problem, budget and seed.

That of minimize() with both kinds of constraints is in the contract, for every engine; here are integers, which the
doors round, for an engine of each family in every run.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from engine_classes import ENGINE_CLASSES, few_evaluations, marked
from meco import METHODS, Problem, Tolerances, Variables, Workers, get_problem, minimize, solve
from meco.bench.plan.contender import Contender
from meco.bench.plan.experiment import Experiment
from meco.bench.run.groups import make_groups, run_group
from meco.cli import main

SEED = 3
FIRST_OF_FAMILY = {METHODS[name].family: name for name in reversed(ENGINE_CLASSES)}.values()
WALKED = marked(ENGINE_CLASSES, fast=FIRST_OF_FAMILY)


def budget(method):
    return few_evaluations(method, 130)


def watched():
    """A problem with an integer among its variables, and the list of points that will be asked of it."""
    given, points = replace(get_problem("corner", dim=3), integrality=np.array([True, False, False])), []

    def formula(x):
        points.extend(np.array(x).reshape(-1, given.dim))
        return given.formula(x)

    return replace(given, formula=formula), points


def by_solve(method):
    problem, points = watched()
    solve(method, problem, budget(method), [SEED])
    return np.array(points)


def by_minimize(method):
    problem, points = watched()
    minimize(
        problem.raw,
        Variables.of(problem.lower, problem.upper, problem.integrality),
        method=method,
        budget=budget(method),
        seed=SEED,
        workers=Workers(vectorized=True),
        tolerances=Tolerances(ineq=problem.ineq_tol, eq=problem.eq_tol),
    )
    return np.array(points)


@pytest.mark.parametrize("method", WALKED)
def test_minimize_evaluates_the_points_that_solve_evaluates(method):
    assert_array_equal(by_minimize(method), by_solve(method))


@pytest.mark.parametrize("method", WALKED)
def test_bench_ends_where_solve_ends(method):
    problem = get_problem("corner", dim=3)
    experiment = Experiment(
        "one", "", (Contender.from_method(method),), ("corner",), (3,), budget=budget(method), runs=1
    )
    (task,) = make_groups(run for _, run in replace(experiment, first_seed=SEED).wanted_runs())
    outcome = run_group(task)
    assert outcome.error == ""
    alone = solve(method, problem, budget(method), [SEED])[0]
    assert_array_equal(np.frombuffer(outcome.records[0].x), alone.x)
    assert outcome.records[0].score == alone.score


@pytest.mark.parametrize("method", WALKED)
def test_minimize_builds_one_engine(method, monkeypatch):
    record, built = METHODS[method], []

    def build(task, **options):
        built.append(task)
        return record.build(task, **options)

    monkeypatch.setitem(METHODS._items, method, replace(record, build=build))
    minimize(lambda x: (float(x @ x), [1.0 - x[0]], [x[1] - x[2]]), [(-2, 2)] * 3, method=method, budget=30, seed=1)
    assert len(built) == 1


def test_a_limit_on_time_does_not_change_the_search(capsys):
    command = [
        "solve",
        "C01",
        "--dim",
        "10",
        "--budget",
        "150",
        "--seed",
        "1",
        "--method",
        "SHADE",
        "--json",
        "--quiet",
    ]
    main(command)
    plain = json.loads(capsys.readouterr().out)[0]
    main([*command, "--max-time", "1000"])
    limited = json.loads(capsys.readouterr().out)
    assert plain["x"] == limited["x"]
    assert plain["f"] == limited["fun"]


def test_on_what_looks_noisy_the_doors_agree_where_both_are_told_the_same():
    """As docs/experiments.md says: noise=False and the problem's tolerances; left open, minimize() looks for noise."""
    points = []

    def formula(x):
        points.extend(np.array(x).reshape(-1, 2))
        return (
            (x**2).sum(axis=-1) + 0.3 * np.sin(1e4 * x).sum(axis=-1),
            [0.5 - x[..., 0] + 0.3 * np.cos(1e4 * x[..., 1])],
            [],
        )

    problem = Problem("rough", [-2, -2], [2, 2], 1, 0, formula)

    def asked(search):
        points.clear()
        search()
        return np.array(points)

    def by_door(**said):
        return asked(lambda: minimize(problem.raw, [(-2, 2)] * 2, method="TR", budget=120, seed=SEED, **said))

    ours = asked(lambda: solve("TR", problem, 120, [SEED]))
    told = {"noise": False, "tolerances": Tolerances(ineq=problem.ineq_tol, eq=problem.eq_tol)}
    assert_array_equal(by_door(**told), ours)
    assert (by_door() != ours).any()


@pytest.mark.parametrize("name", ["C05", "G-bowl-linear-0001"])
def test_rows_of_a_suite_are_searched_alike_by_minimize_and_solve(name):
    """Formulas give a single point other last bits than a row: with vectorised calls both doors ask for rows."""
    problem = get_problem(name, dim=3)
    one = solve("TR", problem, 40, [SEED])[0]
    limits = Tolerances(ineq=problem.ineq_tol, eq=problem.eq_tol)
    bounds = list(zip(problem.lower, problem.upper))
    again = minimize(
        problem.raw, bounds, method="TR", budget=40, seed=SEED, noise=False, tolerances=limits,
        workers=Workers(vectorized=True),
    )  # fmt: skip
    assert_array_equal(one.x, again.x)
