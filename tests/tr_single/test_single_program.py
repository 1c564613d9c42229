"""The program of a step against its optimality conditions, SciPy, and cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from single_reference_program import random_program, residual, scipy_solution

from meco.tr_single.interior_point import approach
from meco.tr_single.program import Program, curvature, solve

SHAPES = [(1, 1), (2, 1), (2, 3), (3, 5), (5, 2), (5, 5), (8, 4), (10, 3), (10, 10), (15, 8), (30, 5), (4, 30)]


@pytest.fixture(scope="module")
def programs():
    rng = np.random.default_rng(1)
    return [random_program(rng, *shape) for shape in SHAPES for _ in range(50)]


def test_every_solution_of_600_programs_is_optimal(programs):
    """Measured: at most 1e-6 with 30 rows in 4 variables, 4e-7 elsewhere."""
    for p in programs:
        s, y = solve(p, np.zeros_like(p.value))
        assert residual(p, s, y) < 3e-6
        assert np.all((s >= p.bottom) & (s <= p.top))


def test_no_solution_costs_more_than_that_of_scipys_slsqp(programs):
    pytest.importorskip("scipy")
    for p in programs[::20]:
        cost, other = p.cost(solve(p, np.zeros_like(p.value))[0]), p.cost(scipy_solution(p))
        assert cost <= other + 1e-6 * max(1.0, abs(other))


def test_the_start_does_not_change_the_solution(programs):
    rng = np.random.default_rng(2)
    for p in programs[::7]:
        s, y = solve(p, np.zeros_like(p.value))
        assert_allclose(solve(p, y + rng.normal(size=y.size))[0], s, atol=1e-6)


def test_the_interior_point_method_comes_near_every_solution(programs):
    for p in programs[::5]:
        s, _ = solve(p, np.zeros_like(p.value))
        inside = approach(p, np.zeros_like(s), curvature(p.hessian))
        assert p.cost(inside.s) <= p.cost(s) + 1e-4 * max(1.0, abs(p.cost(s)))


def one_row(slope, row, value, low, high, price, hessian=1.0):
    as_array = np.atleast_1d
    return Program(
        as_array(hessian).reshape(1, 1), as_array(slope), as_array(-1.0), as_array(1.0), as_array(row).reshape(1, 1),
        as_array(value), as_array(low), as_array(high), as_array(price),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("program", "s", "y"),
    [
        (one_row(-0.5, 1.0, 0.0, -np.inf, 0.8, 30.0), 0.5, 0.0),  # the row is inactive
        (one_row(-0.5, 1.0, 0.0, -np.inf, 0.2, 30.0), 0.2, 0.3),  # active
        (one_row(-0.5, 1.0, 0.0, -np.inf, 0.2, 0.1), 0.4, 0.1),  # violated: its price is too low
        (one_row(0.0, 1.0, 0.3, 0.0, 0.0, 30.0), -0.3, 0.3),  # an equality
        (one_row(-9.0, 1.0, 0.0, -np.inf, 3.0, 30.0), 1.0, 0.0),  # held at a bound
    ],
)
def test_programs_of_one_variable_are_solved_as_by_hand(program, s, y):
    found, dual = solve(program, np.zeros(1))
    assert_allclose(found, s, atol=1e-9)
    assert_allclose(dual, y, atol=1e-9)


def test_a_program_without_rows_is_a_quadratic_in_a_box():
    nothing = np.zeros(0)
    p = Program(
        np.eye(2), np.array([-0.5, 3.0]), -np.ones(2), np.ones(2), np.zeros((0, 2)), nothing, nothing, nothing, nothing
    )
    assert_allclose(solve(p, nothing)[0], [0.5, -1.0], atol=1e-8)


def test_dependent_rows_still_give_a_point_in_the_box():
    rng = np.random.default_rng(3)
    for _ in range(20):
        p = random_program(rng, 4, 3)
        twice = p._replace(
            rows=np.concatenate([p.rows, p.rows]), value=np.tile(p.value, 2), low=np.tile(p.low, 2),
            high=np.tile(p.high, 2), price=np.tile(0.5 * p.price, 2),
        )  # fmt: skip
        s, _ = solve(twice, np.zeros(6))
        assert np.all((s >= p.bottom) & (s <= p.top))
        assert twice.cost(s) <= p.cost(solve(p, np.zeros(3))[0]) + 1e-6


def test_nan_in_a_program_leaves_a_point_in_the_box():
    p = random_program(np.random.default_rng(4), 3, 2)
    with np.errstate(all="ignore"):
        s, _ = solve(p._replace(slope=np.full(3, np.nan)), np.zeros(2))
    assert s.shape == (3,)
    assert_array_equal(np.isnan(s) | ((s >= p.bottom) & (s <= p.top)), True)
