"""Quadratic models that change least: the newest values are met, what was known of curvature is kept.

Minimum Frobenius norm updating (Powell 2004, 2006), for all functions of a run at once: of all quadratics that meet
the values at m points, the one whose Hessian is nearest to the previous model's. With fewer values than unknowns the
dual form is one m by m system for all functions,

    K w = y - gamma p,    K_ij = (u_i . u_j)^2 / 2 + tau u_i . u_j + eta (1 + tau) [i = j],            (1)
    dH = sum_i w_i u_i u_i',   dg = tau sum_i w_i u_i,                                                 (2)

where tau makes the gradient nearly free and eta keeps K invertible where points coincide. K is also the covariance of
a Gaussian process over quadratics, so errors (leave-one-out) and variances (geometry) come without another fit, and
so does the share of the previous model that is still worth keeping: with p its values at the points,

    gamma = p'K^-1 y / p'K^-1 p, between 0 and 1,                                                       (3)

is what the new values make most likely of a multiple of it. Curvature that was met far away, where functions of high
order are steep, would otherwise stay in all directions that no new point tells of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from meco.core.arrays import (
    Array,
    Factored,
    add_to_diagonal,
    bounded,
    diagonals,
    namespace,
    norm,
    total,
    zeros_like,
)
from meco.tr.critical import CriticalFunctions

LIKELY_SHARE = 0.5  # gamma above which values are more likely with the previous model than without any


class Quadratic(NamedTuple):
    """Models of F functions of each run around its centre: gradient [B, F, D], hessian [B, F, D, D]."""

    gradient: Array
    hessian: Array

    @classmethod
    def zero(cls, shape: tuple[int, int, int], like: Array) -> Quadratic:
        """Models that are 0, of which nothing is known; shape is (B, F, D), in the type of like."""
        xp, made = namespace(like), {"dtype": like.dtype, "device": like.device}
        return cls(xp.zeros(shape, **made), xp.zeros((*shape, shape[-1]), **made))

    def shifted(self, step: Array) -> Quadratic:
        """The same functions around a centre that moved by step [B, D]."""
        return Quadratic(self.slope(step), self.hessian)

    def rescaled(self, unit: Array) -> Quadratic:
        """The same functions in coordinates whose units are unit [B, D] of the present ones."""
        return Quadratic(
            self.gradient * unit[:, None, :], self.hessian * (unit[:, :, None] * unit[:, None, :])[:, None, :, :]
        )

    def multiplied(self, share: Array) -> Quadratic:
        """Each function times its share [B, F]."""
        return Quadratic(self.gradient * share[..., None], self.hessian * share[..., None, None])

    def slope(self, step: Array) -> Array:
        """Gradients at a step [B, D] from the centre: [B, F, D]."""
        return self.gradient + (self.hessian @ step[:, None, :, None])[..., 0]

    def change(self, step: Array) -> Array:
        """Values at a step [B, D] from the centre, less those at the centre: [B, F]."""
        return self.change_by(step, self.slope(step))

    def change_by(self, step: Array, slope: Array) -> Array:
        """Values at a step [B, D] less those at the centre, where slopes [B, F, D] at the step are known: [B, F]."""
        return (0.5 * (self.gradient + slope) @ step[:, :, None])[..., 0]

    def changes(self, u: Array) -> Array:
        """Values at several steps u [B, m, D] from the centre, less those at the centre: [B, m, F]."""
        return (self.curvature_terms(u) + self.gradient @ u.mT).mT

    def curvature_terms(self, u: Array) -> Array:
        """u' H u / 2 of every function at steps u [B, m, D]: [B, F, m]."""
        bent = u[:, None, :, :] @ self.hessian
        bent *= u[:, None, :, :]  # F m D numbers, the most that a fit makes: not twice
        return 0.5 * total(bent)

    def where(self, keep: Array, other: Quadratic) -> Quadratic:
        """These models in the runs where keep [B] holds, the other ones in others."""
        xp = namespace(keep)
        return Quadratic(
            xp.where(keep[:, None, None], self.gradient, other.gradient),
            xp.where(keep[:, None, None, None], self.hessian, other.hessian),
        )

    def cleared(self, where: Array) -> Quadratic:
        """Models that are 0 in the runs where [B] holds, and the same in others."""
        return Quadratic.zero(self.gradient.shape, self.gradient).where(where, self)

    def second_derivatives(self) -> Array:
        """Second derivatives along each variable: [B, F, D]."""
        return diagonals(self.hessian)

    def hessian_norms(self) -> Array:
        """Frobenius norms of the Hessians: [B, F]."""
        return norm(self.hessian, (-2, -1))

    def hessian_norm_of_f(self) -> Array:
        """The Frobenius norm of the Hessian of f: [B]."""
        return norm(self.hessian[:, 0, ...], (-2, -1))

    def gathered(self, few: CriticalFunctions) -> Quadratic:
        """The models of the K critical functions: gradient [B, K, D]."""
        return Quadratic(few.gather(self.gradient), few.gather(self.hessian))

    def with_rows(self, is_row: Array, gradient: Array) -> Quadratic:
        """The models with gradients [1, F, D] and no curvature where is_row [1, F, 1] holds."""
        xp = namespace(self.gradient)
        return Quadratic(xp.where(is_row, gradient, self.gradient), xp.where(is_row[..., None], 0.0, self.hessian))

    def summed_hessian(self, factors: Array) -> Array:
        """The Hessian of sum_k factor_k q_k, with factors [B, F]: [B, D, D]."""
        xp, (runs, functions, dim, _) = namespace(factors), self.hessian.shape
        flat = xp.reshape(self.hessian, (runs, functions, dim * dim))
        return xp.reshape(factors[:, None, :] @ flat, (runs, dim, dim))

    def dense(self) -> Quadratic:
        """The models themselves: they have matrices already."""
        return self

    @property
    def finite(self) -> Array:
        """Runs all of whose numbers are finite: [B]."""
        return namespace(self.gradient).isfinite(total(self.gradient, (1, 2)) + total(self.hessian, (1, 2, 3)))


