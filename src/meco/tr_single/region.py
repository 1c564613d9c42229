"""The trust region: its centre, radius and widths, and how a step changes them (docs/trust-region.md, section 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from meco.tr_single.options import Options
from meco.tr_single.quadratic import Quadratic
from meco.tr_single.small_arrays import bounded, lengths

BORDER = 0.9  # share of the region beyond which a good step enlarges it
NEGLIGIBLE = 1e-8  # predicted decrease, in f's change across the region, that is not worth a step
LEAST_CURVATURE = 1e-6  # of a variable, in units of the largest
LARGEST_STRETCH = 3.0  # of a width, in units of the first one
ERROR_MEMORY = 0.5  # share of the previous model errors that stays
TINY = float(np.finfo(float).tiny)


class Source(Enum):
    """Kind of a proposed point."""

    STEP = 0
    GEOMETRY = 1
    RESTART = 2


class Prediction(NamedTuple):
    """What was predicted of the points under evaluation."""

    source: Source
    merit: float = 0.0  # at the centre
    value: np.ndarray = np.zeros(0)  # [F] at the first point
    decrease: float = 0.0  # of the merit
    radius: float = 0.0
    size: float = 0.0  # of the step, in radii along its longest variable
    farthest: float = 0.0  # distance of the farthest model point, in widths
    f_change: float = 0.0  # change of f across the region
    changes: np.ndarray = np.zeros(0)  # [C] change of each constraint
    margin_cost: float = 0.0  # what the margins cost of the decrease


@dataclass
class Region:
    """The box |x - centre| <= radius * widths, and what is known about it.

    width [D] begins as first_width; most [D] is the largest half-width of the box. error [C] is the last model error
    over the squared radius, inf before there is one; multipliers [C] are those of the last step.
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
        """Widths [D], less where the region would exceed `most`."""
        return np.minimum(self.width, self.most / self.radius)

    @property
    def reach(self) -> np.ndarray:
        """Half-widths of the box [D]."""
        return self.radius * self.widths

    def begin_again(self, options: Options) -> None:
        """Start a new region of which nothing is known."""
        self.restart += 1
        self.radius, self.next = options.initial_radius, Source.STEP
        self.models = Quadratic.zero(*self.models.gradient.shape)
        self.multipliers, self.error = np.zeros_like(self.multipliers), np.full_like(self.error, np.inf)

    def follow_curvature(self, options: Options) -> None:
        """Move the widths a little towards the inverse root of the largest curvature along each variable, (6.3).

        Models hold farther along a variable where all functions are nearly linear.
        """
        models = self.models.rescaled(self.reach)
        curvature = np.abs(np.diagonal(models.hessian, axis1=1, axis2=2))
        change = lengths(models.gradient) + lengths(models.hessian.reshape(len(models.hessian), -1))
        curvature = (curvature / np.maximum(change, TINY)[:, None]).max(axis=0)
        curvature = np.maximum(curvature, LEAST_CURVATURE * curvature.max())
        if not curvature.min() > 0.0:
            return
        log = np.log(curvature)
        turn = bounded(0.5 * options.shaping * (log.sum() / len(log) - log), -math.log(2.0), math.log(2.0))
        stretch = self.width / self.first_width * np.exp(turn)
        self.width = self.first_width * bounded(stretch, 1.0 / LARGEST_STRETCH, LARGEST_STRETCH)

    def update_radius(
        self, made: Prediction, merits: np.ndarray, limits: tuple[float, float], options: Options
    ) -> None:
        """Set the radius and the next source, by the merits [k] of the points, inf where they failed; (6.1), (6.2).

        limits are the radius below which the search restarts, and the largest one.
        """
        self.next = Source.STEP
        if made.source is Source.STEP:
            actual, failed = made.merit - merits[0], math.isinf(merits[0])
            good = actual > options.good_ratio * made.decrease > 0.0
            poor = not actual > 0.0 or actual < options.poor_ratio * made.decrease
            poor = poor or made.decrease <= NEGLIGIBLE * made.f_change
            if poor and not actual > 0.0 and (merits < made.merit).any():  # another point is the next centre
                poor = False
            far = made.farthest > options.far_radii * self.radius * math.sqrt(len(self.centre))

            if good and made.size > BORDER:
                self.radius = min(options.radius_growth * self.radius, limits[1] / self.width.min())
            if poor and far and not failed:
                self.next = Source.GEOMETRY  # a far model point leaves the verdict in doubt
            elif poor or failed or made.decrease < made.margin_cost:
                self.radius *= options.radius_shrinkage
        if self.radius < limits[0]:
            self.next = Source.RESTART

    def update_errors(self, made: Prediction, c: np.ndarray) -> None:
        """Update the model errors of constraints, by their values c [C] at the predicted point; (5.3)."""
        missed = np.abs(c - made.value[1:]) / made.radius**2
        left = np.where(np.isinf(self.error), 0.0, ERROR_MEMORY * self.error)
        self.error = np.where(np.isfinite(missed), np.maximum(missed, left), self.error)
