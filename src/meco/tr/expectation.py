"""What is expected of the points of an iteration, and what the region becomes when their merits are known."""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, all_columns, any_columns, largest, least, maybe_any, namespace, total
from meco.tr.controls import ControlValues
from meco.tr.merit import MULTIPLIER_FACTOR, Weights, scale_weights
from meco.tr.model_fit import LocalFit
from meco.tr.region import MAX_RADIUS, PointSource, Region, judge_step, update_radius
from meco.tr.step import MAX_ROW_PRICE, Step, Subproblem, margin_cost, violations

ERROR_DECAY = 0.5  # what a step leaves of the errors before it
DEAR_SHARE = 0.9  # of the dearest price of a program: a multiplier above it is of a row that is broken all the same
CONFLICT_RADIUS = 1e-4  # of a region, below which constraints that conflict are taken to do so for good
LEAST_GAIN = 1e-3  # share of the violation that a step must promise where constraints conflict


class Expectation(NamedTuple):
    """Sources [B, k] of the points under evaluation, and what is expected of the first of them; [B] each."""

    source: Array
    restart_index: Array  # [B, k] that each belongs to
    weights: Weights  # that merits are compared with
    merit: Array  # at the centre
    value: Array  # [B, 1 + C] that the models expect
    delta: Array  # radius that it was made in
    foreseen: Array  # decrease of it
    margin_cost: Array  # what the margins of constraints cost of that
    size: Array  # of the step, as a share of the box
    f_change: Array  # across the region
    farthest: Array  # model point
    violation: Array  # [B, C] of each constraint at the centre, 0 within its tolerance
    multipliers: Array  # [B, C] of the step
    unmet: Array  # [B, C] constraints that all fitted points violate
    blind: Array  # whether no evaluation since the restart has succeeded: what is known is not of this place
    restart_weights: Array  # [B, C] weights that a restart begins with
    change: Array  # [B, C] of each constraint across the region

    @property
    def violated(self) -> Array:
        """Constraints that the centre violates: [B, C]."""
        return self.violation > 0.0


class Asked(NamedTuple):
    """What the answers to points are for: what is expected of these."""

    expectation: Expectation
    risk: Array | None = None  # [B] that the first of them fails, if failures have places; None: nothing has failed
    kept: Array | None = None  # [B] whether the region stays as it is should the first of them fail

    def of_point(self, k: int) -> Asked:
        """What the answer to point k alone is for; the risk of failure is that of point 0, None for others."""
        made = self.expectation
        one = made._replace(source=made.source[:, k : k + 1], restart_index=made.restart_index[:, k : k + 1])
        return Asked(one, self.risk if k == 0 else None, self.kept)


def make_expectation(
    local: LocalFit,
    sub: Subproblem,
    step: Step,
    before: Weights,
    source: Array,
    restart_index: Array,
    now: Array,
    foreseen: Array,
    delta: Array,
) -> Expectation:
    """What is expected of points with these sources and restarts [B, k], made from a fit, a subproblem and its step.

    now [B] is the merit at the centre, foreseen [B] its decrease by the step, delta [B] the radius. before are the
    weights that the step began with: where all since the restart have failed, nothing newer is known.
    """
    xp, by, violation = namespace(step.s), step.by, violations(sub.value, sub.n_ineq)
    return Expectation(
        source=source,
        restart_index=restart_index,
        weights=step.weights,
        merit=now,
        value=step.value,
        delta=delta,
        foreseen=foreseen,
        margin_cost=margin_cost(step.multipliers, sub.margin, sub.n_ineq),
        size=largest(xp.abs(step.s))[:, 0],
        f_change=by.f,
        farthest=local.farthest,
        violation=xp.where(violation > step.weights.tolerance, violation, 0.0),
        multipliers=step.multipliers,
        unmet=local.unmet,
        blind=local.blind,
        restart_weights=xp.where(local.blind[:, None], before.w, least_weights(step, sub)),
        change=by.c,
    )