class Fit(NamedTuple):
    """What a fit leaves beside the models: points u [B, m, D], values y and w [B, m, F], K, what it kept [B, F]."""

    u: Array
    y: Array
    system: Factored  # K [B, m, m]
    w: Array
    kept: Array
    tau: Array  # [B or 1]

    def of(self, runs: np.ndarray) -> Fit:
        """The fit of the runs where [B] holds."""
        tau = self.tau if self.tau.shape[0] == 1 else self.tau[runs]
        return Fit(self.u[runs], self.y[runs], self.system.of(runs), self.w[runs], self.kept[runs], tau)


def covariance(u: Array, v: Array, tau: Array) -> Array:
    """What values at u [B, m, D] and v [B, n, D] have in common, eq. (1) without its ridge, tau [B or 1]: [B, m, n]."""
    product = u @ v.mT
    made = 0.5 * product
    made += tau[:, None, None]  # in its own memory, which beside 1,000 variables is ten megabytes
    made *= product
    return made


def least_change(
    prior: Quadratic,
    u: Array,
    y: Array,
    tau: Array,
    levels: Sequence[Array],
    eta: Array,
    curved: CriticalFunctions | None = None,
) -> tuple[Quadratic, Fit]:
    """The models nearest to what is worth keeping of the prior that meet y [B, m, F] at u [B, m, D], and their fit.

    u and y are steps and changes from the centre; a point at the centre with y = 0 carries no information, and fills a
    place that is to be left out. tau [B or 1]; levels are eta of smooth functions [B or 1], then of rougher ones, and
    eta [B, F] says which function has which. Functions that are not among the curved ones, where these are named, get
    linear models.
    """
    if curved is None:
        p = prior.changes(u)
    else:
        few = prior.gathered(curved)
        p = u @ prior.gradient.mT + curved.scatter(few.curvature_terms(u)).mT
    fit = fit_weights(u, y, p, tau, levels, eta)
    if curved is None:
        return update_models(prior, fit), fit
    wt, kept = fit.w.mT, fit.kept
    hessian = curved.scatter(few.multiplied(curved.gather(kept)).hessian + _sum_outer(curved.gather(wt), u))
    return Quadratic(prior.gradient * kept[..., None] + tau[:, None, None] * (wt @ u), hessian), fit


def update_models(prior: Quadratic, fit: Fit) -> Quadratic:
    """What a fit keeps of the prior, and what eq. (2) adds to it."""
    wt = fit.w.mT
    hessian = prior.hessian * fit.kept[..., None, None]
    hessian += _sum_outer(wt, fit.u)
    return Quadratic(prior.gradient * fit.kept[..., None] + fit.tau[:, None, None] * (wt @ fit.u), hessian)


def fit_weights(
    u: Array,
    y: Array,
    p: Array,
    tau: Array,
    levels: Sequence[Array],
    eta: Array,
    kind: type[Factored] = Factored,
) -> Fit:
    """Weights w [B, m, F] of eq. (1), and what eq. (3) keeps of previous models that say p [B, m, P] of the points.

    u [B, m, D] and y [B, m, F] are steps and changes from the centre; p is of the first P functions; tau [B or 1];
    levels are eta of smooth functions [B or 1], then of rougher ones; eta [B, F] says which function has which, and
    others count as smooth. kind is how K is factored.
    """
    xp, base = namespace(u), covariance(u, u, tau)
    system = add_ridge(base, levels[0], tau, kind, overwrite=len(levels) == 1)
    if len(levels) == 1:
        return Fit(u, y, system, *_solve_weights(system, y, p), tau)
    rough = [eta == level for level in levels[1:]]
    smooth = ~rough[0]
    for here in rough[1:]:
        smooth = smooth & ~here
    w, kept = _solve_weights_of(xp.any(smooth, axis=-1), system, 0.0, tau, y, p)
    for level, here in zip(levels[1:], rough):
        rougher, kept_there = _solve_weights_of(xp.any(here, axis=-1), kind(base), level, tau, y, p)
        w, kept = xp.where(here[:, None, :], rougher, w), xp.where(here, kept_there, kept)
    return Fit(u, y, system, w, kept, tau)


