"""The program of program.py as arrays: rows that may be broken at a price, bounds of s among them, and its units."""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, identities, namespace, total, zeros_like

TOLERANCE = 1e-10  # of the optimality conditions, in units where rows and steps have length about one
PENALTY = 1e5  # rho, in units of the curvature: the duals' error falls by so much with every update
LEAST_CURVATURE = 0.1  # that rho is measured by, where the program has hardly any
PROXIMITY = 1e-9  # sigma, in the same units: a program without curvature has corners


class Rows(NamedTuple):
    """Rows low <= value + matrix s <= high that may be broken at a price: matrix [B, C, D], the others [B, C]."""

    matrix: Array
    value: Array
    low: Array
    high: Array
    price: Array


class Program(NamedTuple):
    """(1) with the bounds of s as its first rows: hessian [B, D, D], slope [B, D], the others [B, k], k = D + C."""

    hessian: Array
    slope: Array
    matrix: Array  # J [B, k, D]
    value: Array
    low: Array
    high: Array
    price: Array
    rho: Array  # [B, 1]
    sigma: Array  # [B, 1]


def make_program(hessian: Array, slope: Array, rows: Rows, low: Array, high: Array) -> Program:
    """The program of hessian [B, D, D] and slope [B, D], with bounds low, high [B, D] stacked above the rows [B, C].

    rho and sigma are in units of the curvature, at least LEAST_CURVATURE.
    """
    xp, (runs, dim) = namespace(slope), slope.shape
    size = xp.sqrt(total(hessian * hessian, (1, 2)) / dim)[:, None]
    size = xp.where(size > LEAST_CURVATURE, size, LEAST_CURVATURE)
    none = zeros_like(slope)
    return Program(
        hessian,
        slope,
        xp.concat([identities(runs, dim, slope), rows.matrix], axis=1),
        xp.concat([none, rows.value], axis=1),
        xp.concat([low, rows.low], axis=1),
        xp.concat([high, rows.high], axis=1),
        xp.concat([none + xp.inf, rows.price], axis=1),
        PENALTY * size,
        PROXIMITY * size,
    )


def multiply(matrix: Array, x: Array) -> Array:
    """Each matrix of a stack [B, k, D] times its vector of x [B, D]: [B, k]."""
    return (matrix @ x[..., None])[..., 0]
