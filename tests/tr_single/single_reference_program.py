"""Slow references for the program of a step: random programs, optimality conditions, and SciPy's solution."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from meco.tr_single.program import Program
from meco.tr_single.subproblem import convexified


def random_program(rng, dim, count):
    """A program as steps make them: rows of length one, a cut box, a fifth of the rows equalities.

    Rows leave room for a random point of the box; one in twenty asks for more, and may have to be violated.
    """
    bent = rng.normal(size=(dim, dim)) * 10.0 ** rng.uniform(-0.5, 1.0) / np.sqrt(dim)
    box = np.where(rng.random((2, dim)) < 0.2, rng.random((2, dim)), 1.0)
    bottom, top = -box[0], box[1]
    inside = bottom + rng.random(dim) * (top - bottom)
    rows = rng.normal(size=(count, dim))
    rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
    equal, hard = rng.random(count) < 0.2, rng.random(count) < 0.05
    value = -rows @ inside - np.where(equal, 0.0, rng.exponential(0.3, count)) + np.where(hard, 2.0, 0.0)
    low, price = np.where(equal, 0.0, -np.inf), 30.0 * 10.0 ** rng.uniform(0.0, 1.0, count)
    return Program(
        convexified(bent + bent.T), rng.normal(size=dim), bottom, top, rows, value, low, np.zeros(count), price
    )


def residual(p, s, y):
    """Largest violation of the optimality conditions by a step s [D] and duals y [C]; 0 certifies the solution.

    A dual has the price's size where its row is violated, its sign where it is active, and is 0 between.
    """
    slope = p.slope + p.hessian @ s + p.rows.T @ y
    box = np.abs(s - np.clip(s - slope, p.bottom, p.top))
    z = p.value + p.rows @ s
    outside = z + y - np.clip(z + y, p.low, p.high)
    kept = np.abs(y - np.clip(outside, -p.price, p.price))
    return max(box.max(), kept.max(initial=0.0))


def scipy_solution(p):
    """The step by SLSQP, with a slack for each finite end of a row."""
    dim = len(p.slope)
    up, down = np.flatnonzero(np.isfinite(p.high)), np.flatnonzero(np.isfinite(p.low))
    price = np.concatenate([p.price[up], p.price[down]])
    matrix = np.concatenate([p.rows[up], -p.rows[down]])
    limit = np.concatenate([(p.high - p.value)[up], (p.value - p.low)[down]])
    wide = np.concatenate([matrix, -np.eye(len(price))], axis=1)
    found = minimize(
        lambda z: p.slope @ z[:dim] + 0.5 * z[:dim] @ p.hessian @ z[:dim] + price @ z[dim:],
        np.concatenate([np.zeros(dim), np.maximum(-limit, 0.0)]),
        jac=lambda z: np.concatenate([p.slope + p.hessian @ z[:dim], price]),
        method="SLSQP",
        bounds=[*zip(p.bottom, p.top), *[(0.0, None)] * len(price)],
        constraints=[LinearConstraint(wide, -np.inf, limit)],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return np.clip(found.x[:dim], p.bottom, p.top)
