"""The interior point has the answer of the program of few variables, and of nearly linear ones, which guesses miss."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_program import objective, random_programs, residual, scipy_answer
from scipy.optimize import linprog

from meco.tr import large_program
from meco.tr.elastic_program import Rows
from meco.tr.interior_point import CentralPath, InsidePoint
from meco.tr.large_curvature import FewDirections, WholeCurvature, find_curvature
from meco.tr.large_program import solve_large_program
from meco.tr.program import solve_program


def solve_from_inside(h, slope, rows, low, high, start):
    """Where the first steps of a program end."""
    return CentralPath(h, slope, rows, low, high, start).follow(*large_program.INSIDE_STEPS[0])


def first(rows: Rows) -> Rows:
    """The rows of the first of several runs."""
    return Rows(*(part[0] for part in rows))


def solve_each(hessian, slope, rows, low, high):
    """s, duals and the guess of s on its bounds of every run, from the middle of nowhere."""
    found = [
        solve_from_inside(h, slope[b], Rows(*(part[b] for part in rows)), low[b], high[b], np.zeros(len(slope[b])))
        for b, h in enumerate(find_curvature(hessian, slope))
    ]
    return tuple(np.stack(part) for part in zip(*found))


@pytest.mark.parametrize("count", [0, 1, 12, 60])
def test_its_answer_is_that_of_the_program_of_few_variables(count):
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(count), 5, 30, count)
    expected, duals = solve_program(hessian, slope, rows, low, high, np.zeros_like(rows.value))
    s, found, _ = solve_each(hessian, slope, rows, low, high)
    assert_allclose(s, expected, atol=1e-3)
    assert_allclose(found, duals, atol=1e-3 * (1.0 + np.abs(duals).max(initial=0.0)))
    assert ((low <= s) & (s <= high)).all()


def test_the_guess_meets_the_bounds_that_hold_a_step_back():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(3), 3, 60, 5)
    _, dual, s = solve_each(hessian, 50.0 * slope, rows, low, high)
    pull = 50.0 * slope + np.einsum("bde,be->bd", hessian, s) + np.einsum("bcd,bc->bd", rows.matrix, dual)
    assert_array_equal(s[pull > 0.1], low[pull > 0.1])
    assert_array_equal(s[pull < -0.1], high[pull < -0.1])


@pytest.mark.parametrize(("dim", "count"), [(60, 6), (200, 20), (120, 80)])
def test_nearly_linear_programs_are_solved_as_linear_ones(dim, count):
    """As many corners as there are: guesses of the active set alone go round in circles."""
    rng = np.random.default_rng(dim)
    _, slope, rows, low, high = random_programs(rng, 1, dim, count)
    rows, slope = rows._replace(low=-np.inf + rows.low), slope / np.sqrt(dim)  # linprog takes no interval
    bent = find_curvature(1e-9 * np.eye(dim)[None], slope)
    s, _ = solve_large_program(bent, slope, rows, low, high, 0.0 * rows.value)
    found, linear = cost_without_curvature(slope, rows, s)[0], least_linear_cost(slope, rows, low, high)
    assert_allclose(found, linear, atol=1e-4 * (1.0 + abs(linear)))  # the least curvature of a program is not zero


def cost_without_curvature(slope, rows, s):
    """The program's cost of steps where H is 0."""
    return objective(np.zeros((1, s.shape[1], s.shape[1])), slope, rows, s)


def least_linear_cost(slope, rows, low, high):
    """The least cost of one program where H is 0 and rows have no lower ends, by SciPy: [s, t], t beyond the rows."""
    count = rows.value.shape[1]
    return linprog(
        np.concatenate([slope[0], rows.price[0]]),
        A_ub=np.concatenate([rows.matrix[0], -np.eye(count)], axis=1),
        b_ub=(rows.high - rows.value)[0],
        bounds=[*zip(low[0], high[0]), *[(0.0, None)] * count],
    ).fun


def test_where_no_guess_ends_a_step_keeps_dear_rows_rather_than_bounds(monkeypatch):
    """Bounds are met within a ten-thousandth of the box by the guess, for which a row may take 10^6 a unit."""
    _, slope, rows, low, high = random_programs(np.random.default_rng(349), 1, 100, 30)
    rows = rows._replace(low=-np.inf + rows.low, price=1e3 * rows.price)
    bent = find_curvature(1e-9 * np.eye(100)[None], slope)
    monkeypatch.setattr(large_program, "_guess_active_set", lambda *given: None)
    s, _ = solve_large_program(bent, slope, rows, low, high, 0.0 * rows.value)
    assert ((low <= s) & (s <= high)).all()
    excess = cost_without_curvature(slope, rows, s)[0] - least_linear_cost(slope, rows, low, high)
    assert excess < 1e-2 * np.abs(slope).sum()


