"""RC01-RC57 give what the suite's own code gives, in any shape and on any array library.

49 of them are benchmarks/rwco's.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from gripper_scalar import objective
from meco_rwco import NAMES, get_suite
from numpy.testing import assert_allclose, assert_array_equal

from array_libraries import every_library
from for_every import for_every
from meco import get_problem as make_problem
from meco.errors import UnknownName
from meco.problems.suite import PAPER_EIGHT

pytestmark = pytest.mark.filterwarnings("error")

TABLES = [f"RC{k:02d}" for k in (*range(34, 44), *range(51, 58))]
FORMULAS = [name for name in NAMES if name not in TABLES]
WITH_TABLES = (FORMULAS, pytest.param(TABLES, marks=pytest.mark.official))


def uniform(problem, *shape, seed=0):
    return np.random.default_rng(seed).uniform(problem.lower, problem.upper, (*shape, problem.dim))


def assert_close(ours, official, tolerance=1e-10):
    """Within tolerance of max(1, |official|), and inf and nan at the same places."""
    finite = np.isfinite(official)
    assert_array_equal(np.where(finite, 0.0, ours), np.where(finite, 0.0, official))
    ours, official = ours[finite], official[finite]
    assert np.all(np.abs(ours - official) <= tolerance * np.maximum(1, np.abs(official)))


# ---------------------------------------------------------------- the official values


@pytest.fixture(scope="module")
def values(golden):
    return golden("rwco_golden.npz")


@pytest.mark.official
@for_every(NAMES)
def test_golden_values_are_met(name, values):
    problem = make_problem(name)
    for points in (name, f"{name}_edge"):
        if f"{points}_x" in values:
            f, g, h = problem.raw(values[f"{points}_x"])
            assert_close(f, values[f"{points}_f"])
            assert_close(g, values[f"{points}_g"][:, : problem.n_ineq])  # a dummy column stands for no constraint
            assert_close(h, values[f"{points}_h"][:, : problem.n_eq])


@pytest.mark.official
def test_small_constraints_of_the_thrust_bearing_are_met_relatively(values):
    for points in ("RC25", "RC25_edge"):
        ours, official = make_problem("RC25").raw(values[f"{points}_x"])[1], values[f"{points}_g"]
        assert_allclose(ours[:, [3, 5]], official[:, [3, 5]], rtol=1e-9, atol=0)


@pytest.mark.official
def test_boxes_counts_and_best_known_values_are_the_suites(values):
    for k, name in enumerate(NAMES):
        problem = make_problem(name)
        assert_array_equal(problem.lower, values[f"{name}_lb"])
        assert_array_equal(problem.upper, values[f"{name}_ub"])
        assert (problem.dim, problem.n_ineq, problem.n_eq) == (values["D"][k], values["n_g"][k], values["n_h"][k])
        if name != "RC24":  # the printed value has never been reached
            assert problem.best_known == values["best_known"][k]
    assert make_problem("RC24").best_known == 2.5437855668
    assert "2.5287918415" in make_problem("RC24").source


# ---------------------------------------------------------------- shapes and libraries


@for_every(*WITH_TABLES)
def test_a_point_a_population_and_a_batch_agree(name):
    problem = make_problem(name)
    x = uniform(problem, 2, 5)
    batch = problem.raw(x)
    assert [part.shape for part in batch] == [(2, 5), (2, 5, problem.n_ineq), (2, 5, problem.n_eq)]
    for b in range(2):
        for part, whole in zip(problem.raw(x[b]), batch):
            assert_array_equal(part, whole[b])  # a run does not notice its neighbours
    for part, whole in zip(problem.raw(x[1, 3]), batch):
        assert_allclose(part, whole[1, 3], rtol=1e-12, atol=1e-9)
    assert problem.raw(x[:0])[0].shape == (0, 5)


@every_library
@for_every(*WITH_TABLES)
def test_formulas_agree_with_numpy(name, xp):
    problem = make_problem(name)
    x = uniform(problem, 2, 3, seed=1)
    for ours, theirs in zip(problem.raw(x), problem.raw(xp.asarray(x))):
        assert theirs.dtype == xp.float64
        if name == "RC30" and ours.shape[2:] == (8,):  # its seventh inequality is rounding alone
            ours, theirs = np.delete(ours, 6, -1), np.delete(np.asarray(theirs), 6, -1)
        assert_close(np.asarray(theirs), ours)


# ---------------------------------------------------------------- facts


@for_every(NAMES)
def test_every_problem_tells_its_facts_without_tables(name, monkeypatch, tmp_path):
    monkeypatch.setenv("MECO_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    problem = make_problem(name)
    assert problem.name == name
    assert problem.title
    assert "Kumar et al. 2020" in problem.source
    assert np.isfinite(problem.best_known)
    assert len(problem.variables) in (0, problem.dim)
    assert len(problem.constraint_names) in (0, problem.n_ineq + problem.n_eq)
    assert problem.integrality is None or problem.integrality.shape == (problem.dim,)


@for_every(PAPER_EIGHT)
def test_known_points_are_feasible_and_near_the_best_known_value(name):
    problem = make_problem(name)
    f, g, h = problem.raw(problem.known_x)
    assert np.all((problem.lower <= problem.known_x) & (problem.known_x <= problem.upper))
    assert np.all(g <= 0)
    assert np.all(np.abs(h) <= problem.eq_tol)
    assert_allclose(f, problem.best_known, rtol=1e-7)
    assert len(problem.variables) == problem.dim or name == "RC32"


def test_the_marked_variables_and_no_others_are_rounded():
    """Moving every rounded variable to its integer changes nothing; moving any other one does."""
    for name in FORMULAS:
        problem = make_problem(name)
        marked = np.zeros(problem.dim, dtype=bool) if problem.integrality is None else problem.integrality
        x = uniform(problem, seed=2)
        whole = np.where(marked, np.sign(x) * np.floor(np.abs(x) + 0.5), x)
        for moved, stayed in zip(problem.raw(whole), problem.raw(x)):
            assert_array_equal(moved, stayed)
        rounded = {"RC08", "RC09", "RC10", "RC11", "RC12", "RC13", "RC14", "RC18", "RC22", "RC26", "RC28", "RC30"}
        assert marked.any() == (name in rounded)


def test_names_resolve_and_unknown_ones_are_refused_with_a_hint():
    assert [problem.name for problem in get_suite()] == list(NAMES)
    assert len(NAMES) == 57
    assert make_problem("rc24") is make_problem("RC24")
    with pytest.raises(UnknownName, match="RC"):
        make_problem("RC58")


def test_a_field_is_loaded_when_first_asked_for():
    code = (
        "import sys, meco; meco.get_problem('RC20'); "
        "loaded = [m for m in sys.modules if m.startswith('meco.problems.realworld.')]; print(sorted(loaded))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "truss" in shown
    assert "gripper" not in shown


# ---------------------------------------------------------------- the odd corners of the suite


def test_the_gripper_follows_the_search_step_by_step():
    problem = make_problem("RC24")
    x = uniform(problem, 400, seed=3)
    x[::4, 3] = 0  # an offset of 0 makes the force purely imaginary where the links cannot meet
    x[1::8, :2] = 150
    ours, slow = problem.raw(x)[0], np.array([objective(point) for point in x.tolist()])
    tame = slow <= 1e5  # beyond, the force has a pole in the stroke and the last bit decides
    assert tame.sum() > 300
    assert_close(ours[tame], slow[tame], 1e-10)
    assert np.all(ours[~tame] > 1e4)
    assert {1e4, 0.0} < set(slow.tolist())  # two identical imaginary searches cancel to 0


def test_the_gripper_lives_on_a_search_that_misses_the_least_force():
    problem = make_problem("RC24")
    assert problem.raw(problem.known_x)[0] < 2.55
    assert_allclose(objective(problem.known_x.tolist()), problem.raw(problem.known_x)[0], rtol=1e-12)


def test_a_row_without_arc_cosine_does_not_change_its_neighbours():
    problem = make_problem("RC22")
    x = uniform(problem, 200)
    together = problem.raw(x)[1][:, 7]
    alone = np.array([problem.raw(point)[1][7] for point in x])
    assert_allclose(together, alone, rtol=1e-12)
    assert 0 < np.sum(together == 1e6) < 50


def test_a_gear_on_top_of_the_pinion_counts_as_a_million():
    problem = make_problem("RC26")
    x = uniform(problem, seed=4)
    x[13], x[18] = x[12], x[17]
    f, g, _ = problem.raw(x)
    assert np.isfinite(f)
    assert g[0] == g[4] == 1e6


def test_halves_are_rounded_away_from_zero():
    assert make_problem("RC08").raw([1.0, -0.5])[0] == 1.0
    assert make_problem("RC08").raw([1.0, 0.5])[0] == 3.0
    assert make_problem("RC12").raw([1.0, 2, 3, 1, 1, 1, -0.5])[0] == np.inf


def test_the_full_beam_and_the_exact_gear_ratio_are_optimal():
    assert_allclose(make_problem("RC33").raw(np.ones(30))[0], 2.639346497, rtol=1e-9)
    assert make_problem("RC31").raw([20.0, 20.0, 400 / (1 / 6.931) / 50, 50.0])[0] < 1e-30


def test_degenerate_points_are_not_finite_and_raise_nothing():
    _, g, _ = make_problem("RC20").raw(np.array([[0.0, 0.0], [0.0, 0.5]]))
    assert_array_equal(g, [[np.nan, np.nan, np.inf], [np.inf, np.inf, 2 / (np.sqrt(2) * 0.5) - 2]])
    assert make_problem("RC02").raw([5e5, 5e5, 5e5, 0, 0.01, 0.01, 150, 200, 200, 200, 200])[0] == np.inf
    assert np.isnan(make_problem("RC27").raw(np.full(10, -1.0))[1]).all()
    assert np.isnan(make_problem("RC33").raw(np.zeros(30))[0])
    assert np.isnan(make_problem("RC24").raw(np.full((2, 7), np.nan))[0]).all()


@pytest.mark.official
def test_no_voltage_and_an_empty_ration_are_not_finite():
    for name in TABLES:
        problem = make_problem(name)
        _, g, h = problem.raw(np.zeros(problem.dim))
        if name < "RC44":
            assert not np.isfinite(h).all()
        if name in ("RC51", "RC52", "RC53", "RC54"):
            assert np.isnan(g[8:12]).all()
            assert np.isfinite(g[:8]).all()


@for_every(*WITH_TABLES)
def test_points_that_are_no_numbers_count_as_failed(name):
    problem = make_problem(name)
    for bad in (np.nan, np.inf):
        f, g, h = problem.raw(np.full(problem.dim, bad))
        assert not (np.isfinite(f) and np.isfinite(g).all() and np.isfinite(h).all())