def least_weights(step: Step, sub: Subproblem) -> Array:
    """Weights [B, C] that multipliers and scales alone ask for where a search ends, eqs. (1), (2) of merit.py."""
    xp = namespace(step.s)
    wanted = scale_weights(step.by.f, step.by.c, sub.value[:, 1:], sub.kappa)
    return xp.maximum(wanted, MULTIPLIER_FACTOR * xp.abs(step.multipliers))


def update_region(
    region: Region,
    made: Expectation,
    y: Array,
    merits: Array,
    late: Array,
    min_radius: Array,
    controls: ControlValues,
    max_radius: float = MAX_RADIUS,
    kept: Array | None = None,
    infeasible: Array | None = None,
) -> Region:
    """The region after the points of an iteration got these values y [B, k, 1 + C] and merits [B, k], inf where failed.

    late [B or 1]: every violated constraint is escalated; min_radius [B]: below it a run starts again; max_radius: how
    far the region may go along its narrowest variable; kept [B]: it does not shrink although the step failed;
    infeasible [B]: runs that have no feasible point, whose restarts look for one.
    """
    xp, source, dim = namespace(merits), made.source[:, 0], region.centre.shape[-1]
    verdict = judge_step(made.merit, merits[:, 0], made.foreseen, made.margin_cost, made.f_change, controls)
    stepped, failed = source == PointSource.STEP, xp.isinf(merits[:, 0])
    judged = stepped & ~failed
    verdict = verdict.only(judged)
    if merits.shape[1] > 1:
        better = merits < made.merit[:, None]
        rescued = any_columns(better) & ~better[:, 0]  # another point of the iteration is the next centre
        verdict = verdict._replace(poor=verdict.poor & ~rescued)
    shrunk = stepped & failed if kept is None else stepped & failed & ~kept  # else it might be asked for again
    delta = xp.where(shrunk, controls.radius_shrinkage * region.delta, region.delta)
    most = max_radius / least(region.width)[:, 0]
    delta, following = update_radius(delta, verdict, made.size, made.farthest, min_radius, most, dim, controls)
    error = update_constraint_errors(region.error, y[:, 0, 1:], made, judged)
    weights = region.weights.update_floors(made.violated, verdict.poor[:, None] & (made.unmet | late[:, None]))
    restart = source == PointSource.RESTART
    if maybe_any(restart):
        weights = weights.reset(restart, made.restart_weights)
    if infeasible is not None and maybe_any(infeasible | weights.restoring[:, 0]):
        restoring = restart & infeasible & ~made.blind
        weights = weights.restore(restoring, made.f_change, made.change, made.violation, made.delta)
        weights = weights.released(~infeasible)
        conflict = infeasible & ~weights.restoring[:, 0] & constraints_conflict(made)
        following = xp.where(conflict, PointSource.RESTART, following)
    return region._replace(
        weights=weights,
        delta=delta,
        error=error,
        next_source=following,
    )


def constraints_conflict(made: Expectation) -> Array:
    """Whether a small region has a constraint broken at the dearest price, and hardly any violation can be gained: [B].

    Then no step of these models helps.
    """
    dearest = MAX_ROW_PRICE * made.f_change[:, None] / made.change
    broken = ~all_columns(namespace(dearest).abs(made.multipliers) < DEAR_SHARE * dearest)
    hardly = made.foreseen < LEAST_GAIN * total(made.weights.w * made.violation)
    return broken & hardly & (made.delta < CONFLICT_RADIUS)


def update_constraint_errors(error: Array, c: Array, made: Expectation, judged: Array) -> Array:
    """What constraints' models miss over the squared radius [B, C]: the newest or ERROR_DECAY of the last, the larger.

    c [B, C] is what came, made what was expected; inf in error is none yet. Where judged [B] is false, or c is not
    finite, they stay.
    """
    xp = namespace(c)
    new = xp.abs(c - made.value[:, 1:]) / (made.delta * made.delta)[:, None]
    old = xp.where(xp.isinf(error), 0.0, ERROR_DECAY * error)
    return xp.where(judged[:, None] & xp.isfinite(new), xp.maximum(new, old), error)
