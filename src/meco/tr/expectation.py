"""What is expected of the points of a turn, and what the region becomes when their merits are known."""

from __future__ import annotations

from typing import NamedTuple

from meco.core.arrays import Array, largest, namespace
from meco.tr.merit import ABOVE, Weights, scale_weights
from meco.tr.model_fit import View
from meco.tr.region import OFFSPRING, RESTART, SHRINKAGE, STEP, Region, judged, next_turn
from meco.tr.step import Place, Step, violations, withheld


class Expectation(NamedTuple):
    """Who [B, k] proposed the points under evaluation, and what is expected of the first of them; [B] each."""

    who: Array
    start: Array  # [B, k] of the search that each belongs to
    weights: Weights  # that merits are compared with
    merit: Array  # at the centre
    foreseen: Array  # decrease of it
    withheld: Array  # what the margins of constraints cost of that
    width: Array  # of the step, as a share of the box
    f_change: Array  # across the region
    farthest: Array  # model point
    violated: Array  # [B, C] constraints that the centre violates
    unmet: Array  # [B, C] constraints that are kept nowhere around
    anew: Array  # [B, C] weights that a new start begins with


def expected(
    view: View, place: Place, step: Step, before: Weights, who: Array, start: Array, now: Array, foreseen: Array
) -> Expectation:
    """Of the points that `who` [B, k] proposed since start [B, k], with the merit at the centre now [B].

    before are the weights that the step began with: where all since the start have failed, nothing newer is known.
    """
    xp, by = namespace(step.s), step.by
    return Expectation(
        who,
        start,
        step.weights,
        now,
        foreseen,
        withheld(step.multipliers, by.c, place.n_ineq),
        largest(xp.abs(step.s))[:, 0],
        by.f,
        view.farthest,
        violations(place.value, place.n_ineq) > step.weights.tolerance,
        view.unmet,
        xp.where(view.blind[:, None], before.w, least_weights(step, place)),
    )


def least_weights(step: Step, place: Place) -> Array:
    """What multipliers and scales ask for where a search ends, whatever was held before; eqs. (1), (2): [B, C]."""
    xp = namespace(step.s)
    wanted = scale_weights(step.by.f, step.by.c, place.value[:, 1:])
    return xp.maximum(wanted, ABOVE * xp.abs(step.multipliers))


def after_turn(region: Region, made: Expectation, merits: Array, late: Array, narrowest: Array) -> Region:
    """Weights, radius and turn after the points of a turn got these merits [B, k], inf where one failed.

    late [B or 1] is when every violated constraint is pressed, narrowest [B] the radius below which a run starts again.
    """
    xp, who, dim = namespace(merits), made.who[:, 0], region.centre.shape[-1]
    verdict = judged(made.merit, merits[:, 0], made.foreseen, made.withheld, made.f_change)
    stepped, failed = who == STEP, xp.isinf(merits[:, 0])
    verdict = verdict.of(stepped & ~failed)
    better = merits < made.merit[:, None]
    rescued = xp.any(better, axis=-1) & ~better[:, 0]  # another point of the turn is the next centre
    verdict = verdict._replace(poor=verdict.poor & ~rescued)
    delta = xp.where(stepped & failed, SHRINKAGE * region.delta, region.delta)  # else it might be asked for again
    delta, turn = next_turn(delta, verdict, made.width, made.farthest, narrowest, dim)
    weights = region.weights.after(made.violated, verdict.poor[:, None] & (made.unmet | late[:, None]))
    return region._replace(
        weights=weights.forgotten(who == RESTART, made.anew),
        delta=delta,
        turn=xp.where(who == OFFSPRING, region.turn, turn),  # taken over: still to come
    )
