"""The elastic program: against optimality conditions and SciPy on a thousand random programs, and by hand."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_program import objective, random_programs, residual, scipy_answer

from meco.tr.program import Rows, solve_program

SHAPES = [(1, 1), (2, 1), (2, 3), (3, 5), (5, 2), (5, 5), (8, 4), (10, 3), (10, 10), (15, 8)]  # variables, rows
EACH = 100


def solved(program, **more):
    """The program from duals of zero."""
    return solve_program(*program, 0.0 * program[2].value, **more)


def picked(program, which):
    """Some of the programs."""
    hessian, slope, rows, low, high = program
    return hessian[which], slope[which], Rows(*(part[which] for part in rows)), low[which], high[which]


@pytest.fixture(scope="module")
def thousand():
    """A thousand programs, and the answer of SciPy's SLSQP to each."""
    pytest.importorskip("scipy")
    rng, made = np.random.default_rng(1), []
    for dim, count in SHAPES:
        program = random_programs(rng, EACH, dim, count)
        made.append((program, np.stack([scipy_answer(*picked(program, k)) for k in range(EACH)])))
    return made


def test_with_iterations_enough_the_answer_is_optimal_and_no_worse_than_scipys(thousand):
    right = 0
    for program, theirs in thousand:
        s, dual = solved(program, iterations=4000)
        done = residual(*program, s, dual) < 1e-8
        right += done.sum()
        value, best = objective(*program[:3], s)[done], objective(*program[:3], theirs)[done]
        assert np.all(value <= best + 1e-6 * np.maximum(1.0, np.abs(best)))
        assert_allclose(value, best, rtol=1e-4, atol=1e-5)
    assert right >= 980  # of a thousand: the duals of broken rows of a high price climb slowly


@pytest.mark.slow
def test_with_still_more_iterations_every_answer_is_optimal(thousand):
    for program, theirs in thousand:
        s, dual = solved(program, iterations=200_000)
        assert np.max(residual(*program, s, dual)) < 1e-8
        value, best = objective(*program[:3], s), objective(*program[:3], theirs)
        assert np.all(value <= best + 1e-6 * np.maximum(1.0, np.abs(best)))


def test_forty_iterations_come_near_in_most_cases_and_not_in_all(thousand):
    """What is left of the possible decrease, and the largest error of a step in a box of half-width 1.

    Measured: left 5e-7 in the median, 0.026 at 90 %, 0.33 at 99 %; a step is right to 1e-3 in 77 of 100
    programs, to 0.1 in 88, to 0.5 in 95.
    """
    shares, errors = [], []
    for program, theirs in thousand:
        s, _ = solved(program)
        best, none = objective(*program[:3], theirs), objective(*program[:3], np.zeros_like(s))
        shares.append((objective(*program[:3], s) - best) / np.maximum(none - best, 1e-2))
        errors.append(np.max(np.abs(s - theirs), axis=1))
        assert np.all((s >= program[3] - 1e-12) & (s <= program[4] + 1e-12))  # the box is kept to rounding
    shares, errors = np.concatenate(shares), np.concatenate(errors)
    assert np.all(np.quantile(shares, [0.5, 0.9, 0.99]) < [1e-5, 0.05, 0.5])
    assert np.mean(errors < 1e-2) > 0.8
    assert np.mean(errors < 0.5) > 0.93


def one_row(value, low, high, price, box=1.0, slope=-1.0, iterations=4000):
    """min slope s + s^2 / 2 + price dist(value + s, [low, high]) in |s| <= box."""
    rows = Rows(*(np.array(part, dtype=float).reshape(1, 1, -1)[:, 0] for part in ([1.0], value, low, high, price)))
    rows = rows._replace(matrix=np.ones((1, 1, 1)))
    limit = np.array([[box]])
    s, dual = solved((np.ones((1, 1, 1)), np.array([[slope]]), rows, -limit, limit), iterations=iterations)
    return float(s[0, 0]), float(dual[0, 0])


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ((0.0, -np.inf, 2.0, 30.0), (1.0, 0.0)),  # the row does not touch: s = 1
        ((0.0, -np.inf, 0.5, 30.0), (0.5, 0.5)),  # it does: the dual is what pulls beyond it
        ((0.0, 0.25, 0.25, 30.0), (0.25, 0.75)),  # an equality
        ((0.0, -np.inf, -3.0, 0.5), (0.5, 0.5)),  # cheap to break: the price pulls, and no more
        ((0.0, -np.inf, -3.0, 30.0), (-1.0, 30.0)),  # out of reach: as near as the box allows
        ((0.0, 2.0, np.inf, 30.0), (1.0, -30.0)),  # from the other side
    ],
)
def test_one_variable_and_one_row_by_hand(row, answer):
    assert_allclose(one_row(*row), answer, atol=1e-9)


def test_without_rows_or_curvature_the_step_goes_to_the_corner():
    none = np.zeros((1, 0))
    s, dual = solve_program(
        np.zeros((1, 2, 2)), np.array([[1.0, -2.0]]), Rows(np.zeros((1, 0, 2)), none, none, none, none),
        np.array([[-1.0, -1.0]]), np.array([[1.0, 0.25]]), none,
    )  # fmt: skip
    assert_array_equal(s, [[-1.0, 0.25]])
    assert dual.shape == (1, 0)


def test_a_box_without_room_leaves_no_step():
    program = random_programs(np.random.default_rng(3), 4, 3, 2)
    s, dual = solved((*program[:3], np.zeros((4, 3)), np.zeros((4, 3))))
    assert_array_equal(s, np.zeros((4, 3)))
    assert np.isfinite(dual).all()


def test_a_program_does_not_notice_its_neighbours():
    program = random_programs(np.random.default_rng(4), 6, 7, 5)
    together = solved(program)
    for b in range(6):
        for one, many in zip(solved(picked(program, slice(b, b + 1))), together):
            assert_array_equal(one[0], many[b])


def test_the_loop_of_other_libraries_is_the_loop_of_numpy():
    program = random_programs(np.random.default_rng(5), 3, 4, 3)
    hessian, slope, rows, low, high = program
    theirs = solve_program(
        *map(strict.asarray, (hessian, slope)),
        Rows(*map(strict.asarray, rows)),
        *map(strict.asarray, (low, high, 0.0 * rows.value)),
    )
    for one, other in zip(solved(program), theirs):
        assert_allclose(np.asarray(other), one, atol=1e-12)
