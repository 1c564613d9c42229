"""The quadratic program of a step, elastic so that it always has an answer, by the alternating direction method.

    minimise  b's + s'Hs/2 + sum_i price_i dist(c_i + A_i s, [low_i, high_i])   over a box of s         (1)

H is convex, rows of A have length about one. With J = [I; A] and z = Js, ADMM (Boyd et al. 2011) alternates a linear
map and a clipping of z. Written in v, what is clipped, with over-relaxation r, it is one fixed map,

    v <- k + N (v - 2 e(v)) + (1 - r/2) v,   e(v) = clip(v - clip(v, low, high), -t, t),                (2)

a matrix product and a few minima an iteration, as many for every run: lockstep and graph capture come free. In units
of the map's own step the duals of the rows are what e keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, identities, inverse, namespace, total, zeros_like
from meco.device import has_triton

RELAXATION = 1.6
ITERATIONS = 40
MAX_FUSED_ROWS = 128  # rows and columns that one kernel's registers hold
LEAST_CURVATURE = 0.1  # of the map's step, where the program has hardly any
# the ufunc that np.clip calls after checks which take four times as long, or np.clip where a NumPy hides it
CLIP = getattr(getattr(getattr(np, "_core", None), "umath", None), "clip", np.clip)


class Rows(NamedTuple):
    """Rows low <= value + matrix s <= high that may be broken at a price: matrix [B, C, D], the others [B, C]."""

    matrix: Array
    value: Array
    low: Array
    high: Array
    price: Array


class FixedPointMap(NamedTuple):
    """Eq. (2): the matrix N [B, k, k], the vectors k, low, high and t [B, k], k = D + C."""

    matrix: Array
    constant: Array
    low: Array
    high: Array
    most: Array


def solve_program(
    hessian: Array, slope: Array, rows: Rows, low: Array, high: Array, duals: Array, iterations: int = ITERATIONS
) -> tuple[Array, Array]:
    """The step s [B, D] within the box low, high [B, D], and the duals of the rows [B, C].

    duals [B, C] is where the iteration starts: those of a similar program, or zeros.
    """
    xp, dim = namespace(slope), slope.shape[1]
    size = xp.sqrt(total(hessian * hessian, (1, 2)) / dim)[:, None]
    size = xp.where(size > LEAST_CURVATURE, size, LEAST_CURVATURE)
    map_ = _make_map(hessian, slope, rows, low, high, size)
    no_step = xp.minimum(xp.maximum(zeros_like(slope), low), high)  # no step yet
    v = xp.concat([no_step, rows.value + duals / size], axis=1)
    v = _select_iteration(v)(map_, v, iterations)
    e = excess(v, map_)
    return (v - e)[:, :dim], (size * e)[:, dim:]


def _make_map(hessian: Array, slope: Array, rows: Rows, low: Array, high: Array, size: Array) -> FixedPointMap:
    """The program as a fixed map."""
    xp, (runs, dim) = namespace(slope), slope.shape
    jacobian = xp.concat([identities(runs, dim, slope), rows.matrix], axis=1)
    turned = jacobian.mT
    reach = jacobian @ inverse(hessian + size[..., None] * (turned @ jacobian))
    matrix = (RELAXATION * size[..., None]) * (reach @ turned)
    none = zeros_like(slope)
    value = xp.concat([none, rows.value], axis=1)
    constant = RELAXATION * (value - _multiply(reach, slope)) - _multiply(matrix, value)
    return FixedPointMap(
        matrix - identities(1, value.shape[1], slope, 0.5 * RELAXATION),
        constant,
        xp.concat([low, rows.low], axis=1),
        xp.concat([high, rows.high], axis=1),
        xp.concat([none + xp.inf, rows.price], axis=1) / size,
    )


def excess(v: Array, map_: FixedPointMap) -> Array:
    """By how much v lies outside its interval, at most t: e(v) of eq. (2)."""
    xp = namespace(v)
    outside = v - xp.minimum(xp.maximum(v, map_.low), map_.high)
    return xp.minimum(xp.maximum(outside, -map_.most), map_.most)


def _select_iteration(v: Array) -> Callable[[FixedPointMap, Array, int], Array]:
    """The loop that is fastest for vectors like v [B, k]; all of them give the same."""
    if isinstance(v, np.ndarray):
        return _iterate_in_place
    return _iterate_fused if has_triton(v) and v.shape[1] <= MAX_FUSED_ROWS else _iterate


def _iterate_fused(map_: FixedPointMap, v: Array, times: int) -> Array:
    from meco.device.program_kernel import iterate_program  # needs a device

    return iterate_program(map_, v, times, 1.0 - 0.5 * RELAXATION)


def _iterate(map_: FixedPointMap, v: Array, times: int) -> Array:
    for _ in range(times):
        v = map_.constant + _multiply(map_.matrix, v - 2.0 * excess(v, map_)) + (1.0 - 0.5 * RELAXATION) * v
    return v


def _iterate_in_place(map_: FixedPointMap, v: np.ndarray, times: int) -> np.ndarray:
    """The same without making arrays: on small ones NumPy's time is the number of calls and of allocations."""
    e, moved, keep = np.empty_like(v), np.empty_like(v), np.full_like(v, 1.0 - 0.5 * RELAXATION)
    matrix, constant, low, high, most = map_
    least, product = -most, partial(np.matmul, matrix, e[..., None], moved[..., None])
    if len(v) == 1:  # vectors alone, which cost less than stacks of them
        v, e, moved, keep, constant, low, high, most, least = (
            part[0] for part in (v, e, moved, keep, constant, low, high, most, least)
        )
        product = partial(matrix[0].dot, e, moved)
    for _ in range(times):
        CLIP(v, low, high, e)
        np.subtract(v, e, e)
        CLIP(e, least, most, e)
        np.add(e, e, e)
        np.subtract(v, e, e)
        product()
        np.multiply(v, keep, v)
        np.add(v, constant, v)
        np.add(v, moved, v)
    return np.atleast_2d(v)


def _multiply(matrix: Array, x: Array) -> Array:
    return (matrix @ x[..., None])[..., 0]
