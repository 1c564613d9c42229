"""What TR-ES knows of its search beside the points: numbers [B] by name, computed when someone asks.

Where a number has a unit, a range of it comes along, so that features can be free of units (tr/features.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from meco.core.arrays import Array, masked_max, masked_min, namespace, rows
from meco.core.rule import Key, best
from meco.tr.archive import SeenPoints, as_evaluation
from meco.tr.merit import Merit, tolerated
from meco.tr.offspring import Brood
from meco.tr.proposal_counts import Tally
from meco.tr.region import Region

ACTIVE = 1e-3  # least pull of an active constraint, in shares of f's change across the region
FLAT = 1e-3  # least slope of a constraint that is not flat, in shares of its range per width of the cube


class Best(NamedTuple):
    """The point of least merit among some: its index [B, 1], its merit [B], and whether there is one [B]."""

    index: Array
    merit: Array
    some: Array


class Ranges(NamedTuple):
    """How far the values seen so far spread: f [B], each constraint and each violation [B, C]."""

    f: Array
    g: Array
    c: Array


def best_among(merit: Array, out: Array) -> Best:
    """The best of points with these merits [B, n], but for those that are out [B, n]."""
    xp = namespace(merit)
    index = best(Key(xp.zeros_like(merit), merit).last_where(out))[:, None]
    return Best(index, rows(merit, index)[:, 0], ~xp.all(out, axis=-1))


def ranges(seen: SeenPoints) -> Ranges:
    """Of all points that did not fail; 0 where none did."""
    xp, ok = namespace(seen.x), ~seen.failed
    spread = masked_max(seen.y, ok[..., None], axis=1) - masked_min(seen.y, ok[..., None], axis=1)
    spread = xp.where(xp.isfinite(spread), spread, 0.0)
    c = xp.where(ok[..., None], seen.evaluation().c, 0.0)
    worst = xp.max(c, axis=1) if c.shape[-1] else c[:, 0, :]
    return Ranges(spread[:, 0], spread[:, 1:], worst)


def ends(seen: SeenPoints, region: Region, merit: Array) -> tuple[Array, Array]:
    """How far the best of this start is from the best of earlier ones, and how much worse its merit is: [B], [B].

    Both are 0 during the first start.
    """
    xp = namespace(merit)
    old = seen.start < region.start[:, None]
    here, before = best_among(merit, old | seen.failed), best_among(merit, ~old | seen.failed)
    both = here.some & before.some
    apart = (rows(seen.x, here.index) - rows(seen.x, before.index))[:, 0, :]
    distance = xp.sqrt(xp.sum(apart * apart, axis=-1) / apart.shape[-1])
    return xp.where(both, distance, 0.0), xp.where(both, here.merit - before.merit, 0.0)


def rivalry(brood: Brood, region: Region, n_ineq: int, least: Array) -> Array:
    """How far the best of the last offspring is below the least merit [B] of all; 0 before there are any: [B]."""
    xp, ok = namespace(least), ~brood.failed
    ev = as_evaluation(brood.y, n_ineq, brood.failed)
    merit = masked_min(Merit().total(ev.f, ev.c, region.weights), ok)
    return xp.where(xp.any(ok, axis=-1), least - merit, 0.0)


def share_of(flags: Array, like: Array) -> Array:
    """Share of the flags that are set: [B, n] -> [B], 0 where there are none."""
    xp = namespace(like)
    if not flags.shape[-1]:
        return xp.zeros_like(like)
    return xp.mean(xp.astype(flags, like.dtype), axis=-1)


def of_search(seen: SeenPoints, region: Region, tally: Tally, brood: Brood) -> dict[str, Any]:
    """What points, region, tally and strategy say; [B] each, the tally as it is."""
    xp, delta, ev = namespace(seen.x), region.delta, seen.evaluation()
    merit, spread = Merit().total(ev.f, ev.c, region.weights), ranges(seen)
    leader, least, _ = best_among(merit, seen.failed)
    slope = xp.sqrt(xp.sum(region.models.gradient * region.models.gradient, axis=-1))  # [B, 1 + C]
    modelled = xp.any(slope > 0.0, axis=-1, keepdims=True)  # not before the first step
    pull = xp.abs(region.multipliers) * slope[:, 1:]
    active = share_of(pull > ACTIVE * slope[:, :1], delta) * (region.multipliers.shape[-1] / seen.x.shape[-1])
    c = tolerated(rows(ev.c, leader), region.weights.tolerance)[:, 0, :]
    violation = c / xp.where(spread.c > 0.0, spread.c, 1.0)
    distance, behind = ends(seen, region, merit)
    return {
        "tally": tally,
        "f": rows(ev.f, leader)[:, 0],
        "f_range": spread.f,
        "violation": xp.mean(violation, axis=-1) if violation.shape[-1] else xp.zeros_like(delta),
        "radius": delta,
        "starts": xp.astype(region.start, delta.dtype),
        "ends_apart": distance,
        "ends_behind": behind,
        "rivalry": rivalry(brood, region, seen.n_ineq, least),
        "active": active,
        "flat": share_of((slope[:, 1:] <= FLAT * spread.g) & modelled, delta),
    }


OF_SEARCH = (
    "tally", "f", "f_range", "violation", "radius", "starts", "ends_apart", "ends_behind", "rivalry", "active", "flat",
)  # fmt: skip
OF_TASK = (
    "dim", "inequalities", "equalities", "budget", "spent", "whole", "own_theta", "own_share", "r2_f", "r2_c", "sigma",
)  # fmt: skip
