"""Whether noise explains that no price can be told: values around the answer, fitted by least squares.

A quadratic through the nearest points has slopes whose standard errors follow from the noise of a call, and from what
the quadratic misses. Of each of some sets of points the residual r of kkt.py (eq. 2) is asked. Where r is beyond its
error in any set, the way on is seen in spite of noise; where in none, noise explains that nothing is told, if in one
set at least noise is a large part of that error. Where that is the functions' own shape in all, it explains nothing.
"""

from __future__ import annotations

import numpy as np

from meco.run.kkt import DEVIATIONS, FLAT_RESIDUAL, MANY_VARIABLES, nonnegative_prices

SET_SIZES = (2, 4, 8)  # points for each coefficient
MOST_PRODUCTS = 12  # variables up to which products of two are fitted, and not only squares
NOISE_SHARE = 0.25  # of the squared error of r: the least part of it that noise must make up


def noise_explains(
    u: np.ndarray, y: np.ndarray, at: np.ndarray, deviations: np.ndarray, active: np.ndarray, free_sign: np.ndarray
) -> bool:
    """Whether the point `at` [D] of the unit cube may be stationary, as far as noise lets values y [n, 1 + C] tell.

    u [n, D] are points, deviations [1 + C] those of one call; active [A] says which constraints may hold the answer
    back, free_sign [A] which of these are equalities.
    """
    dim = len(at)
    if dim > MANY_VARIABLES or not np.any(deviations > 0.0):
        return False
    columns = (dim + 1) * (dim + 2) // 2 if dim <= MOST_PRODUCTS else 2 * dim + 1
    order = np.argsort(((u - at) ** 2).sum(axis=1), kind="stable")
    taken = np.concatenate([[0], 1 + active])
    explained = False
    for size in SET_SIZES:
        near = order[: size * columns]
        if len(near) < SET_SIZES[0] * columns:
            return explained
        try:
            found = _residual_and_errors(u[near] - at, y[np.ix_(near, taken)], deviations[taken], free_sign)
        except np.linalg.LinAlgError:  # points that coincide, or numbers without end
            continue
        if found is None:
            continue
        slope, residual, noise, error = found
        if residual > DEVIATIONS * error:
            return False
        hides = DEVIATIONS * noise >= FLAT_RESIDUAL * slope
        explained = explained or (hides and noise**2 >= NOISE_SHARE * error**2)
    return explained


def _residual_and_errors(
    offset: np.ndarray, y: np.ndarray, deviations: np.ndarray, free_sign: np.ndarray
) -> tuple[float, float, float, float] | None:
    """|grad f|, |r|, and the standard errors of r by noise alone and by all that the fit misses; None of no full rank.

    Slopes are known better in some directions than in others: |r| is weighed by its covariance, so that it counts in
    units of these errors. offset [m, D] and y [m, 1 + A] are points and values; deviations [1 + A] those of a call.
    """
    m, dim = offset.shape
    radius = float(np.sqrt((offset * offset).sum(axis=1).max()))
    if not radius > 0.0:
        return None
    v = offset / radius
    i, j = np.triu_indices(dim) if dim <= MOST_PRODUCTS else (np.arange(dim), np.arange(dim))
    design = np.concatenate([np.ones((m, 1)), v, v[:, i] * v[:, j]], axis=1)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.pinv(design)  # [columns, m]
    fitted = inverse @ y
    misfit = np.sqrt(((y - design @ fitted) ** 2).sum(axis=0) / (m - design.shape[1]))  # [1 + A]
    gradient = fitted[1 : 1 + dim].T / radius  # [1 + A, D]
    rows = inverse[1 : 1 + dim] / radius
    unit_error = float(np.sqrt((rows * rows).sum()))  # of a gradient, for values that are off by 1
    length = np.sqrt((gradient[1:] ** 2).sum(axis=1))
    normals = gradient[1:] / np.where(length > 0.0, length, 1.0)[:, None]
    prices = nonnegative_prices(normals, gradient[0], free_sign)
    rest = gradient[0] + prices @ normals
    weight = np.concatenate([[1.0], prices / np.where(length > 0.0, length, 1.0)])
    noise, error = (
        float(np.sqrt(((weight * size) ** 2).sum()) * unit_error)
        for size in (deviations, np.maximum(deviations, misfit))
    )
    residual = unit_error * float(np.sqrt(rest @ np.linalg.solve(rows @ rows.T, rest) / dim))
    return float(np.sqrt(gradient[0] @ gradient[0])), residual, noise, error
