"""The trust region: how a step is judged, and what radius and next proposal follow. Pure functions."""

from __future__ import annotations

import math
from typing import NamedTuple

from meco.core.arrays import Array, bounded, largest, least, maybe_any, mean, namespace, norm, safe_divisor
from meco.tr.controls import ControlValues
from meco.tr.merit import Weights
from meco.tr.point_models import Models

MAX_RADIUS = 0.5  # of the unit cube
MAX_FREE_RADIUS = 1e12  # where a variable lacks a bound: a region that grows for ever must not overflow
NEGLIGIBLE_DECREASE = 1e-8  # decrease, in shares of f's change across the region, that is not worth a step
LEAST_BEND = 1e-6  # curvature that counts, in shares of the largest
MAX_STRETCH = 3.0  # of a width, in units of the first one; more, and rough functions look ever more curved
BORDER_SHARE = 0.9  # of the box, beyond which a good step asks for a larger one


class PointSource:
    """What proposed a point: plain integers, since members of an IntEnum are no numbers to a strict array library.

    Traces and saved searches hold these numbers, and proposal_counts.py indexes by them: they stay 0 to 2.
    """

    STEP = 0  # the program of a step
    GEOMETRY = 1  # where the models know least
    RESTART = 2


class Region(NamedTuple):
    """What each run remembers between steps; [B] unless said otherwise. Saved searches hold these names (memory.py)."""

    centre: Array  # [B, D]
    delta: Array  # radius
    width: Array  # [B, D] of each variable: the region is |x - centre| <= delta width
    models: Models  # around the centre, in the unit cube
    multipliers: Array  # [B, C]
    weights: Weights
    next_source: Array  # of the next point: STEP, GEOMETRY or RESTART
    restart_index: Array  # restarts so far
    error: Array  # [B, C] of the models' last predictions, over the square of the radius; inf before there is one
    most: Array  # [1, D] how far it may go along each variable; inf: without limit

    @property
    def reach(self) -> Array:
        """How far the region goes along each variable: [B, D]."""
        return self.delta[:, None] * self.width_in_force

    @property
    def width_in_force(self) -> Array:
        """Widths [B, D] by which distances are measured: less where a large radius would leave the box."""
        return namespace(self.width).minimum(self.width, self.most / self.delta[:, None])


class StepVerdict(NamedTuple):
    """Steps that went as well as foreseen, steps that did not, and steps that margins limit; [B] each."""

    good: Array
    poor: Array
    limited: Array

    def only(self, which: Array) -> StepVerdict:
        """The verdict in the runs of which [B] holds; nothing for the others."""
        return StepVerdict(self.good & which, self.poor & which, self.limited & which)


def judge_step(
    now: Array, then: Array, foreseen: Array, margin_cost: Array, f_change: Array, controls: ControlValues
) -> StepVerdict:
    """How a step went, by the merit at the centre now, at its end then, and the decrease foreseen; [B] each.

    margin_cost [B] is what margins cost of that, f_change [B] f's change across the region, below NEGLIGIBLE_DECREASE
    of which a step is poor. A failed evaluation (then is inf) is neither good nor poor: it says nothing of the models.
    """
    xp = namespace(now)
    actual = now - then
    share = actual / xp.where(xp.abs(foreseen) > 0.0, foreseen, 1.0)
    gained = actual > 0.0
    negligible = foreseen <= NEGLIGIBLE_DECREASE * f_change
    good = gained & (share > controls.good_ratio) & (foreseen > 0.0)
    poor = ~gained | (share < controls.poor_ratio) | negligible
    return StepVerdict(good, poor & ~xp.isinf(then), foreseen < margin_cost)


def update_radius(
    delta: Array,
    verdict: StepVerdict,
    size: Array,
    farthest: Array,
    min_radius: Array,
    max_radius: Array,
    dim: int,
    controls: ControlValues,
) -> tuple[Array, Array]:
    """Radius [B] and next source [B] after a step of size [B], in radii along its longest variable.

    A good step to the border widens the region up to max_radius [B]. A poor one calls for a geometry point where a
    model point, farthest [B], is far away, else it narrows the region; below min_radius [B] comes a restart.
    """
    xp = namespace(delta)
    wider = xp.minimum(delta * controls.radius_growth, max_radius)
    delta = xp.where(verdict.good & (size > BORDER_SHARE), wider, delta)
    geometry = verdict.poor & (farthest > controls.far_radii * delta * math.sqrt(dim))
    delta = xp.where((verdict.poor | verdict.limited) & ~geometry, controls.radius_shrinkage * delta, delta)
    source = PointSource.STEP + xp.zeros(delta.shape, dtype=xp.int64, device=delta.device)
    source = xp.where(geometry, PointSource.GEOMETRY, source)
    source = xp.where(delta < min_radius, PointSource.RESTART, source)
    return delta, source


def shape_region(region: Region, first: Array, rate: Array) -> Array:
    """Widths [B, D] that follow the curvature of the models by a rate [B or 1], near the first ones [B, D].

    Where every function is nearly linear along a variable, models hold farther: the width that they ask for is the
    inverse root of the largest curvature, each in units of what its function changes by across the region.
    """
    xp = namespace(region.delta)
    if not maybe_any(rate > 0.0):
        return region.width
    models = region.models.rescaled(region.reach)
    bend = xp.abs(models.second_derivatives())  # [B, F, D]
    change = norm(models.gradient) + models.hessian_norms()
    bend = largest(bend / safe_divisor(change)[..., None], 1, keepdims=False)  # [B, D]
    bend = xp.maximum(bend, LEAST_BEND * largest(bend))
    known = least(bend) > 0.0
    bend = xp.log(xp.where(known, bend, 1.0))
    turn = bounded(0.5 * rate[:, None] * (mean(bend) - bend), -math.log(2.0), math.log(2.0))
    share = bounded(region.width / first * xp.exp(turn), 1.0 / MAX_STRETCH, MAX_STRETCH)
    return first * share
