"""The interior point has the answer of the program of few variables, and of nearly linear ones, which guesses miss."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_program import objective, random_programs, residual, scipy_answer
from scipy.optimize import linprog

from meco.tr.elastic_program import Rows
from meco.tr.interior_point import solve_from_inside
from meco.tr.large_curvature import FewDirections, WholeCurvature, find_curvature
from meco.tr.large_program import solve_large_program
from meco.tr.program import solve_program


def first(rows: Rows) -> Rows:
    """The rows of the first of several runs."""
    return Rows(*(part[0] for part in rows))


def solve_each(hessian, slope, rows, low, high):
    """solve_from_inside() of every run, from the middle of nowhere."""
    found = [
        solve_from_inside(h, slope[b], Rows(*(part[b] for part in rows)), low[b], high[b], np.zeros(len(slope[b])))
        for b, h in enumerate(find_curvature(hessian, slope))
    ]
    return tuple(np.stack(part) for part in zip(*found))


@pytest.mark.parametrize("count", [0, 1, 12, 60])
def test_its_answer_is_that_of_the_program_of_few_variables(count):
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(count), 5, 30, count)
    expected, duals = solve_program(hessian, slope, rows, low, high, np.zeros_like(rows.value))
    s, found = solve_each(hessian, slope, rows, low, high)
    assert_allclose(s, expected, atol=1e-3)
    assert_allclose(found, duals, atol=1e-3 * (1.0 + np.abs(duals).max(initial=0.0)))
    assert ((low <= s) & (s <= high)).all()


def test_bounds_that_hold_a_step_back_are_met_exactly():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(3), 3, 60, 5)
    s, dual = solve_each(hessian, 50.0 * slope, rows, low, high)
    pull = 50.0 * slope + np.einsum("bde,be->bd", hessian, s) + np.einsum("bcd,bc->bd", rows.matrix, dual)
    assert_array_equal(s[pull > 0.1], low[pull > 0.1])
    assert_array_equal(s[pull < -0.1], high[pull < -0.1])


@pytest.mark.parametrize("dim", [60, 200])
def test_nearly_linear_programs_are_solved_as_linear_ones(dim):
    """As many corners as there are: the active-set guesses alone go round in circles."""
    rng = np.random.default_rng(dim)
    slope = rng.normal(size=(1, dim)) / np.sqrt(dim)
    matrix = rng.normal(size=(1, 6, dim)) / np.sqrt(dim)
    low, high = -np.ones((1, dim)), np.ones((1, dim))
    none = np.zeros((1, 6))
    rows = Rows(matrix, none, none - np.inf, none - 0.05, none + 30.0)
    bent = find_curvature(1e-9 * np.eye(dim)[None], slope)
    s, _ = solve_large_program(bent, slope, rows, low, high, none)
    linear = linprog(slope[0], A_ub=matrix[0], b_ub=np.full(6, -0.05), bounds=(-1.0, 1.0))
    assert_allclose(slope[0] @ s[0], linear.fun, atol=1e-3)  # the least curvature of a program is not zero
    assert (matrix[0] @ s[0] <= -0.05 + 1e-6).all()


def test_rows_that_cannot_be_kept_are_broken_at_their_price():
    dim = 60
    (h,) = find_curvature(np.eye(dim)[None], np.zeros((1, dim)))
    row = np.ones((1, dim)) / np.sqrt(dim)
    rows = Rows(row, np.zeros(1), np.full(1, 20.0), np.full(1, np.inf), np.full(1, 3.0))
    s, dual = solve_from_inside(h, np.zeros(dim), rows, -np.ones(dim), np.ones(dim), np.zeros(dim))
    assert_allclose(s, 3.0 * row[0], atol=1e-5)  # it would have to be 20
    assert_allclose(dual, -3.0, atol=1e-5)


def test_equal_rows_and_equalities_do_no_harm():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(9), 1, 60, 4)
    level = rows.low.copy()
    level[0, :] = 0.0  # all of them equalities
    rows = Rows(rows.matrix, rows.value, level, rows.high, rows.price)
    twice = Rows(*(np.concatenate([part, part], axis=1) for part in rows))
    s, dual = solve_each(hessian, slope, rows, low, high)
    again, duals = solve_each(hessian, slope, twice, low, high)
    assert_allclose(again, s, atol=1e-4)
    assert_allclose(duals[0, :4] + duals[0, 4:], dual[0], atol=1e-3 * (1.0 + np.abs(dual).max()))
    assert np.max(residual(hessian, slope, rows, low, high, s, dual)) < 1e-2
    expected = scipy_answer(hessian[0], slope[0], first(rows), low[0], high[0])
    assert objective(hessian, slope, rows, s)[0] <= objective(hessian, slope, rows, expected[None])[0] + 1e-3


def test_variables_that_cannot_move_stay_and_others_move():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(10), 1, 60, 3)
    low[0, :10] = high[0, :10] = 0.0
    s, _ = solve_each(hessian, slope, rows, low, high)
    assert_allclose(s[0, :10], 0.0, atol=1e-8)
    expected, _ = solve_program(hessian, slope, rows, low, high, np.zeros_like(rows.value))
    assert_allclose(s, expected, atol=1e-3)


@pytest.mark.parametrize("curvature", [WholeCurvature, FewDirections])
def test_a_box_of_one_point_and_numbers_that_overflow_give_the_start(curvature):
    dim = 60 if curvature is WholeCurvature else 200
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(11), 1, dim, 2)
    (h,) = find_curvature(hessian, slope)
    assert isinstance(h, curvature)
    here = np.zeros(dim)
    for wrong in (np.full(dim, np.nan), np.full(dim, np.inf)):
        with np.errstate(all="ignore"):  # as the engine has it
            s, dual = solve_from_inside(h, wrong, first(rows), low[0], high[0], here)
        assert_array_equal(s, here)
        assert_array_equal(dual, 0.0)
    s, _ = solve_from_inside(h, slope[0], first(rows), here, here, here)
    assert_array_equal(s, here)
