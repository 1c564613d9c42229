"""One step: where the models, inside the region and under relaxed constraints, expect the least.

The Byrd-Omojokun relaxation (Omojokun 1989) with its share theta as an option: linearised constraints may keep

    g_i <= theta max(g_i(c), 0) - margin_i,   |h_j| <= theta |h_j(c)|,                                  (1)

of the violation at the centre c. The margin makes the search end on the feasible side: it shrinks with the region, and
with a short step. A violation too small to be relaxed is answered with a quarter of it on the other side: aimed at
several limits exactly, a point violates one of them by rounding for ever. A second pass linearises at the first answer,
where constraints curve, and is kept if the models' merit falls.

Everything is divided by what f and each constraint change by across the region, so nothing has a unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meco.tr_single.merit import Merit, scale_weights
from meco.tr_single.options import Options
from meco.tr_single.program import Program, solve
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.small_arrays import bounded, lengths

LEAST_SLOPE = 0.05  # change of f that counts, in shares of what its curvature makes
ROUNDING = 1e-14  # share of a value below which its changes are noise
LEAST_LENGTH = 0.1  # of a row of a second pass, in units of the first one's
MARGIN_REACH = 2.0  # steps by which the first answer may be passed when margins are set anew
MANY_VARIABLES = 16  # beyond which a Cholesky factor, a tenth of the eigenvalues, tells first that there is no need
LARGEST_CURVATURE = 1e8  # beyond it, in units of the region, a model is broken


class Subproblem(NamedTuple):
    """What a step solves: models in radii around the centre, its values and their spans [1 + C], the box of steps [D].

    margin [C] is what a step keeps off each constraint; f_change and changes [C] are across the region.
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
        """A subproblem with its scales: changes to first order, but f's at least LEAST_SLOPE of its curvature's."""
        noise, (first, *_) = ROUNDING * (span + np.abs(value)), models.gradient
        bent = models.hessian[0].ravel()
        flat = LEAST_SLOPE * math.sqrt(bent @ bent)
        f = max(float(np.abs(first).sum()) / math.sqrt(len(first)), flat) + noise[0]
        c = lengths(models.gradient[1:]) + noise[1:]
        return cls(models, value, span, *box, n_ineq, margin, f if f > 0.0 else 1.0, np.where(c > 0.0, c, 1.0))

    def values(self, s: np.ndarray) -> np.ndarray:
        """What the models expect of a step s [D]: [1 + C]."""
        return self.value + self.models.change(s)


class Step(NamedTuple):
    """A step s [D] in radii, what the models expect there [1 + C], and the multipliers [C]."""

    s: np.ndarray
    value: np.ndarray
    multipliers: np.ndarray


def relaxed_step(sub: Subproblem, theta: float, multipliers: np.ndarray, merit: Merit, options: Options) -> Step:
    """The step of the models in the region, from the last multipliers [C]; the weights of the merit rise."""
    models, f_change, changes, n_ineq = sub.models, sub.f_change, sub.changes, sub.n_ineq
    merit.rise(scale_weights(options.kappa, f_change, changes, sub.value[1:]))
    low, high = relaxed_limits(sub.value[1:] / changes, theta, n_ineq, options)
    margin = sub.margin / changes
    best = Step(np.zeros_like(sub.top), sub.value, multipliers)
    s, value, slopes, hessian, before = best.s, sub.value, models.gradient, None, multipliers
    for number in range(options.linearisations):
        share = 1.0 if number == 0 else min(MARGIN_REACH * float(np.abs(s).max()), 1.0)
        most = high.copy()
        most[:n_ineq] -= share * margin[:n_ineq]  # errors grow with the step: one that is short needs less of a margin
        rows = slopes[1:] / changes[:, None]
        length = np.maximum(lengths(rows), LEAST_LENGTH)
        price = bounded(merit.weights * changes * length / f_change, options.least_price, options.largest_price)
        if hessian is None or (multipliers != before).any():  # else the Lagrangian is the same
            hessian = convexified(models.summed_hessian(np.concatenate([[1.0], multipliers])) / f_change)
        unit = f_change / (changes * length)  # of a multiplier
        program = Program(
            hessian, slopes[0] / f_change, sub.bottom - s, sub.top - s, rows / length[:, None],
            value[1:] / changes / length, low / length, most / length, price,
        )  # fmt: skip
        d, duals = solve(program, np.where(unit > 0.0, multipliers / unit, 0.0))
        before, multipliers = multipliers, np.where(np.isfinite(duals), duals * unit, 0.0)
        merit.rise(options.multiplier_factor * np.abs(multipliers))
        moved = s + d
        slopes = models.slope(moved)
        value = sub.value + 0.5 * (models.gradient + slopes) @ moved
        if number == 0 or merit.of(value) < merit.of(best.value):  # the first answer counts even if it looks worse
            best = Step(moved, value, multipliers)
        s = moved
    return best._replace(multipliers=multipliers)


def relaxed_limits(size: np.ndarray, theta: float, n_ineq: int, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest values [C] that constraints may come to, eq. (1) without margins, in units of their changes.

    size [C] are the values at the centre. Violations below least_relaxed are not relaxed, or they would never end.
    """
    far = np.abs(size) > options.least_relaxed
    left = np.where(far, theta * np.abs(size), 0.0)
    high = np.where(size > 0.0, np.where(far, left, -options.overshoot * size), 0.0)
    high[n_ineq:] = left[n_ineq:]
    low = np.where(np.arange(len(size)) < n_ineq, -np.inf, -left)
    return low, high


def convexified(hessian: np.ndarray) -> np.ndarray:
    """|H| of a Hessian [D, D]: its eigenvalues keep their size, up to LARGEST_CURVATURE, and lose their sign."""
    h = 0.5 * (hessian + hessian.T)
    if not np.abs(h).max() < 1e100:  # nan too: an eigen-decomposition would not converge
        h = np.clip(np.nan_to_num(h), -1e100, 1e100)
    if len(h) >= MANY_VARIABLES and is_convex(h):
        return h
    values, vectors = np.linalg.eigh(h)
    return (vectors * np.minimum(np.abs(values), LARGEST_CURVATURE)) @ vectors.T


def is_convex(h: np.ndarray) -> bool:
    """Whether a symmetric matrix [D, D] has positive eigenvalues alone, and no broken ones."""
    try:
        np.linalg.cholesky(h)
    except np.linalg.LinAlgError:
        return False
    return bool(h.trace() < LARGEST_CURVATURE)
