"""Models of many variables: what makes up a matrix of second derivatives, in the place of the matrix.

In eq. (2) of quadratic.py a Hessian is sum_i w_i u_i u_i' over the m fitted points. Products with it cost m D, the
points are the same for all functions, and a function adds m numbers to memory, not D^2. What models knew before, a
Hessian that no m points make up, is kept for f alone, as a matrix, and up to MOST_REMEMBERED variables. Beyond, and
for constraints, models are those of least curvature that meet the values (gamma = 0 in quadratic.py).

Used beyond FEW_VARIABLES. Where answers have gaps or limits are cheap, models are matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, Factored, norm, total
from meco.tr.cholesky_system import LEAST_FACTORED, CholeskyFactored
from meco.tr.critical import CriticalFunctions
from meco.tr.quadratic import Fit, Quadratic, fit_weights

FEW_VARIABLES = 50  # up to which every model is a matrix
MOST_REMEMBERED = 400  # variables with which f remembers curvature that its points do not tell any more


class PointModels(NamedTuple):
    """Models of F functions around the centre: gradient [B, F, D], points [B, m, D] and their weights [B, F, m].

    hessian [B, h, D, D] is that of f where it is kept as a matrix: h is 1, and f's weights are 0; else h is 0.
    """

    gradient: Array
    points: Array
    weights: Array
    hessian: Array

    @classmethod
    def zero(cls, shape: tuple[int, int, int], size: int) -> PointModels:
        """Models that are 0 everywhere; shape is (B, F, D), and size the most points that will be fitted."""
        runs, functions, dim = shape
        kept = int(dim <= MOST_REMEMBERED)
        return cls(
            np.zeros(shape),
            np.zeros((runs, size, dim)),
            np.zeros((runs, functions, size)),
            np.zeros((runs, kept, dim, dim)),
        )

    def cleared(self, where: Array) -> PointModels:
        """Models that are 0 in the runs where [B] holds, and the same in others."""
        return PointModels(*(np.where(np.reshape(where, (-1, *(1,) * (part.ndim - 1))), 0.0, part) for part in self))

    def shifted(self, step: Array) -> PointModels:
        """The same functions around a centre that moved by step [B, D]."""
        return self._replace(gradient=self.slope(step))

    def rescaled(self, unit: Array) -> PointModels:
        """The same functions in coordinates whose units are unit [B, D] of the present ones."""
        wide = unit[:, None, :]
        hessian = self.hessian * (unit[:, :, None] * wide)[:, None] if self.hessian.shape[1] else self.hessian
        return PointModels(self.gradient * wide, self.points * wide, self.weights, hessian)

    def of_f(self) -> Quadratic:
        """The model of f that is kept, as the only function; no function where none is. Of others nothing is."""
        return Quadratic(self.gradient[:, : self.hessian.shape[1]], self.hessian)

    def multiplied(self, share: Array) -> PointModels:
        """Each function times its share [B, F]."""
        hessian = self.hessian * share[:, : self.hessian.shape[1], None, None]
        return PointModels(self.gradient * share[..., None], self.points, self.weights * share[..., None], hessian)

    def slope(self, step: Array) -> Array:
        """Gradients at a step [B, D] from the centre: [B, F, D]."""
        bent = (self.weights * (self.points @ step[..., None]).mT) @ self.points
        bent[:, : self.hessian.shape[1]] += (self.hessian @ step[:, None, :, None])[..., 0]
        return self.gradient + bent

    def change(self, step: Array) -> Array:
        """Values at a step [B, D] from the centre, less those at the centre: [B, F]."""
        return self.change_by(step, self.slope(step))

    def change_by(self, step: Array, slope: Array) -> Array:
        """Values at a step [B, D] less those at the centre, from slopes [B, F, D] there, at a cost of D: [B, F]."""
        return (0.5 * (self.gradient + slope) @ step[:, :, None])[..., 0]

    def changes(self, u: Array) -> Array:
        """Values at several steps u [B, n, D] from the centre, less those at the centre: [B, n, F]."""
        along = u @ self.points.mT  # [B, n, m]
        made = u @ self.gradient.mT + 0.5 * (along * along) @ self.weights.mT
        made[..., : self.hessian.shape[1]] += 0.5 * total((u[:, None] @ self.hessian) * u[:, None]).mT
        return made

    def second_derivatives(self) -> Array:
        """Second derivatives along each variable: [B, F, D]."""
        made = self.weights @ (self.points * self.points)
        made[:, : self.hessian.shape[1]] += np.linalg.diagonal(self.hessian)
        return made

    def hessian_norms(self) -> Array:
        """Frobenius norms of the Hessians, at a cost of m^2 D: [B, F]."""
        products = self.points @ self.points.mT
        made = np.sqrt(np.maximum(total((self.weights @ (products * products)) * self.weights), 0.0))
        made[:, : self.hessian.shape[1]] = norm(self.hessian, (-2, -1))
        return made

    def hessian_norm_of_f(self) -> Array:
        """The Frobenius norm of the Hessian of f [B]; where that is no matrix, of its diagonal, at a cost of m D."""
        if self.hessian.shape[1]:
            return norm(self.hessian[:, 0], (-2, -1))
        return norm((self.weights[:, :1] @ (self.points * self.points))[:, 0])

    def gathered(self, few: CriticalFunctions) -> PointModels:
        """The models of the K critical functions, f the first of them, whose matrix is kept; gradient [B, K, D]."""
        return self._replace(gradient=few.gather(self.gradient), weights=few.gather(self.weights))

    def with_rows(self, is_row: Array, gradient: Array) -> PointModels:
        """The models with gradients [1, F, D] and no curvature where is_row [1, F, 1] holds; it must not for f."""
        return self._replace(
            gradient=np.where(is_row, gradient, self.gradient), weights=np.where(is_row, 0.0, self.weights)
        )

    def summed_hessian(self, factors: Array) -> Array:
        """The Hessian of sum_k factor_k q_k, with factors [B, F]: [B, D, D]."""
        made = sum_outer(self.points, (factors[:, None, :] @ self.weights)[:, 0])
        return made + factors[:, :1, None] * self.hessian[:, 0] if self.hessian.shape[1] else made

    def dense(self) -> Quadratic:
        """The same functions with a Hessian each, [B, F, D, D]."""
        made = self.points.mT[:, None] @ (self.weights[..., None] * self.points[:, None])
        made[:, : self.hessian.shape[1]] += self.hessian
        return Quadratic(self.gradient, made)

    def where(self, keep: Array, other: PointModels) -> PointModels:
        """These models in the runs where keep [B] holds, the other ones in others."""
        wide = [np.reshape(keep, (-1, *(1,) * (part.ndim - 1))) for part in self]
        return PointModels(*(np.where(k, one, two) for k, one, two in zip(wide, self, other)))

    @property
    def finite(self) -> Array:
        """Runs all of whose numbers are finite: [B]."""
        return np.isfinite(total(self.gradient, (1, 2)) + total(self.weights, (1, 2)) + total(self.hessian, (1, 2, 3)))


Models = Quadratic | PointModels


def sum_outer(u: Array, w: Array) -> Array:
    """sum_i w_i u_i u_i' of points u [B, m, D] and weights w [B, m]: [B, D, D].

    As the difference of two matrices times their own transposes, of which BLAS makes one half.
    """
    made = np.empty((u.shape[0], u.shape[2], u.shape[2]))
    for b, (points, weights) in enumerate(zip(u, w)):
        rises = weights > 0.0
        up, down = (points[part] * np.sqrt(np.abs(weights[part]))[:, None] for part in (rises, ~rises))
        made[b] = up.T @ up
        made[b] -= down.T @ down
    return made


def fit_points(
    prior: Quadratic, size: int, u: Array, y: Array, tau: Array, levels: Sequence[Array], eta: Array
) -> tuple[PointModels, Fit]:
    """The models nearest to what is worth keeping of the prior that meet y [B, m, F] at u [B, m, D], and their fit.

    u and y are steps and changes from the centre; models have `size` places for points, those left are filled up with
    0. tau [B or 1]; levels are eta of smooth functions [B or 1], then of rougher ones, and eta [B, F] says which has
    which. The prior is that of PointModels.of_f(): of constraints nothing is kept.
    """
    kept = prior.hessian.shape[1]
    p = y[..., :0]
    if kept:
        bent = u @ prior.hessian[:, 0]
        bent *= u
        p = 0.5 * total(bent)[..., None] + u @ prior.gradient.mT
    kind = CholeskyFactored if u.shape[1] >= LEAST_FACTORED else Factored
    fit = fit_weights(u, y, p, tau, levels, eta, kind)
    wt = fit.w.mT
    gradient = tau[:, None, None] * (wt @ u)
    hessian = prior.hessian
    if kept:
        gradient[:, :1] += prior.gradient * fit.kept[:, :1, None]
        hessian = hessian * fit.kept[:, :1, None, None]
        hessian += sum_outer(u, wt[:, 0])[:, None]
        wt = wt.copy()
        wt[:, 0] = 0.0
    left = size - u.shape[1]
    if left:  # a search that has not so many points yet
        u, wt = np.pad(u, ((0, 0), (0, left), (0, 0))), np.pad(wt, ((0, 0), (0, 0), (0, left)))
    return PointModels(gradient, u, wt, hessian), fit
