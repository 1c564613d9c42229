"""What TR-ES tells a policy of its search: numbers [B] by name, computed when a decision is due.

Where a number has a unit, a range of it comes along, so that features can be free of units (tr/features.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, masked_max, masked_min, namespace, rows
from meco.core.engine import Task
from meco.core.rule import Key, best
from meco.tr.archive import PointArchive, as_evaluation
from meco.tr.merit import MERIT, beyond_tolerance
from meco.tr.proposal_counts import sum_counts
from meco.tr.proposers.offspring import default_share
from meco.tr.proposers.strategy import PendingGeneration
from meco.tr.region import Region
from meco.tr.tr_state import TrState

ACTIVE_PULL = 1e-3  # least pull of an active constraint, in shares of f's change across the region
FLAT_SLOPE = 1e-3  # least slope of a constraint that is not flat, in shares of its range per width of the cube


class LeastMeritPoint(NamedTuple):
    """The point of least merit among some: its index [B, 1], its merit [B], and whether there is one [B]."""

    index: Array
    merit: Array
    some: Array


class Ranges(NamedTuple):
    """How far the values seen so far spread: f [B], each constraint and each violation [B, C]."""

    f: Array
    g: Array
    c: Array


def best_among(merit: Array, left_out: Array) -> LeastMeritPoint:
    """The point of least merit [B, n] in each run, but for those left out [B, n]; some is False where all are."""
    xp = namespace(merit)
    index = best(Key(xp.zeros_like(merit), merit).last_where(left_out))[:, None]
    return LeastMeritPoint(index, rows(merit, index)[:, 0], ~xp.all(left_out, axis=-1))


def value_ranges(archive: PointArchive) -> Ranges:
    """Ranges of f [B] and constraints [B, C], and largest violations [B, C], of points that did not fail; else 0."""
    xp, ok = namespace(archive.x), ~archive.failed
    spread = masked_max(archive.y, ok[..., None], axis=1) - masked_min(archive.y, ok[..., None], axis=1)
    spread = xp.where(xp.isfinite(spread), spread, 0.0)
    c = xp.where(ok[..., None], archive.evaluation().c, 0.0)
    worst = xp.max(c, axis=1) if c.shape[-1] else c[:, 0, :]
    return Ranges(spread[:, 0], spread[:, 1:], worst)


def compare_restarts(archive: PointArchive, region: Region, merit: Array) -> tuple[Array, Array]:
    """How far the best since the last restart is from the best before, and how much worse its merit is: [B], [B].

    Both are 0 before the first restart.
    """
    xp = namespace(merit)
    old = archive.restart_index < region.restart_index[:, None]
    here, before = best_among(merit, old | archive.failed), best_among(merit, ~old | archive.failed)
    both = here.some & before.some
    apart = (rows(archive.x, here.index) - rows(archive.x, before.index))[:, 0, :]
    distance = xp.sqrt(xp.sum(apart * apart, axis=-1) / apart.shape[-1])
    return xp.where(both, distance, 0.0), xp.where(both, here.merit - before.merit, 0.0)


def es_lead(pending: PendingGeneration, region: Region, n_ineq: int, least: Array) -> Array:
    """How far the best of the last offspring is below the least merit [B] of all points: [B], in units of the merit.

    Negative where it is above; 0 before there are any that did not fail.
    """
    xp, ok = namespace(least), ~pending.failed
    ev = as_evaluation(pending.y, n_ineq, pending.failed)
    merit = masked_min(MERIT.total(ev.f, ev.c, region.weights), ok)
    return xp.where(xp.any(ok, axis=-1), least - merit, 0.0)


def share_of(flags: Array, like: Array) -> Array:
    """Share of the flags [B, n] that are set: [B], in the type of like [B]; 0 where n is 0."""
    xp = namespace(like)
    if not flags.shape[-1]:
        return xp.zeros_like(like)
    return xp.mean(xp.astype(flags, like.dtype), axis=-1)


@np.errstate(all="ignore")
def describe_search(task: Task, state: TrState, default_theta: Array) -> dict[str, Any]:
    """Everything of TR_FEATURE_NEEDS by name, [B] each; "counts" is a ProposalCounts. Of a search with a strategy.

    default_theta [1 or B] is what the engine's own rule would set. Changes nothing.
    """
    assert state.strategy is not None
    region, delta, n_ineq = state.region, state.region.delta, state.archive.n_ineq
    integers = 0.0 if task.integer is None else share_of(task.integer[:, 0, :], delta)
    same = {
        "dim": float(task.dim),
        "inequalities": float(n_ineq),
        "equalities": float(region.multipliers.shape[-1] - n_ineq),
        "budget": float(task.budget),
        "spent": min(1.0, state.told / task.budget),
        "default_theta": default_theta,
        "integers": integers,
    }
    every = namespace(delta).zeros_like(delta)
    return {
        **_describe_points(state, state.strategy.pending),
        **{name: every + value for name, value in same.items()},
        "default_share": default_share(region),
        "r2_f": state.r2[0],
        "r2_c": state.r2[1],
        "sigma": state.strategy.distribution.sigma,
    }


def _describe_points(state: TrState, pending: PendingGeneration) -> dict[str, Any]:
    """What points, region, counts and pending offspring say: numbers [B] by name, and the counts."""
    archive, region = state.archive, state.region
    xp, delta, ev = namespace(archive.x), region.delta, archive.evaluation()
    merit, spread = MERIT.total(ev.f, ev.c, region.weights), value_ranges(archive)
    leader, least, _ = best_among(merit, archive.failed)
    slope = xp.sqrt(xp.sum(region.models.gradient * region.models.gradient, axis=-1))  # [B, 1 + C]
    modelled = xp.any(slope > 0.0, axis=-1, keepdims=True)  # not before the first step
    pull = xp.abs(region.multipliers) * slope[:, 1:]
    active = share_of(pull > ACTIVE_PULL * slope[:, :1], delta) * (region.multipliers.shape[-1] / archive.x.shape[-1])
    c = beyond_tolerance(rows(ev.c, leader), region.weights.tolerance)[:, 0, :]
    violation = c / xp.where(spread.c > 0.0, spread.c, 1.0)
    distance, loss = compare_restarts(archive, region, merit)
    return {
        "counts": sum_counts(state.counts),
        "f": rows(ev.f, leader)[:, 0],
        "f_range": spread.f,
        "violation": xp.mean(violation, axis=-1) if violation.shape[-1] else xp.zeros_like(delta),
        "radius": delta,
        "restarts": xp.astype(region.restart_index, delta.dtype),
        "restart_distance": distance,
        "restart_loss": loss,
        "es_lead": es_lead(pending, region, archive.n_ineq, least),
        "active": active,
        "flat": share_of((slope[:, 1:] <= FLAT_SLOPE * spread.g) & modelled, delta),
    }
