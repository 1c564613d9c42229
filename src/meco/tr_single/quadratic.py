"""Quadratic models by least change of the previous ones (docs/trust-region.md, section 3).

Minimum Frobenius norm updating (Powell 2004, 2006) for F functions at once. Of all quadratics that interpolate the
values y at m points u_i, take the one whose Hessian is nearest to that of the previous model, whose values at the
points are p. The dual problem is one linear system for all functions,

    K w = y - gamma p,    K_ij = (u_i . u_j)^2 / 2 + tau u_i . u_j + eta (1 + tau) [i = j],             (3.1)
    H = gamma H + sum_i w_i u_i u_i',   g = gamma g + tau sum_i w_i u_i.                                (3.2)

A large tau leaves the gradient nearly free, and the ridge eta keeps K regular. K is also the covariance of a Gaussian
process over quadratics. This gives leave-one-out errors (roughness.py), variances (geometry.py) and the most likely
share of the previous model,

    gamma = p'K^-1 y / p'K^-1 p, bounded to [0, 1].                                                     (3.3)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meco.tr_single.small_arrays import bounded

SMOOTH = 1e-9  # eta of a smooth function
LIKELY_SHARE = 0.5  # gamma above which the previous model of f is kept as a whole


class Quadratic(NamedTuple):
    """Models of F functions, relative to their values at the centre: gradient [F, D], hessian [F, D, D]."""

    gradient: np.ndarray
    hessian: np.ndarray

    @classmethod
    def zero(cls, functions: int, dim: int) -> Quadratic:
        """Models that are zero everywhere."""
        return cls(np.zeros((functions, dim)), np.zeros((functions, dim, dim)))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """Gradients at a step s [D]: [F, D]."""
        return self.gradient + self.hessian @ s

    def change(self, s: np.ndarray) -> np.ndarray:
        """Values at a step s [D]: [F]."""
        return 0.5 * (self.gradient + self.slope(s)) @ s

    def changes(self, u: np.ndarray) -> np.ndarray:
        """Values at steps u [m, D]: [m, F]."""
        return u @ self.gradient.T + 0.5 * np.vecdot(u @ self.hessian, u).T

    def summed_hessian(self, factors: np.ndarray) -> np.ndarray:
        """Hessian of sum_k factor_k q_k for factors [F]: [D, D]."""
        return (factors @ self.hessian.reshape(len(factors), -1)).reshape(self.hessian.shape[1:])

    def shifted(self, s: np.ndarray) -> Quadratic:
        """The same functions around a centre moved by s [D]."""
        return Quadratic(self.slope(s), self.hessian)

    def rescaled(self, unit: np.ndarray) -> Quadratic:
        """The same functions in coordinates with new units [D], given in the present ones."""
        return Quadratic(self.gradient * unit, self.hessian * (unit[:, None] * unit))


class Fit(NamedTuple):
    """Interpolation points u [m, D], values y [m, F], the matrix K [m, m] of (3.1) and its tau."""

    u: np.ndarray
    y: np.ndarray
    matrix: np.ndarray
    tau: float

    def with_ridge(self, old: float, new: float) -> np.ndarray:
        """K [m, m] with its ridge eta changed from old to new."""
        return add_ridge(self.matrix.copy(), (new - old) * (1.0 + self.tau))

    def variance(self, v: np.ndarray) -> np.ndarray:
        """Posterior variance of the Gaussian process at steps v [n, D], for amplitude 1: [n]."""
        square = np.vecdot(v, v)
        cross = covariance(self.u @ v.T, self.tau)
        return square * (0.5 * square + self.tau) - (cross * np.linalg.solve(self.matrix, cross)).sum(axis=0)


def covariance(product: np.ndarray, tau: float) -> np.ndarray:
    """K of (3.1) without its ridge, from inner products u_i . u_j."""
    return product * (0.5 * product + tau)


def add_ridge(matrix: np.ndarray, ridge: float) -> np.ndarray:
    """Add a number to the diagonal of matrix [m, m] in place, and return it."""
    matrix.flat[:: len(matrix) + 1] += ridge
    return matrix


def least_change(prior: Quadratic, u: np.ndarray, y: np.ndarray, tau: float, eta: np.ndarray) -> tuple[Quadratic, Fit]:
    """Fit models to values y [m, F] at points u [m, D] by least change of the prior.

    eta [F] is the roughness of each function, SMOOTH or more. The objective keeps its whole previous model while gamma
    is above LIKELY_SHARE, so that a region that hardly moves loses no digits.
    """
    p, functions = prior.changes(u), y.shape[1]
    matrix = add_ridge(covariance(u @ u.T, tau), SMOOTH * (1.0 + tau))
    right = np.concatenate([y - p, p], axis=1)
    solved = np.linalg.solve(matrix, right)
    for level in set(eta[eta > SMOOTH].tolist()):
        rough = np.tile(eta == level, 2)
        solved[:, rough] = np.linalg.solve(add_ridge(matrix.copy(), (level - SMOOTH) * (1.0 + tau)), right[:, rough])
    new, old = solved[:, :functions], solved[:, functions:]
    size = np.vecdot(p.T, old.T)
    gamma = 1.0 + np.vecdot(p.T, new.T) / np.where(size > 0.0, size, 1.0)  # (3.3) with y = p + (y - p)
    gamma = np.where(np.isfinite(gamma) & (size > 0.0), bounded(gamma, 0.0, 1.0), 1.0)
    gamma[0] = 1.0 if gamma[0] > LIKELY_SHARE else gamma[0]
    w = new + (1.0 - gamma) * old
    hessian = gamma[:, None, None] * prior.hessian + u.T @ (w.T[:, :, None] * u)
    return Quadratic(gamma[:, None] * prior.gradient + tau * (w.T @ u), hessian), Fit(u, y, matrix, tau)