@pytest.mark.parametrize("best", ["where it is", "projected gradients", "inside"])
def test_where_no_guess_ends_the_cheapest_of_what_is_known_is_the_step_with_its_duals(monkeypatch, best):
    """f is the square of what is left to a target; the row costs next to nothing."""
    dim, rows = (
        60,
        Rows(np.zeros((1, 1, 60)), np.ones((1, 1)), -np.inf * np.ones((1, 1)), np.zeros((1, 1)), np.full((1, 1), 1e-6)),
    )
    points = {"where it is": np.zeros(dim), "projected gradients": np.full(dim, 0.2), "inside": np.full(dim, -0.2)}
    target = points[best]
    bent = find_curvature(np.eye(dim)[None], -target[None])
    inside = InsidePoint(points["inside"], np.full(1, 0.5e-6), points["inside"])
    monkeypatch.setattr(large_program, "_guess_active_set", lambda *given: None)
    monkeypatch.setattr(large_program, "minimise_in_box", lambda *given: points["projected gradients"])
    monkeypatch.setattr(CentralPath, "follow", lambda *given: inside)
    low, high, duals = -np.ones((1, dim)), np.ones((1, dim)), np.full((1, 1), 0.1e-6)
    s, y = solve_large_program(bent, -target[None], rows, low, high, duals)
    assert_array_equal(s[0], target)
    assert y == (inside.duals if best == "inside" else duals)


def test_a_guess_from_inside_that_costs_more_is_not_the_step(monkeypatch):
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(12), 1, 60, 4)
    bent, none = find_curvature(hessian, slope), 0.0 * rows.value
    expected, _ = solve_large_program(bent, slope, rows, low, high, none)
    guesses = iter([None, (high[0], none[0]), (high[0], none[0])])
    monkeypatch.setattr(large_program, "_guess_active_set", lambda *given: next(guesses))
    s, _ = solve_large_program(bent, slope, rows, low, high, none)
    assert_allclose(s, expected, atol=1e-4)


@pytest.mark.parametrize("count", [0, 3, 40, 100])
def test_a_newton_step_meets_both_equations_to_first_order(count):
    """The slope is 0 after it, and every product is mu but for the product of both changes."""
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(count), 1, 60, count)
    (h,) = find_curvature(hessian, slope)
    path = CentralPath(h, slope[0], first(rows), low[0], high[0], np.zeros(60))
    off, mu, rng = slope[0], 0.02, np.random.default_rng(1)
    path.gap, path.force = (part * rng.uniform(0.5, 2.0, len(part)) for part in (path.gap, path.force))
    y, q = (path.force[part] for part in path._parts[2:])
    q[...] = np.maximum(path.ends.price - y, 0.1)
    ds, d_gap, d_force = path.newton_step(off, mu)
    assert_allclose(path.gap * d_force + path.force * d_gap, mu - path.gap * path.force, rtol=1e-6, atol=1e-8)
    below, above, dw, dt = (d_gap[part] for part in path._parts)
    z_low, z_high, dy, dq = (d_force[part] for part in path._parts)
    assert_array_equal(below, ds)
    assert_array_equal(above, -ds)
    assert_array_equal(dq, -dy)
    along = path.ends.sign * (path.a @ ds)[path.ends.row]
    assert_allclose(dw, dt - along, atol=1e-6)
    pulled = np.bincount(path.ends.row, path.ends.sign * dy, minlength=len(path.a)) @ path.a
    assert_allclose(off + h.times(ds) + pulled - z_low + z_high, 0.0, atol=1e-6)


def test_a_second_stage_measures_its_rows_again():
    """Every Newton step moves a row by a little that nothing takes back."""
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(4), 1, 60, 8)
    (h,) = find_curvature(hessian, slope)
    path = CentralPath(h, slope[0], first(rows), low[0], high[0], np.zeros(60))
    path.follow(1e-8, 5)
    _, _, w, t = (path.gap[part] for part in path._parts)
    w += 1e-3
    path.follow(0.0, 0)
    left = path.ends.right - path.ends.sign * (path.a @ path.s)[path.ends.row]
    assert_allclose(w - t, left, atol=1e-12)
    assert (path.gap > 0.0).all()


def test_one_row_under_curvature_of_ten_decades_is_solved_in_a_second_stage():
    """The first ends where mu is small beside the steepest slope, which is no guess for the flattest variables."""
    rng, dim = np.random.default_rng(2), 80
    vectors = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    hessian, row = (vectors * 10.0 ** rng.uniform(-6.0, 4.0, dim)) @ vectors.T, rng.normal(size=(1, 1, dim))
    rows = Rows(
        row / np.linalg.norm(row),
        np.full((1, 1), 0.5),
        np.full((1, 1), -np.inf),
        np.zeros((1, 1)),
        np.full((1, 1), 30.0),
    )
    slope, low, high = rng.normal(size=(1, dim)) / np.sqrt(dim), -np.ones((1, dim)), np.ones((1, dim))
    (h,) = bent = find_curvature(hessian[None], slope)
    s, y = solve_large_program(bent, slope, rows, low, high, np.zeros((1, 1)))
    assert certified_gap(h, slope[0], first(rows), low[0], high[0], s[0], y[0]) < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_dear_equal_rows_are_kept_to_rounding(seed):
    """A row at 10^6 a unit that is missed by 10^-8 costs a hundredth of f."""
    rng, dim, count = np.random.default_rng(seed), 100, 60
    hessian, slope, rows, low, high = random_programs(rng, 1, dim, count)
    rows = rows._replace(price=np.full((1, count), 1e6), low=np.where(rng.uniform(size=(1, count)) < 0.5, 0.0, -np.inf))
    (h,) = bent = find_curvature(1e-3 * hessian, slope)
    s, y = solve_large_program(bent, slope, rows, low, high, 0.0 * rows.value)
    assert certified_gap(h, slope[0], first(rows), low[0], high[0], s[0], y[0]) < 1e-5


