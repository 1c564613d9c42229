"""The trust region: how a step is judged, and what radius and next proposal follow. Pure functions."""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import Array, namespace
from meco.tr.merit import Weights
from meco.tr.quadratic import Quadratic

INITIAL_RADIUS = 0.25  # in the unit cube, as all radii
MAX_RADIUS, MIN_RADIUS = 0.5, 1e-6
RADIUS_GROWTH, RADIUS_SHRINKAGE = 1.6, 0.6
GOOD_RATIO, POOR_RATIO = 0.7, 0.1  # shares of the foreseen decrease of the merit
NEGLIGIBLE_DECREASE = 1e-8  # decrease, in shares of f's change across the region, that is not worth a step
BORDER_SHARE = 0.9  # of the box, beyond which a good step asks for a larger one
FAR_RADII = 2.0  # model points farther than this many radii (times sqrt D) call for a geometry point


class Source:
    """What proposed a point: plain integers, since members of an IntEnum are no numbers to a strict array library.

    Traces and saved searches hold these numbers, and proposal_counts.py indexes by them: they stay 0 to 3.
    """

    STEP = 0  # the program of a step
    GEOMETRY = 1  # where the models know least
    RESTART = 2
    OFFSPRING = 3  # of the evolution strategy


class Region(NamedTuple):
    """What each run remembers between steps; [B] unless said otherwise. Saved searches hold these names (memory.py)."""

    centre: Array  # [B, D]
    delta: Array  # radius
    models: Quadratic  # around the centre, in the unit cube
    multipliers: Array  # [B, C]
    weights: Weights
    next_source: Array  # of the next point: STEP, GEOMETRY or RESTART
    restart_index: Array  # restarts so far


class StepVerdict(NamedTuple):
    """Steps that went as well as foreseen, steps that did not, and steps that margins limit; [B] each."""

    good: Array
    poor: Array
    limited: Array

    def only(self, which: Array) -> StepVerdict:
        """The same for some of the runs [B], nothing for the others."""
        return StepVerdict(*(part & which for part in self))


def judge_step(now: Array, then: Array, foreseen: Array, margin_cost: Array, f_change: Array) -> StepVerdict:
    """From the merit at the centre and at the step's end, the foreseen decrease, what margins cost of it, and f's
    change across the region.

    A failed evaluation (then is inf) is neither: it says nothing of the models.
    """
    xp = namespace(now)
    actual = now - then
    share = actual / xp.where(xp.abs(foreseen) > 0.0, foreseen, 1.0)
    gained = actual > 0.0
    negligible = foreseen <= NEGLIGIBLE_DECREASE * f_change
    good = gained & (share > GOOD_RATIO) & (foreseen > 0.0)
    poor = ~gained | (share < POOR_RATIO) | negligible
    return StepVerdict(good, poor & ~xp.isinf(then), foreseen < margin_cost)


def update_radius(
    delta: Array, verdict: StepVerdict, width: Array, farthest: Array, min_radius: Array, dim: int
) -> tuple[Array, Array]:
    """Radius and next source after a step of width [B], as a share of the box; farthest [B] is a model point."""
    xp = namespace(delta)
    wider = xp.where(delta * RADIUS_GROWTH < MAX_RADIUS, delta * RADIUS_GROWTH, MAX_RADIUS)
    delta = xp.where(verdict.good & (width > BORDER_SHARE), wider, delta)
    geometry = verdict.poor & (farthest > FAR_RADII * delta * math.sqrt(dim))
    delta = xp.where((verdict.poor | verdict.limited) & ~geometry, RADIUS_SHRINKAGE * delta, delta)
    source = xp.where(geometry, Source.GEOMETRY, xp.full_like(geometry, Source.STEP, dtype=xp.int64))
    source = xp.where(delta < min_radius, Source.RESTART, source)
    return delta, source
