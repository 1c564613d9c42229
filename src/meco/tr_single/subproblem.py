"""The subproblem of a step: least predicted merit within the region (docs/trust-region.md, section 5).

The constraints are linearised, with a margin, and elastic. A second pass linearises at the first solution, where
constraints curve, and is kept if the predicted merit falls. Everything is divided by the change of f and of each
constraint across the region, so nothing has a unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meco.tr_single.merit import Merit
from meco.tr_single.options import Options
from meco.tr_single.program import Program, curvature, solve
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.small_arrays import bounded, lengths

LEAST_SLOPE = 0.05  # least change of f, in units of what its curvature makes
FLAT_CHANGE = 1e-3  # least change of a constraint, in units of its value, for its weight
ROUNDING = 1e-14  # share of a value below which a change is rounding
LEAST_LENGTH = 0.1  # of a row of the second pass, in units of the first
LARGEST_PRICE = 1e6  # of a row
SMALL_VIOLATION = 1e-3  # in units of the constraint's change: a step aims beyond the limit,
OVERSHOOT = 0.25  # by this share of it, since rounding would leave one of several limits violated for ever
MARGIN_REACH = 2.0  # margins of the second pass are for steps of up to twice the first
MANY_VARIABLES = 16  # from here on a Cholesky factor, a tenth of the cost of eigenvalues, tests for convexity first
PROXIMITY = 1e-5  # curvature added to every direction, which makes the shortest of equally good steps the solution
LARGEST_CURVATURE = 1e8  # of a model, in units of the region


class Subproblem(NamedTuple):
    """Models in units of the region, and the box of steps [D].

    value and span [F] are the values at the centre and their largest differences among the model points; margin [C] is
    kept from each constraint; f_change and changes [C] are the changes of f and the constraints across the region.
    """

    models: Quadratic
    value: np.ndarray
    span: np.ndarray
    bottom: np.ndarray
    top: np.ndarray
    n_ineq: int
    margin: np.ndarray
    f_change: float
    changes: np.ndarray

    @classmethod
    def make(
        cls, models: Quadratic, value: np.ndarray, span: np.ndarray, box: tuple[np.ndarray, np.ndarray], n_ineq: int,
        margin: np.ndarray,
    ) -> Subproblem:  # fmt: skip
        """Add the changes across the region: to first order, but that of f at least LEAST_SLOPE of its curvature."""
        noise, (first, *_) = ROUNDING * (span + np.abs(value)), models.gradient
        bent = models.hessian[0].ravel()
        flat = LEAST_SLOPE * math.sqrt(bent @ bent)
        f = max(float(np.abs(first).sum()) / math.sqrt(len(first)), flat) + noise[0]
        c = lengths(models.gradient[1:]) + noise[1:]
        return cls(models, value, span, *box, n_ineq, margin, f if f > 0.0 else 1.0, np.where(c > 0.0, c, 1.0))

    def values(self, s: np.ndarray) -> np.ndarray:
        """Predicted values at a step s [D]: [F]."""
        return self.value + self.models.change(s)


class Step(NamedTuple):
    """A step s [D] in units of the region, the predicted values there [F], and the multipliers [C]."""

    s: np.ndarray
    value: np.ndarray
    multipliers: np.ndarray


def relaxed_step(sub: Subproblem, multipliers: np.ndarray, merit: Merit, options: Options) -> Step:
    """Solve the subproblem, starting from multipliers [C]. The weights of the merit rise, (4.2) and (4.3)."""
    models, f_change, changes = sub.models, sub.f_change, sub.changes
    merit.rise(options.kappa * f_change / np.maximum(changes, FLAT_CHANGE * np.abs(sub.value[1:])))
    size, unequal = sub.value[1:] / changes, np.arange(len(changes)) < sub.n_ineq
    beyond = np.where(unequal & (size > 0.0) & (size <= SMALL_VIOLATION), OVERSHOOT * size, 0.0)
    low, margin = np.where(unequal, -np.inf, 0.0), np.where(unequal, sub.margin / changes, 0.0)
    best = Step(np.zeros_like(sub.top), sub.value, multipliers)
    s, value, slopes, hessian, before = best.s, sub.value, models.gradient, None, multipliers
    for number in range(2):
        share = 1.0 if number == 0 else min(MARGIN_REACH * float(np.abs(s).max()), 1.0)
        high = -beyond - share * margin  # model errors grow with the step
        rows = slopes[1:] / changes[:, None]
        length = np.maximum(lengths(rows), LEAST_LENGTH)
        unit = f_change / (changes * length)  # of a multiplier
        price = bounded(merit.weights / unit, options.least_price, LARGEST_PRICE)
        if hessian is None or (multipliers != before).any():  # else the Lagrangian is the same
            hessian = convexified(models.summed_hessian(np.concatenate([[1.0], multipliers])) / f_change)
            hessian.flat[:: len(hessian) + 1] += PROXIMITY * curvature(hessian)
        program = Program(
            hessian, slopes[0] / f_change, sub.bottom - s, sub.top - s, rows / length[:, None],
            value[1:] / changes / length, low, high / length, price,
        )  # fmt: skip
        d, duals = solve(program, np.where(unit > 0.0, multipliers / unit, 0.0))
        before, multipliers = multipliers, np.where(np.isfinite(duals), duals * unit, 0.0)
        merit.rise(options.multiplier_factor * np.abs(multipliers))
        s = s + d
        slopes = models.slope(s)
        value = sub.value + 0.5 * (models.gradient + slopes) @ s
        if number == 0 or merit.of(value) < merit.of(best.value):  # the first solution counts even if it looks worse
            best = Step(s, value, multipliers)
    return best._replace(multipliers=multipliers)


def convexified(hessian: np.ndarray) -> np.ndarray:
    """Replace a Hessian H = Q L Q' by |H| = Q |L| Q': [D, D]. Eigenvalues are at most LARGEST_CURVATURE."""
    h = 0.5 * (hessian + hessian.T)
    if not np.abs(h).max() < 1e100:  # nan too: an eigen-decomposition would not converge
        h = np.clip(np.nan_to_num(h), -1e100, 1e100)
    if len(h) >= MANY_VARIABLES and is_convex(h):
        return h
    values, vectors = np.linalg.eigh(h)
    return (vectors * np.minimum(np.abs(values), LARGEST_CURVATURE)) @ vectors.T


def is_convex(h: np.ndarray) -> bool:
    """Whether a symmetric matrix [D, D] is positive definite, and not too large for a model."""
    try:
        np.linalg.cholesky(h)
    except np.linalg.LinAlgError:
        return False
    return bool(h.trace() < LARGEST_CURVATURE)
