"""One step: where the models, inside the region and under relaxed constraints, expect the least.

The Byrd-Omojokun relaxation (Omojokun 1989) with its share theta as a control: linearised constraints may keep

    g_i <= theta max(g_i(c), 0) - margin s_i,   |h_j| <= theta |h_j(c)|,                                (1)

of the violation at the centre c. theta = 0 asks for full feasibility at once, theta = 1 only for not getting worse.
The margin, a share of what g_i changes by across the region, makes the search end on the feasible side: it shrinks
with the region, and with a short step. A violation too small to be relaxed is answered with a quarter of it on the
other side: aimed at several limits exactly, a point violates one of them by rounding for ever. A second pass
linearises at the first answer, where constraints curve, and is kept if the models' merit falls.

Everything is divided by what f and each constraint change by across the region, so nothing has a unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import Array, all_columns, bounded, known_all, largest, namespace, norm, rows, total, zeros_like
from meco.tr.critical import CriticalFunctions
from meco.tr.curvature import convexify
from meco.tr.elastic_program import Rows
from meco.tr.large_curvature import find_curvature
from meco.tr.large_program import solve_large_program
from meco.tr.merit import MERIT, MULTIPLIER_FACTOR, Weights, scale_weights
from meco.tr.point_models import Models, PointModels
from meco.tr.program import solve_program
from meco.tr.run_subsets import put_runs, take_runs

LINEARISATIONS = 2  # a third would need the slopes where the step stayed, and has those of where it might have moved
LEAST_RELAXED = 1e-3  # violation that is relaxed, in shares of what the constraint changes by across the region
OVERSHOOT = 0.25  # share of a violation too small to be relaxed by which the next step goes beyond the limit
MARGIN_REACH = 2.0  # steps by which the first answer may be passed when margins are set anew
MIN_ROW_PRICE = 30.0  # of breaking a row: in units where rows and the gradient have length one
MAX_ROW_PRICE = 1e6
MIN_ROW_LENGTH = 0.1  # row of a second pass, in units of the first one's
LEAST_SLOPE = 0.05  # change of f that counts, in shares of what its curvature makes
ROUNDING = 1e-14  # share of a value below which its changes are noise


class Subproblem(NamedTuple):
    """What a step solves: models in units of the radius, values [B, 1 + C] at the centre, and the box of steps [B, D].

    normal [B, D] and distance [B]: a plane beside failures, in radii, which steps s keep to: normal . s <= distance. Of
    runs without one the distance is inf, and the normal 0.
    """

    models: Models
    value: Array
    span: Array  # [B, 1 + C] largest change among the fitted points
    low: Array
    high: Array
    normal: Array
    distance: Array
    n_ineq: int
    margin: Array  # [B, C] distance that a step keeps from each constraint
    kappa: Array  # [B or 1]
    memory: Array  # [B or 1] share of the last multipliers that is kept
    critical: CriticalFunctions | None = None  # functions that the step depends on; None: all

    def values(self, s: Array) -> Array:
        """What the models expect of a step s [B, D]: [B, 1 + C]."""
        return self.value + self.models.change(s)


class Scales(NamedTuple):
    """What f [B] and the constraints [B, C] change by across the region."""

    f: Array
    c: Array


class Step(NamedTuple):
    """A step s [B, D] in radii, what the models expect there [B, 1 + C], multipliers [B, C] and the merit's weights.

    by is what the functions change by across the region.
    """

    s: Array
    value: Array
    multipliers: Array
    weights: Weights
    by: Scales


def scales(sub: Subproblem) -> Scales:
    """Changes of f [B] and constraints [B, C] across the region to first order, kept above rounding.

    f's is at least LEAST_SLOPE of what its curvature makes. A function that is 0 all around has 1.
    """
    xp, gradient = namespace(sub.value), sub.models.gradient
    noise = ROUNDING * (sub.span + xp.abs(sub.value))
    f = total(xp.abs(gradient[:, 0, :])) / math.sqrt(gradient.shape[-1])
    least = LEAST_SLOPE * sub.models.hessian_norm_of_f()
    f = xp.where(f > least, f, least) + noise[:, 0]  # at a minimum of f its curvature is all there is
    c = norm(gradient[:, 1:, :]) + noise[:, 1:]
    return Scales(xp.where(f > 0.0, f, 1.0), xp.where(c > 0.0, c, 1.0))  # a function that is 0 all around has no unit


def relaxed_limits(value: Array, theta: Array, n_ineq: int, by: Array) -> tuple[Array, Array]:
    """Lowest and highest values [B, C] that constraints may come to, eq. (1), in units of their changes by [B, C].

    value [B, C] are those at the centre, theta [B] the share that may stay. Margins are not in them yet.
    """
    xp = namespace(value)
    size = xp.abs(value) / by
    left = xp.where(size > LEAST_RELAXED, theta[:, None] * size, 0.0)  # else violations shrink for ever and never end
    # aimed at the limit itself, a point lies on either side of it by rounding, and never on the right one of several
    beyond = xp.where(size > LEAST_RELAXED, 0.0, OVERSHOOT * size)
    g, h = (left - beyond)[:, :n_ineq], left[:, n_ineq:]
    high = xp.where(value[:, :n_ineq] > 0.0, g, 0.0)
    return xp.concat([zeros_like(g) - xp.inf, -h], axis=1), xp.concat([high, h], axis=1)


def keep_margins(high: Array, margin: Array, n_ineq: int) -> Array:
    """Highest values [B, C] less the margins [B, C] of the inequalities, in the same units."""
    if high.shape[1] == n_ineq:
        return high - margin
    return namespace(high).concat([high[:, :n_ineq] - margin[:, :n_ineq], high[:, n_ineq:]], axis=1)


def margin_cost(multipliers: Array, margin: Array, n_ineq: int) -> Array:
    """What the margins [B, C] keep from f to first order: sum_i |lambda_i| margin_i over the inequalities, [B]."""
    return total(namespace(margin).abs(multipliers[:, :n_ineq]) * margin[:, :n_ineq])


def merit(y: Array, n_ineq: int, weights: Weights) -> Array:
    """Merit of values y [B, 1 + C] of one point of each run: [B]."""
    return MERIT.total(y[:, :1], violations(y, n_ineq)[:, None, :], weights)[:, 0]


def violations(y: Array, n_ineq: int) -> Array:
    """(max(g, 0), |h|) of values y [B, 1 + C]: [B, C]."""
    xp, g = namespace(y), y[:, 1 : 1 + n_ineq]
    above = xp.where(g > 0.0, g, 0.0)
    return xp.concat([above, xp.abs(y[:, 1 + n_ineq :])], axis=1) if y.shape[1] > 1 + n_ineq else above


def relaxed_step(sub: Subproblem, theta: Array, multipliers: Array, weights: Weights) -> Step:
    """The step of the models in the region, with theta [B] of the violation allowed to stay.

    multipliers [B, C] and weights are those of the last step: the program starts from the first, and the merit's
    weights only rise. Constraints that are not critical have no multipliers, and keep their weights.
    """
    few = sub.critical
    if few is None:
        return _solve_step(sub, theta, multipliers, weights)
    xp = namespace(theta)
    tolerance = xp.zeros_like(weights.w) + weights.tolerance
    known, w, floor, tolerance = (
        rows(part, few.index[:, 1:] - 1) for part in (multipliers, weights.w, weights.floor, tolerance)
    )
    part = sub._replace(
        models=sub.models.gathered(few),
        value=few.gather(sub.value),
        span=few.gather(sub.span),
        n_ineq=few.n_ineq,
        critical=None,
        margin=rows(sub.margin, few.index[:, 1:] - 1),
    )
    step = _solve_step(part, theta, known, Weights(w, floor, tolerance, weights.restoring))
    return Step(
        step.s,
        sub.values(step.s),
        few.merge(step.multipliers, xp.zeros_like(multipliers)),
        weights._replace(w=few.merge(step.weights.w, weights.w)),
        scales(sub),
    )


def _solve_step(sub: Subproblem, theta: Array, multipliers: Array, weights: Weights) -> Step:
    """The step where every function takes part: the best of LINEARISATIONS programs, each at the last one's answer.

    Arguments as in relaxed_step(): theta [B], multipliers [B, C] to begin with, and weights, which rise. Multipliers
    that are not finite become 0.
    """
    xp, by, large = namespace(theta), scales(sub), isinstance(sub.models, PointModels)
    weights = weights.raised(scale_weights(by.f, by.c, sub.value[:, 1:], sub.kappa))
    s, value, slopes, bent, before = zeros_like(sub.low), sub.value, sub.models.gradient, None, multipliers
    (low, most), margin = relaxed_limits(sub.value[:, 1:], theta, sub.n_ineq, by.c), sub.margin
    for number in range(LINEARISATIONS):
        if number > 0:  # errors grow with the step: one that is short needs less of a margin
            size = bounded(MARGIN_REACH * largest(xp.abs(s)), 0.0, 1.0)
            margin = sub.margin * size
        high = keep_margins(most, margin / by.c, sub.n_ineq)
        lines, length = _linearise_rows(sub, s, value, slopes, by, low, high, weights)
        slope = slopes[:, 0, :] / by.f[:, None]
        if bent is None or not (large or known_all(multipliers == before)):  # else the Lagrangian is the same
            factors = xp.concat([1.0 / by.f[:, None], multipliers / by.f[:, None]], axis=1)
            if large:
                bent = find_curvature(sub.models.summed_hessian(factors), slope)
            else:
                bent = _bend(sub.models, factors, bent, multipliers == before)
        unit = by.f[:, None] / (by.c * length)  # of a multiplier
        usable = unit > 0.0  # it may underflow
        known = xp.where(usable, multipliers / xp.where(usable, unit, 1.0), 0.0)
        known = xp.concat([known, zeros_like(slope[:, :1])], axis=1)
        d, dual = (solve_large_program if large else solve_program)(
            bent, slope, lines, sub.low - s, sub.high - s, known
        )
        found = dual[:, :-1] * unit
        kept, found = sub.memory[:, None] * multipliers, xp.where(xp.isfinite(found), found, 0.0)
        before, multipliers = multipliers, kept + (1.0 - sub.memory[:, None]) * found
        weights = weights.raised(MULTIPLIER_FACTOR * xp.abs(multipliers))
        moved = s + d
        slopes = sub.models.slope(moved)
        predicted = sub.value + sub.models.change_by(moved, slopes)
        if number == 0:  # the first answer is evaluated even if the models expect it to be worse
            s, value = moved, predicted
        else:
            better = (merit(predicted, sub.n_ineq, weights) < merit(value, sub.n_ineq, weights))[:, None]
            s, value = xp.where(better, moved, s), xp.where(better, predicted, value)
    return Step(s, value, multipliers, weights, by)


def _bend(models: Models, factors: Array, known: Array | None, same: Array) -> Array:
    """The convex curvature [B, D, D] of sum_k factor_k q_k, with factors [B, 1 + C].

    Leaves out the runs whose multipliers are all the same [B, C] as those that gave what is known [B, D, D].
    """
    if known is None:
        return convexify(models.summed_hessian(factors))
    changed = ~all_columns(same)
    models, factors = take_runs((models, factors), changed)
    return put_runs(known, convexify(models.summed_hessian(factors)), changed)


def _linearise_rows(
    sub: Subproblem, s: Array, value: Array, slopes: Array, by: Scales, low: Array, high: Array, weights: Weights
) -> tuple[Rows, Array]:
    """Constraints linearised at s [B, D] as rows [B, C + 1] of length about one, and their lengths [B, C].

    value [B, 1 + C] and slopes [B, 1 + C, D] are those at s; low and high [B, C] the limits in units of `by`. The last
    row keeps off failures. Prices are the weights, between MIN_ROW_PRICE and MAX_ROW_PRICE.
    """
    xp = namespace(s)
    matrix = slopes[:, 1:, :] / by.c[..., None]
    length = norm(matrix)
    length = xp.where(length > MIN_ROW_LENGTH, length, MIN_ROW_LENGTH)
    price = weights.w * by.c * length / by.f[:, None]
    price = xp.where(price > MIN_ROW_PRICE, xp.where(price < MAX_ROW_PRICE, price, MAX_ROW_PRICE), MIN_ROW_PRICE)
    gone = total(sub.normal * s)[:, None]
    last = 1.0 + zeros_like(gone)
    lines = Rows(
        xp.concat([matrix / length[..., None], sub.normal[:, None, :]], axis=1),
        xp.concat([value[:, 1:] / by.c / length, gone], axis=1),
        xp.concat([low / length, -xp.inf * last], axis=1),
        xp.concat([high / length, sub.distance[:, None]], axis=1),
        xp.concat([price, MIN_ROW_PRICE * last], axis=1),
    )
    return lines, length