def systems_at(fit: Fit, levels: Sequence[Array]) -> Iterator[Factored]:
    """K of a fit with other ridges, one after the other, for each of the levels eta [B or 1]."""
    base = covariance(fit.u, fit.u, fit.tau)
    yield from (add_ridge(base, eta, fit.tau, type(fit.system)) for eta in levels)


def add_ridge(
    base: Array, eta: Array, tau: Array, kind: type[Factored] = Factored, *, overwrite: bool = False
) -> Factored:
    """K of eq. (1) from its part without ridge, base [B, m, m], to be factored as kind says; eta and tau [B or 1].

    overwrite=True: base is not needed any more.
    """
    return kind(add_to_diagonal(base, (eta * (1.0 + tau))[:, None], overwrite=overwrite))


def _solve_weights(system: Factored, y: Array, p: Array) -> tuple[Array, Array]:
    """w [B, m, F] of eq. (1), for values y and the previous models' p [B, m, P], and what is kept of these [B, F].

    p is of the first P functions, 0 for others. The first function, f, keeps all of its model while gamma is above a
    half, where the values are more likely with the model than without any: f is met to the last digit in a region that
    hardly moves any more, constraints are met again wherever the search goes.
    """
    xp, count, known = namespace(y), y.shape[-1], p.shape[-1]
    new = y - p if known == count else xp.concat([y[..., :known] - p, y[..., known:]], axis=-1)
    solved = system.solved(xp.concat([new, p], axis=-1))
    rest, own = solved[..., :count], solved[..., count:]
    size = total(p * own, 1)
    share = 1.0 + total(p * rest[..., :known], 1) / xp.where(size > 0.0, size, 1.0)  # eq. (3): y is p and the rest
    share = xp.where(xp.isfinite(share) & (size > 0.0), bounded(share, 0.0, 1.0), 1.0)
    f = share[:, :1]
    share = xp.concat([xp.where(f > LIKELY_SHARE, 1.0, f), share[:, 1:]], axis=-1)
    if known < count:  # of the others nothing is kept, as nothing was known
        share = xp.concat([share, 1.0 + zeros_like(y[:, 0, known:])], axis=-1)
        own = xp.concat([own, zeros_like(y[..., known:])], axis=-1)
    return rest + (1.0 - share)[:, None, :] * own, share


def _solve_weights_of(runs: Array, system: Factored, eta: float, tau: Array, y: Array, p: Array) -> tuple[Array, Array]:
    """w [B, m, F] of eq. (1) and what is kept [B, F], in the runs where [B] holds; zeros in others.

    eta is what the ridge of K lacks; tau [B or 1].
    """
    if runs.all():
        return _solve_weights(add_ridge(system.matrix, eta, tau, type(system)) if eta else system, y, p)
    w, kept = zeros_like(y), zeros_like(y[:, 0, :])
    if runs.any():
        few = system.of(runs)
        some_tau = tau if tau.shape[0] == 1 else tau[runs]
        few = add_ridge(few.matrix, eta, some_tau, type(few), overwrite=True) if eta else few
        w[runs], kept[runs] = _solve_weights(few, y[runs], p[runs])
    return w, kept


def _sum_outer(w: Array, u: Array) -> Array:
    """sum_i w_i u_i u_i' of eq. (2): [B, F, m], [B, m, D] -> [B, F, D, D]."""
    return u.mT[:, None, :, :] @ (w[..., None] * u[:, None, :, :])


def variance(fit: Fit, v: Array) -> Array:
    """How little the models know at steps v [B, n, D], in units of the fit: [B, n].

    The variance of the process of eq. (1) with amplitude 1, given the fitted points; rounding may leave it a little
    below 0 at these.
    """
    square = total(v * v)
    cross = covariance(fit.u, v, fit.tau)  # [B, m, n]
    return square * (0.5 * square + fit.tau[:, None]) - fit.system.inverse_form(cross)


def leave_one_out_r2(fit: Fit) -> Array:
    """Leave-one-out R^2 of each function: 1 - sum e_i^2 / sum (y_i - mean)^2, e_i = w_i / (K^-1)_ii; [B, F].

    At most 1; negative where the mean predicts better than the model. Where all values are the same it is
    1 - sum e_i^2. What is kept of the previous model is that of all values, the one left out among them.
    """
    xp, y = namespace(fit.y), fit.y
    error = fit.w / fit.system.inverse_diagonal[..., None]
    taken = xp.any(fit.u != 0.0, axis=-1)[..., None]  # else the centre, or a place that is not taken
    centre = xp.astype(~xp.all(taken, axis=1), y.dtype)  # [B, 1]
    mean = xp.sum(y, axis=1) / (xp.sum(xp.astype(taken, y.dtype), axis=1) + centre)
    spread = xp.where(taken, y - mean[:, None, :], 0.0)
    whole = xp.sum(spread * spread, axis=1) + centre * mean * mean
    return 1.0 - xp.sum(error * error, axis=1) / xp.where(whole > 0.0, whole, 1.0)
