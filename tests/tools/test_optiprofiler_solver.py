"""The solver for OptiProfiler: our methods as its solvers, and its features on problems of our own."""

import numpy as np
import pytest

from doors import one_problem
from optiprofiler_solver import MecoSolver, make_box

LOW, HIGH = np.array(list(one_problem.BOUNDS.values())).T


def beam_problem(optiprofiler):
    return optiprofiler.Problem(
        lambda x: one_problem.weight(*x), np.ones(3), name="beam", xl=LOW, xu=HIGH, cub=lambda x: one_problem.limits(*x)
    )


def test_it_is_the_search_of_minimize():
    solver = MecoSolver(per_variable=20, seed=7)
    solver(lambda x: one_problem.weight(*x), np.ones(3), LOW, HIGH, cub=lambda x: one_problem.limits(*x))
    expected = one_problem.points_of_minimize(x0=np.ones(3), tolerances=solver_tolerances())
    np.testing.assert_array_equal(solver.found.evaluations.x, expected)


def solver_tolerances():
    import meco

    return meco.Tolerances(1e-6, 1e-4)


def test_where_a_bound_is_missing_the_box_is_around_the_start():
    low, high = make_box(np.array([0.5, -3.0]), np.array([0.0, -np.inf]), None)
    np.testing.assert_allclose(low, [0.0, -33.0])
    np.testing.assert_allclose(high, [10.5, 27.0])


@pytest.mark.parametrize(
    "feature", ["plain", *(pytest.param(f, marks=pytest.mark.slow) for f in ("random_nan", "unrelaxable_constraints"))]
)
def test_its_benchmark_takes_our_methods(feature, tmp_path, monkeypatch):
    optiprofiler = pytest.importorskip("optiprofiler")
    monkeypatch.chdir(tmp_path)
    scores, *_ = optiprofiler.benchmark(
        [MecoSolver("TR", 30), MecoSolver("SHADE-FR", 30)],
        problem=beam_problem(optiprofiler),
        feature_name=feature,
        max_eval_factor=30,
        n_runs=1,
        silent=True,
        score_only=True,
        solver_names=["TR", "SHADE-FR"],
        n_jobs=1,
    )
    assert np.shape(scores)[0] == 2
    assert np.ravel(scores)[0] >= np.ravel(scores)[1]
