"""The program of many variables has the answer of the other one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference_program import random_programs, residual

from meco.tr import large_program
from meco.tr.large_program import (
    EXACT_VARIABLES,
    Curvature,
    find_curvature,
    find_ritz_pairs,
    minimise_in_box,
    solve_large_program,
)
from meco.tr.program import solve_program


def test_answers_are_those_of_the_program_of_few_variables():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(1), 6, 30, 12)
    none = np.zeros_like(rows.value)
    expected, duals = solve_program(hessian, slope, rows, low, high, none)
    s, found = solve_large_program(find_curvature(hessian, slope), slope, rows, low, high, none)
    assert_allclose(s, expected, atol=2e-5)  # it has a least curvature of 1e-6
    assert_allclose(found, duals, atol=2e-4 * (1.0 + np.abs(duals).max()))


def test_optimality_conditions_hold_where_most_variables_end_at_a_bound():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(2), 4, 100, 20)
    slope = 50.0 * slope
    s, dual = solve_large_program(find_curvature(hessian, slope), slope, rows, low, high, 0.0 * rows.value)
    assert np.mean(np.isclose(s, low, atol=1e-6) | np.isclose(s, high, atol=1e-6)) > 0.5
    assert np.max(residual(hessian, slope, rows, low, high, s, dual)) < 1e-2


def test_guessed_active_rows_give_newtons_answer_with_fewer_systems(monkeypatch):
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(5), 8, 80, 6)
    bent, none, solved = find_curvature(hessian, slope), np.zeros_like(rows.value), []
    plain = Curvature.solve
    monkeypatch.setattr(Curvature, "solve", lambda *given: solved.append(1) or plain(*given))
    guessed, _ = solve_large_program(bent, slope, rows, low, high, none)
    guesses = len(solved)
    monkeypatch.setattr(large_program, "GUESSES", 0)  # all are left to Newton's method
    newton, _ = solve_large_program(bent, slope, rows, low, high, none)
    assert_allclose(guessed, newton, atol=1e-6)
    assert guesses < 0.6 * (len(solved) - guesses)


def dense(curvature: Curvature) -> np.ndarray:
    """The matrix that it stands for."""
    return np.stack([curvature.times(row) for row in np.eye(len(curvature.directions))])


@pytest.mark.parametrize("dim", [EXACT_VARIABLES, EXACT_VARIABLES + 10])
def test_newton_systems_are_solved_however_curvature_is_kept(dim):
    rng = np.random.default_rng(3)
    bent = rng.normal(size=(1, dim, dim))
    [made] = find_curvature(bent + bent.mT, rng.normal(size=(1, dim)))
    held, a, right = rng.random(dim) < 0.3, rng.normal(size=(3, dim)), rng.normal(size=dim)
    whole = dense(made) + np.diag(np.where(held, 1e3, 0.0)) + 1e3 * a.T @ a
    assert_allclose(made.solve(right, held, a, 1e3), np.linalg.solve(whole, right), rtol=1e-6, atol=1e-9)
    assert np.min(np.linalg.eigvalsh(dense(made))) > 0.0


def test_few_curved_directions_are_all_found():
    """Rank eight in 200 variables: the curvature of |L| along each of them, and hardly any elsewhere."""
    rng, dim = np.random.default_rng(4), EXACT_VARIABLES + 50
    basis, values = np.linalg.qr(rng.normal(size=(dim, 8)))[0], np.array([5.0, 4.0, 3.0, 2.0, -1.0, -2.0, -3.0, -6.0])
    [made] = find_curvature(((basis * values) @ basis.T)[None], rng.normal(size=(1, dim)))
    assert_allclose(np.diag(basis.T @ dense(made) @ basis), np.abs(values), rtol=1e-6)
    assert made.rest < 1e-2


def test_a_slope_of_zero_still_has_directions():
    h = np.diag(np.arange(1.0, 201.0))
    values, vectors = find_ritz_pairs(h, np.zeros(200), float(np.linalg.norm(h)))
    assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)


def test_projected_gradients_end_at_the_least_point_of_a_round_bowl_in_a_box():
    rng = np.random.default_rng(5)
    slope = rng.normal(size=80)
    (bowl,) = find_curvature(2.0 * np.eye(80)[None], slope[None])
    low, high = np.full(80, -0.3), np.full(80, 0.2)
    assert_allclose(minimise_in_box(bowl, slope, low, high), np.clip(-slope / 2.0, low, high), atol=1e-12)


def test_projected_gradients_never_go_up_and_stay_in_the_box():
    rng = np.random.default_rng(6)
    hessian, slope = rng.normal(size=(1, 60, 60)), rng.normal(size=(1, 60))
    (h,) = find_curvature(hessian + hessian.mT, slope)
    low, high = -rng.uniform(0.0, 1.0, 60), rng.uniform(0.0, 1.0, 60)
    s = minimise_in_box(h, slope[0], low, high)
    assert ((low <= s) & (s <= high)).all()
    assert s @ slope[0] + 0.5 * s @ h.times(s) < 0.0
    assert_allclose(minimise_in_box(h, slope[0], 0.0 * low, 0.0 * high), 0.0)
    assert_allclose(minimise_in_box(h, slope[0], 1e-200 * low, 1e-200 * high), 0.0, atol=1e-199)
    assert_allclose(minimise_in_box(h, np.nan * slope[0], low, high), 0.0)


def test_curvature_among_some_variables_is_the_part_of_the_whole():
    rng = np.random.default_rng(8)
    free = rng.uniform(size=200) < 0.5
    hessian, slope = rng.normal(size=(1, 200, 200)), rng.normal(size=(1, 200))
    for size in (100, 200):  # a matrix, and few directions
        (h,) = find_curvature(0.5 * (hessian + hessian.mT)[:, :size, :size], slope[:, :size])
        some = free[:size]
        whole = np.stack([h.times(row) for row in np.eye(size)])
        part = h.among(some)
        assert_allclose(np.stack([part.times(row) for row in np.eye(some.sum())]), whole[some][:, some], atol=1e-10)
