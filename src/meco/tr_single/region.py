"""The trust region: where it is, how a step is judged, and what radius and next point follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from meco.tr_single.merit import Merit
from meco.tr_single.options import Options
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.small_arrays import bounded, lengths

LEAST_BEND = 1e-6  # curvature that counts, in shares of the largest
TINY = float(np.finfo(float).tiny)


class Source(Enum):
    """What proposed a point."""

    STEP = 0
    GEOMETRY = 1
    RESTART = 2


@dataclass
class Region:
    """|x - centre| <= radius width, the models around the centre, and what they missed lately.

    width [D] begins as first_width; most [D] is how far a region may go. error [C] is over the square of the radius,
    inf before there is one; multipliers [C] are those of the last step.
    """

    centre: np.ndarray
    radius: float
    width: np.ndarray
    first_width: np.ndarray
    most: np.ndarray
    models: Quadratic
    multipliers: np.ndarray
    error: np.ndarray
    next: Source = Source.STEP
    restart: int = 0

    @property
    def widths(self) -> np.ndarray:
        """Widths by which distances are measured: less where a large radius would leave the box."""
        return np.minimum(self.width, self.most / self.radius)

    @property
    def reach(self) -> np.ndarray:
        """How far the region goes along each variable: [D]."""
        return self.radius * self.widths

    def follow_curvature(self, options: Options) -> None:
        """Change widths towards the inverse root of the largest curvature along each variable, by a little.

        Where every function is nearly linear along a variable, models hold farther.
        """
        models = self.models.rescaled(self.reach)
        bend = np.abs(np.diagonal(models.hessian, axis1=1, axis2=2))
        change = lengths(models.gradient) + lengths(models.hessian.reshape(len(models.hessian), -1))
        bend = (bend / np.maximum(change, TINY)[:, None]).max(axis=0)
        bend = np.maximum(bend, LEAST_BEND * bend.max())
        if not bend.min() > 0.0:
            return
        bend = np.log(bend)
        turn = bounded(0.5 * options.shaping * (bend.sum() / len(bend) - bend), -math.log(2.0), math.log(2.0))
        stretch = self.width / self.first_width * np.exp(turn)
        most = options.largest_stretch
        self.width = self.first_width * bounded(stretch, 1.0 / most, most)

    def begin_again(self, options: Options) -> None:
        """A restart: nothing is known of its place."""
        self.restart += 1
        self.radius = options.initial_radius
        self.models = Quadratic.zero(*self.models.gradient.shape)
        self.multipliers, self.error = np.zeros_like(self.multipliers), np.full_like(self.error, np.inf)


class Expectation(NamedTuple):
    """What is expected of the point under evaluation, and what is known where it was made."""

    source: Source
    restarts: np.ndarray  # [k] that each point belongs to
    merit: float  # at the centre
    value: np.ndarray  # [1 + C] that the models expect
    foreseen: float  # decrease of the merit
    margin_cost: float  # what margins cost of that
    size: float  # of the step, in radii along its longest variable
    radius: float  # that it was made in
    farthest: float  # model point
    f_change: float  # across the region
    changes: np.ndarray  # [C] of each constraint
    violation: np.ndarray  # [C] at the centre, 0 within the tolerance
    conflict: bool  # whether constraints conflict here for good
    unmet: np.ndarray  # [C] constraints that all fitted points violate
    blind: bool  # whether no point since the restart has succeeded
    restart_weights: np.ndarray  # [C] that a restart begins with


def update_radius(
    region: Region, made: Expectation, merits: np.ndarray, limits: tuple[float, float], options: Options
) -> bool:
    """Change the radius, and what comes next, by the merits [k] of points, inf where they failed.

    A good step to the border widens the region, up to the larger of the limits. A poor one calls for a geometry point
    where a model point is far away, else it narrows the region; below the smaller comes a restart. True: it was poor.
    """
    poor, shrink, then = False, False, float(merits[0])
    region.next = Source.STEP
    if made.source is Source.STEP and then == math.inf:
        shrink = True
    elif made.source is Source.STEP:
        gained, ratio = made.merit - then, (made.merit - then) / (made.foreseen or 1.0)
        poor = gained <= 0.0 or ratio < options.poor_ratio or made.foreseen <= options.negligible * made.f_change
        poor = poor and not (gained <= 0.0 and (merits < made.merit).any())  # another point is the next centre
        if gained > 0.0 and ratio > options.good_ratio and made.foreseen > 0.0 and made.size > options.border:
            region.radius = min(options.radius_growth * region.radius, limits[1] / region.width.min())
        if poor and made.farthest > options.far_radii * region.radius * math.sqrt(len(region.centre)):
            region.next = Source.GEOMETRY
        else:
            shrink = poor or made.foreseen < made.margin_cost
    if shrink:
        region.radius *= options.radius_shrinkage
    if region.radius < limits[0]:
        region.next = Source.RESTART
    return poor


def update_errors(region: Region, made: Expectation, c: np.ndarray, options: Options) -> None:
    """What constraints' models miss over the squared radius: the newest, or part of the last, the larger."""
    new = np.abs(c - made.value[1:]) / made.radius**2
    old = np.where(np.isinf(region.error), 0.0, options.error_decay * region.error)
    region.error = np.where(np.isfinite(new), np.maximum(new, old), region.error)


def update_weights(region: Region, merit: Merit, made: Expectation, poor: bool, late: bool, options: Options) -> None:
    """Escalate violated constraints after a poor step; a restart begins with its own weights."""
    escalated = poor & (made.unmet | late)
    merit.escalate(made.violation > 0.0, escalated, options.weight_growth, options.floor_decay)
    if made.source is Source.RESTART:
        merit.restart(made.restart_weights)
