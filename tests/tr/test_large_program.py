"""The program of many variables has the answer of the other one."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from reference_program import random_programs, residual

from meco.tr import large_program
from meco.tr.large_curvature import find_curvature
from meco.tr.large_program import minimise_in_box, solve_large_program
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


def test_guesses_and_interior_points_have_the_same_answer(monkeypatch):
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(5), 8, 80, 6)
    bent, none = find_curvature(hessian, slope), np.zeros_like(rows.value)
    guessed, duals = solve_large_program(bent, slope, rows, low, high, none)
    plain, asked = large_program._guess_active_set, []

    def go_round_at_first(*given):
        asked.append(given)
        return None if len(asked) % 2 else plain(*given)

    monkeypatch.setattr(large_program, "_guess_active_set", go_round_at_first)
    found, others = solve_large_program(bent, slope, rows, low, high, none)
    assert len(asked) == 16
    assert_allclose(found, guessed, atol=1e-6)
    assert_allclose(others, duals, atol=1e-5)


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
