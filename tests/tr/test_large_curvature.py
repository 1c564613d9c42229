"""Curvature of many variables: the sign is lost, what is left out is one number, and systems are solved."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from meco.tr.curvature import MAX_CURVATURE, convexify
from meco.tr.large_curvature import (
    EXACT_VARIABLES,
    LEAST_BEND,
    Curvature,
    exceeds,
    find_curvature,
    find_ritz_pairs,
    solve_with_rows,
)


def dense(curvature: Curvature, dim: int) -> np.ndarray:
    """The matrix that it stands for."""
    return np.stack([curvature.times(row) for row in np.eye(dim)])


@pytest.mark.parametrize("dim", [EXACT_VARIABLES, EXACT_VARIABLES + 10])
def test_newton_systems_are_solved_however_curvature_is_kept(dim):
    rng = np.random.default_rng(3)
    bent = rng.normal(size=(1, dim, dim))
    [made] = find_curvature(bent + bent.mT, rng.normal(size=(1, dim)))
    more, a, right = rng.uniform(0.0, 1e3, dim), rng.normal(size=(3, dim)), rng.normal(size=dim)
    whole = dense(made, dim) + np.diag(more)
    assert_allclose(made.solve(a.T, more), np.linalg.solve(whole, a.T), rtol=1e-6, atol=1e-9)
    value, slack = rng.normal(size=3), np.array([1e-9, 1e-3, 1.0])
    d, y = solve_with_rows(made, more, right, a, value, slack)
    assert_allclose(whole @ d + y @ a, right, atol=1e-7)
    assert_allclose(a @ d - slack * y, value, atol=1e-9)
    assert np.min(np.linalg.eigvalsh(dense(made, dim))) > 0.0


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_depend_on_each_other_share_their_dual(seed):
    """Without what keeps them apart most of these systems are singular."""
    rng, dim = np.random.default_rng(seed), 60
    (made,) = find_curvature(np.eye(dim)[None], rng.normal(size=dim)[None])
    row, right = rng.normal(size=dim), rng.normal(size=dim)
    one, dual = solve_with_rows(made, None, right, row[None], np.ones(1), np.full(1, 1e-30))
    two, duals = solve_with_rows(made, None, right, np.stack([row, row]), np.ones(2), np.full(2, 1e-30))
    assert_allclose(two, one, atol=1e-8)
    assert_allclose(duals.sum(), dual[0], rtol=1e-8)
    assert_allclose(*duals, rtol=0.1)


@pytest.mark.parametrize("dim", [60, EXACT_VARIABLES + 10])
def test_more_rows_than_variables_are_solved_as_few_are(dim):
    """Rows of every slack, many more than there are variables."""
    rng, count = np.random.default_rng(5), 3 * dim
    hessian, more = rng.normal(size=(1, dim, dim)), rng.uniform(0.0, 10.0, dim)
    (made,) = find_curvature(hessian + hessian.mT, rng.normal(size=(1, dim)))
    a, right, value = rng.normal(size=(count, dim)), rng.normal(size=dim), rng.normal(size=count)
    slack = 10.0 ** np.where(
        np.arange(count) < dim // 2, rng.uniform(-12.0, -6.0, count), rng.uniform(-1.0, 6.0, count)
    )
    d, y = solve_with_rows(made, more, right, a, value, slack)
    assert_allclose(dense(made, dim) @ d + more * d + y @ a, right, atol=1e-6 * np.abs(y).max())
    assert_allclose(a @ d - slack * y, value, atol=1e-7 * (1.0 + np.abs(y).max() * 1e-3))


def test_few_curved_directions_are_all_found():
    """Rank eight in 200 variables: the curvature of |L| along each of them, and hardly any elsewhere."""
    rng, dim = np.random.default_rng(4), EXACT_VARIABLES + 50
    basis, values = np.linalg.qr(rng.normal(size=(dim, 8)))[0], np.array([5.0, 4.0, 3.0, 2.0, -1.0, -2.0, -3.0, -6.0])
    [made] = find_curvature(((basis * values) @ basis.T)[None], rng.normal(size=(1, dim)))
    assert_allclose(np.diag(basis.T @ dense(made, dim) @ basis), np.abs(values), rtol=1e-6)
    assert made.rest < 1e-2


def test_a_slope_of_zero_still_has_directions():
    h = np.diag(np.arange(1.0, 201.0))
    values, vectors = find_ritz_pairs(h, np.zeros(200), float(np.linalg.norm(h)))
    assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)


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


def test_a_convex_lagrangian_is_its_own_curvature_and_needs_no_eigenvalues(monkeypatch):
    rng = np.random.default_rng(9)
    root = rng.normal(size=(1, 80, 80))
    convex = root @ root.mT
    monkeypatch.setattr(np.linalg, "eigh", None)
    (made,) = find_curvature(convex, rng.normal(size=(1, 80)))
    assert_allclose(dense(made, 80), convex[0], rtol=1e-12)


def test_without_one_direction_of_enough_curvature_all_eigenvalues_are_found():
    vectors = np.linalg.qr(np.random.default_rng(10).normal(size=(60, 60)))[0]
    for worst in (-1.0, 0.0, 0.1 * LEAST_BEND):
        h = (vectors * np.append(np.ones(59), worst)) @ vectors.T
        (made,) = find_curvature(h[None], np.ones((1, 60)))
        least = max(abs(worst), LEAST_BEND * made.size)
        assert_allclose(np.linalg.eigvalsh(dense(made, 60))[0], least, rtol=1e-6)


def test_a_factor_tells_whether_all_eigenvalues_exceed_a_number():
    h = np.diag([2.0, 3.0, 5.0])
    assert exceeds(h, 1.9)
    assert not exceeds(h, 2.1)
    assert_array_equal(h, np.diag([2.0, 3.0, 5.0]))


@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf, 1e308, -1e160, 3.0 * MAX_CURVATURE])
def test_no_number_makes_curvature_that_is_not_finite(worst):
    for dim in (EXACT_VARIABLES, EXACT_VARIABLES + 1):
        h = np.random.default_rng(11).normal(size=(1, dim, dim))
        h[0, 0, 0] = worst
        with np.errstate(all="ignore"):  # as the engine has it
            (made,) = find_curvature(h, np.ones((1, dim)))
        assert np.isfinite(dense(made, dim)).all()
        assert np.abs(dense(made, dim)).max() <= 1.01 * MAX_CURVATURE


def test_up_to_some_hundred_variables_it_is_that_of_few():
    h = np.random.default_rng(12).normal(size=(1, 70, 70))
    (made,) = find_curvature(h, np.ones((1, 70)))
    assert_allclose(dense(made, 70), convexify(h)[0], atol=1e-4)
