"""Slow references for the elastic program of a step: its value, its optimality conditions, and SciPy's answer."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from meco.tr.curvature import convexify
from meco.tr.elastic_program import Rows


def random_programs(rng, runs, dim, count):
    """Programs as steps make them: rows of length one, a box that the cube cuts, a fifth of the rows equalities.

    Rows leave room for a random point of the box; one in twenty asks for more, and may have to be broken.
    """
    bent = rng.normal(size=(runs, dim, dim)) * 10.0 ** rng.uniform(-0.5, 1.0, (runs, 1, 1)) / np.sqrt(dim)
    hessian, slope = convexify(bent + bent.swapaxes(1, 2)), rng.normal(size=(runs, dim))
    box = np.where(rng.random((2, runs, dim)) < 0.2, rng.random((2, runs, dim)), 1.0)
    low, high = -box[0], box[1]
    inside = low + rng.random((runs, dim)) * (high - low)
    matrix = rng.normal(size=(runs, count, dim))
    matrix /= np.linalg.norm(matrix, axis=-1, keepdims=True)
    equal, hard = rng.random((runs, count)) < 0.2, rng.random((runs, count)) < 0.05
    reached = (matrix @ inside[..., None])[..., 0]
    value = -reached - np.where(equal, 0.0, rng.exponential(0.3, reached.shape)) + np.where(hard, 2.0, 0.0)
    none = np.zeros_like(value)
    rows = Rows(matrix, value, np.where(equal, 0.0, -np.inf), none, 30.0 * 10.0 ** rng.uniform(0.0, 1.0, value.shape))
    return hessian, slope, rows, low, high


def objective(hessian, slope, rows, s):
    """Eq. (1) of program.py, [B]."""
    at = rows.value + (rows.matrix @ s[..., None])[..., 0]
    broken = np.maximum(at - rows.high, 0.0) + np.maximum(rows.low - at, 0.0)
    bent = 0.5 * np.einsum("bd,bde,be->b", s, hessian, s)
    return np.sum(slope * s, axis=-1) + bent + np.sum(rows.price * broken, axis=-1)


def residual(hessian, slope, rows, low, high, s, dual):
    """Largest breach of the optimality conditions of (1), [B]; 0 certifies the answer, for (1) is convex.

    With dual the multipliers of the rows: s is what the gradient, projected to the box, leaves it at; each dual
    has the price's size where its row is broken, its sign where it holds with equality, and is 0 between.
    """
    pull = slope + np.einsum("bde,be->bd", hessian, s) + np.einsum("bcd,bc->bd", rows.matrix, dual)
    box = np.abs(s - np.clip(s - pull, low, high))
    at = rows.value + np.einsum("bcd,bd->bc", rows.matrix, s)
    outside = at + dual - np.clip(at + dual, rows.low, rows.high)
    kept = np.abs(dual - np.clip(outside, -rows.price, rows.price))
    return np.maximum(np.max(box, axis=1), np.max(kept, axis=1, initial=0.0))


def scipy_answer(hessian, slope, rows, low, high):
    """One program (no leading B) with a slack for each side of each row, by SLSQP: the least value of (1)."""
    dim, count = slope.size, rows.value.size
    up, down = np.flatnonzero(np.isfinite(rows.high)), np.flatnonzero(np.isfinite(rows.low))
    price = np.concatenate([rows.price[up], rows.price[down]])
    matrix = np.concatenate([rows.matrix[up], -rows.matrix[down]])
    limit = np.concatenate([(rows.high - rows.value)[up], (rows.value - rows.low)[down]])
    slack = price.size
    wide = np.concatenate([matrix, -np.eye(slack)], axis=1)
    start = np.concatenate([np.zeros(dim), np.maximum(-limit, 0.0)])
    found = minimize(
        lambda z: slope @ z[:dim] + 0.5 * z[:dim] @ hessian @ z[:dim] + price @ z[dim:],
        start,
        jac=lambda z: np.concatenate([slope + hessian @ z[:dim], price]),
        method="SLSQP",
        bounds=[*zip(low, high), *[(0.0, None)] * slack],
        constraints=[LinearConstraint(wide, -np.inf, limit)] if count else [],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return np.clip(found.x[:dim], low, high)
