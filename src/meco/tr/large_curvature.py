"""|L| of curvature.py in many variables: all of it while that is cheap, beyond the few directions that matter.

Up to EXACT_VARIABLES it is a matrix. A Lagrangian without negative curvature, as a Cholesky factor tells, is its own
|L|; the others need all eigenvalues. Beyond, |L| is found in a Krylov space of DIRECTIONS dimensions, which has the
curvature that the gradient meets first. In all other directions it is one number, the root mean square of what is left:

    H = mu + Q (|T| - mu) Q'                                                                            (1)

A system H + M with a diagonal M beside it is then a diagonal matrix with few directions beside it, which the formula of
Woodbury solves in D r^2 operations:

    B = Q |T - mu|^1/2,   (mu + M + B J B')^-1 = W - W B (J + B' W B)^-1 B' W,   W = (mu + M)^-1,          (2)

J being the signs of |T| - mu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, add_to_diagonal, solve
from meco.tr.curvature import MAX_CURVATURE, OVERFLOWING_CURVATURE
from meco.tr.elastic_program import LEAST_CURVATURE

EXACT_VARIABLES = 150  # up to which |L| is a matrix
DIRECTIONS = 40  # beyond: dimensions of the Krylov space
LEAST_BEND = 1e-6  # curvature of a direction, in units of the root mean square: a program without any has corners
LEAST_REST = 1e-3  # the same of all directions that are not looked at
DEPENDENCE = 1e-14  # share of itself by which a row is looser: rows that depend on each other would have no duals
TIGHT = 1e-6  # slack of a row, in units of one over the curvature, below which its dual is solved for beside others


class WholeCurvature(NamedTuple):
    """H as a matrix [D, D]; size is the root mean square of its curvature."""

    matrix: np.ndarray
    size: float

    def times(self, s: np.ndarray) -> np.ndarray:
        """H s of a vector s [D]: [D]."""
        return self.matrix @ s

    def whole(self) -> np.ndarray:
        """H as a new matrix [D, D]."""
        return self.matrix.copy()

    def among(self, free: np.ndarray) -> WholeCurvature:
        """H among the variables where a mask [D] holds."""
        return self._replace(matrix=self.matrix[free][:, free])

    def solve(self, right: np.ndarray, more: np.ndarray | None = None) -> np.ndarray:
        """(H + M)^-1 right of columns [D, k], with more [D] on the diagonal of M."""
        made = self.matrix[None]
        return solve(made if more is None else add_to_diagonal(made, more[None]), right[None])[0]


class FewDirections(NamedTuple):
    """H of eq. (1): directions Q [D, r], curvature along each of them [r] and in all others.

    size is the root mean square of it.
    """

    directions: np.ndarray
    along: np.ndarray
    rest: float
    size: float

    def times(self, s: np.ndarray) -> np.ndarray:
        """H s of a vector s [D]: [D]."""
        return self.rest * s + self.directions @ ((self.along - self.rest) * (self.directions.T @ s))

    def whole(self) -> np.ndarray:
        """H as a new matrix [D, D]."""
        made = (self.directions * (self.along - self.rest)) @ self.directions.T
        return add_to_diagonal(made[None], np.full((1, 1), self.rest), overwrite=True)[0]

    def among(self, free: np.ndarray) -> FewDirections:
        """H among the variables where a mask [D] holds; its directions are not orthogonal any more."""
        return self._replace(directions=self.directions[free])

    def solve(self, right: np.ndarray, more: np.ndarray | None = None) -> np.ndarray:
        """(H + M)^-1 right of columns [D, k] by eq. (2), with more [D] on the diagonal of M."""
        bend = self.along - self.rest
        few = self.directions * np.sqrt(np.abs(bend))
        round_ones = (np.full(len(few), self.rest) if more is None else self.rest + more)[:, None]
        over = few / round_ones
        small = add_to_diagonal((few.T @ over)[None], np.where(bend < 0.0, -1.0, 1.0)[None])
        return right / round_ones - over @ solve(small, (over.T @ right)[None])[0]


Curvature = WholeCurvature | FewDirections


def solve_with_rows(
    h: Curvature, more: np.ndarray | None, right: np.ndarray, a: np.ndarray, value: np.ndarray, slack: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """d [D] and y [n] of the system (H + M) d + a'y = right [D], a d - slack y = value [n], with rows a [n, D].

    more [D] is the diagonal of M, and slack [n] positive; rows may depend on each other. Duals y come from a system of
    their own: of rows with next to no slack, a d - value has lost their digits. Of more rows than variables the loose
    ones are curvature.
    """
    if len(a) > len(right):
        return _solve_with_many_rows(h, more, right, a, value, slack)
    return _solve_bordered(h, more, right, a, value, slack)


def _solve_bordered(
    h: Curvature, more: np.ndarray | None, right: np.ndarray, a: np.ndarray, value: np.ndarray, slack: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """solve_with_rows() with a system of its own for the duals of all rows."""
    if not len(a):
        return h.solve(right[:, None], more)[:, 0], value
    solved = h.solve(np.concatenate([right[:, None], a.T], axis=1), more)
    free, pulled = solved[:, 0], solved[:, 1:]
    between = a @ pulled
    between = add_to_diagonal(between[None], (slack + DEPENDENCE * between.diagonal())[None])
    y = solve(between, (a @ free - value)[None, :, None])[0, :, 0]
    return free - pulled @ y, y


def _solve_with_many_rows(
    h: Curvature, more: np.ndarray | None, right: np.ndarray, a: np.ndarray, value: np.ndarray, slack: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """solve_with_rows() with y = (a d - value) / slack put into the first equation for rows that are loose enough."""
    whole, tight = h.whole(), slack < TIGHT / h.size
    if more is not None:
        add_to_diagonal(whole[None], more[None], overwrite=True)
    few, weight = a[~tight], 1.0 / slack[~tight]
    scaled = few * np.sqrt(weight)[:, None]
    whole += scaled.T @ scaled
    y = np.empty(len(a))
    pulled = right + (weight * value[~tight]) @ few
    d, y[tight] = _solve_bordered(WholeCurvature(whole, h.size), None, pulled, a[tight], value[tight], slack[tight])
    y[~tight] = weight * (few @ d - value[~tight])
    return d, y


def find_curvature(hessian: Array, slope: Array) -> list[Curvature]:
    """H of Hessians [B, D, D], one for each run; beyond EXACT_VARIABLES in the Krylov space of its slope [B, D].

    nan counts as 0, huge numbers are cut, and no curvature is below LEAST_BEND of the root mean square.
    """
    found = list[Curvature]()
    for h, g in zip(0.5 * (hessian + hessian.mT), slope):
        if not (h.max() < OVERFLOWING_CURVATURE and h.min() > -OVERFLOWING_CURVATURE):  # nan too
            h = np.clip(np.nan_to_num(h), -OVERFLOWING_CURVATURE, OVERFLOWING_CURVATURE)
        squares = float((h * h).sum())
        found.append(_bend_whole(h, squares) if len(h) <= EXACT_VARIABLES else _bend_few(h, g, squares))
    return found


def rms_curvature(squares: float, dim: int) -> float:
    """The root mean square of `dim` eigenvalues of which the sum of squares is known, at least LEAST_CURVATURE."""
    return max(float(np.sqrt(squares / dim)), LEAST_CURVATURE)


def _bend_whole(h: np.ndarray, squares: float) -> WholeCurvature:
    """|h| of a symmetric matrix h [D, D] whose squares have this sum."""
    size = rms_curvature(squares, len(h))
    if squares < MAX_CURVATURE * MAX_CURVATURE and exceeds(h, LEAST_BEND * size):
        return WholeCurvature(h, size)
    values, vectors = np.linalg.eigh(h)
    along = np.clip(np.abs(values), LEAST_BEND * size, MAX_CURVATURE)
    return WholeCurvature((vectors * along) @ vectors.T, min(size, MAX_CURVATURE))


def exceeds(h: np.ndarray, least: float) -> bool:
    """Whether all eigenvalues of a symmetric matrix [D, D] are above a number, for a tenth of their cost."""
    try:
        np.linalg.cholesky(add_to_diagonal(h[None], np.array([[-least]])))
    except np.linalg.LinAlgError:
        return False
    return True


def _bend_few(h: np.ndarray, g: np.ndarray, squares: float) -> FewDirections:
    """Eq. (1) of a symmetric matrix h [D, D] whose squares have this sum, in the Krylov space of g [D]."""
    size = rms_curvature(squares, len(h))
    values, vectors = find_ritz_pairs(h, g, float(np.sqrt(squares)))
    along = np.clip(np.abs(values), LEAST_BEND * size, MAX_CURVATURE)
    left = max(squares - float((values * values).sum()), 0.0) / (len(h) - len(values))
    rest = min(max(float(np.sqrt(left)), LEAST_REST * size), MAX_CURVATURE)
    return FewDirections(vectors, along, rest, min(size, MAX_CURVATURE))


def find_ritz_pairs(h: np.ndarray, g: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [r] and vectors [D, r] of h [D, D] in the Krylov space of g [D] (Lanczos, all kept orthogonal).

    r is DIRECTIONS, which must be below D; size is the Frobenius norm of h. Where the space ends early, or g is 0 or
    not finite, it goes on from a fixed direction.
    """
    q, image = np.zeros((DIRECTIONS, len(g))), np.zeros((DIRECTIONS, len(g)))
    new = g if np.isfinite(g).all() else np.zeros_like(g)
    for count in range(DIRECTIONS):
        known = q[:count]
        length = float(np.sqrt(new @ new))
        if length <= 1e-10 * size or length == 0.0:  # an invariant space, or no slope: go on from anywhere
            new = np.cos(np.arange(1.0, len(g) + 1.0) * (count + 1))
            new = new - (known @ new) @ known
            length = float(np.sqrt(new @ new))
        q[count] = new / length
        image[count] = new = h @ q[count]
        known = q[: count + 1]
        for _ in range(2):  # once leaves rounding
            new = new - (known @ new) @ known
    small = q @ image.T
    values, vectors = np.linalg.eigh(0.5 * (small + small.T))
    return values, q.T @ vectors