def certified_gap(h, slope, rows, low, high, s, y):
    """At most by how much the cost at s [D] is above the least, shown by the duals y [C] of its rows."""
    z, pull = rows.matrix @ s + rows.value, slope + h.times(s) + y @ rows.matrix
    end = np.where(y > 0.0, rows.high, np.where(y < 0.0, rows.low, 0.0))
    broken = np.maximum(z - rows.high, 0.0) + np.maximum(rows.low - z, 0.0)
    return float(rows.price @ broken - y @ (z - end) - np.minimum(pull * (low - s), pull * (high - s)).sum())


def test_dear_rows_that_have_to_be_broken_take_more_systems_and_are_solved():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(1443), 1, 100, 200)
    rows = rows._replace(value=rows.value + 1.0, price=1e4 * rows.price)
    (h,) = find_curvature(hessian, slope)
    s, duals, _ = solve_from_inside(h, slope[0], first(rows), low[0], high[0], np.zeros(100))
    assert np.max(residual(hessian, slope, rows, low, high, s[None], duals[None]) / rows.price.max()) < 1e-6


def test_rows_that_cannot_be_kept_are_broken_at_their_price():
    dim = 60
    (h,) = find_curvature(np.eye(dim)[None], np.zeros((1, dim)))
    row = np.ones((1, dim)) / np.sqrt(dim)
    rows = Rows(row, np.zeros(1), np.full(1, 20.0), np.full(1, np.inf), np.full(1, 3.0))
    s, dual, _ = solve_from_inside(h, np.zeros(dim), rows, -np.ones(dim), np.ones(dim), np.zeros(dim))
    assert_allclose(s, 3.0 * row[0], atol=1e-5)  # it would have to be 20
    assert_allclose(dual, -3.0, atol=1e-5)


def test_equal_rows_and_equalities_do_no_harm():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(9), 1, 60, 4)
    level = rows.low.copy()
    level[0, :] = 0.0  # all of them equalities
    rows = Rows(rows.matrix, rows.value, level, rows.high, rows.price)
    twice = Rows(*(np.concatenate([part, part], axis=1) for part in rows))
    s, dual, _ = solve_each(hessian, slope, rows, low, high)
    again, duals, _ = solve_each(hessian, slope, twice, low, high)
    assert_allclose(again, s, atol=1e-4)
    assert_allclose(duals[0, :4] + duals[0, 4:], dual[0], atol=1e-3 * (1.0 + np.abs(dual).max()))
    assert np.max(residual(hessian, slope, rows, low, high, s, dual)) < 1e-2
    expected = scipy_answer(hessian[0], slope[0], first(rows), low[0], high[0])
    assert objective(hessian, slope, rows, s)[0] <= objective(hessian, slope, rows, expected[None])[0] + 1e-3


def test_variables_that_cannot_move_stay_and_others_move():
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(10), 1, 60, 3)
    low[0, :10] = high[0, :10] = 0.0
    s, _, _ = solve_each(hessian, slope, rows, low, high)
    assert_allclose(s[0, :10], 0.0, atol=1e-8)
    expected, _ = solve_program(hessian, slope, rows, low, high, np.zeros_like(rows.value))
    assert_allclose(s, expected, atol=1e-3)


@pytest.mark.parametrize("curvature", [WholeCurvature, FewDirections])
def test_a_box_of_one_point_and_numbers_that_overflow_give_the_start(curvature):
    dim = 60 if curvature is WholeCurvature else 200
    hessian, slope, rows, low, high = random_programs(np.random.default_rng(11), 1, dim, 2)
    (h,) = find_curvature(hessian, slope)
    assert isinstance(h, curvature)
    here, rows = np.zeros(dim), first(rows)
    wrong = [(np.full(dim, np.nan), rows), (np.full(dim, np.inf), rows)]
    wrong += [
        (slope[0], rows._replace(matrix=1e200 * rows.matrix)),
        (slope[0], rows._replace(value=np.nan * rows.value)),
    ]
    for slopes, lines in wrong:
        with np.errstate(all="ignore"):  # as the engine has it
            s, dual, _ = solve_from_inside(h, slopes, lines, low[0], high[0], here)
        assert_array_equal(s, here)
        assert_array_equal(dual, 0.0)
    s, _, _ = solve_from_inside(h, slope[0], rows, here, here, here)
    assert_array_equal(s, here)
