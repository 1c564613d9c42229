"""Data collection by an unmanned aerial vehicle: a mission as a constrained problem (paper, UAV experiment).

The vehicle flies from the start over six hover points to the end, straight and at a fixed height,
stops at each point, and receives data from ground sensors while it hovers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meco.core.arrays import Array, Constants, namespace
from meco.core.problem import Formula
from meco.problems.uav.collision import Obstacles

HOVER_POINTS = 6  # I
MISSION_DIM = 3 * HOVER_POINTS
MISSION_NAMES = tuple(f"UAV-{number:02d}" for number in range(1, 17))


@dataclass(frozen=True)
class Parameters:
    """The mission environment (paper, table of UAV parameters); alpha is not printed there."""

    v_max: float = 40.0  # greatest speed (m/s)
    a: float = 1.0  # acceleration (m/s^2)
    T_max: float = 200.0  # longest hovering time at one point (s)
    H: float = 20.0  # flying height (m)
    xi: float = 0.025  # loss of rate with distance (Mbit/s per m)
    R_c: float = 50.0  # rate at distance zero (Mbit/s)
    R_lambda: float = 200.0  # greatest rate the vehicle can receive in sum (Mbit/s)
    Q_lambda: float = 500.0  # data required from each sensor (Mbit)
    alpha: float = 0.5  # weight of flying time against hovering time

    @property
    def hearing_distance(self) -> float:
        """Ground distance at which the rate of a sensor falls to zero (m)."""
        return float(np.sqrt(max((self.R_c / self.xi) ** 2 - self.H**2, 0.0)))


def flight_time(d: Array, v_max: float, a: float) -> Array:
    """Seconds to fly d >= 0 metres from rest to rest: full speed is reached beyond v_max^2 / a (first UAV equation)."""
    xp = namespace(d)
    return xp.where(d > v_max**2 / a, d / v_max + v_max / a, 2.0 * xp.sqrt(d / a))


def data_rates(p: Array, sensors: Array, parameters: Parameters) -> Array:
    """Rate from each sensor at each hover point (Mbit/s): p [..., I, 2], sensors [..., J, 2] -> [..., I, J]."""
    xp = namespace(p)
    dx, dy = p[..., 0:1] - sensors[..., 0], p[..., 1:2] - sensors[..., 1]
    distance = xp.sqrt(dx * dx + dy * dy + parameters.H**2)
    return xp.clip(parameters.R_c - parameters.xi * distance, 0.0, None)


def route_corners(x: Array, start: Array, end: Array) -> Array:
    """The corners of the route, from the start over the hover points to the end: x [..., 3 I] -> [..., I + 2, 2]."""
    xp = namespace(x)
    leading, stops = x.shape[:-1], x.shape[-1] // 3
    points = xp.reshape(x[..., : 2 * stops], (*leading, stops, 2))
    ends = [xp.broadcast_to(end, (*leading, 1, 2)) for end in (start, end)]
    return xp.concat([ends[0], points, ends[1]], axis=-2)


def make_mission_formula(
    start: Any, end: Any, sensors: Any, obstacles: Obstacles, parameters: Parameters | None = None
) -> Formula:
    """Flying and hovering time under bandwidth, data and collision constraints.

    x = (p1x, p1y, ..., p6x, p6y, T1, ..., T6) in metres and seconds. g holds the total rate at each
    hover point minus R_lambda (Mbit/s), whether or not the vehicle stays there, then Q_lambda minus the
    data of each sensor (Mbit); h is the length of the route inside obstacles (m).
    """
    model = parameters or Parameters()
    constants = Constants(start=start, end=end, sensors=np.reshape(sensors, (-1, 2)))

    def formula(x: Array) -> tuple[Array, Array, Array]:
        return evaluate_flight(x, **constants.on(x), obstacles=obstacles, model=model)

    return formula


def evaluate_flight(
    x: Array, start: Array, end: Array, sensors: Array, obstacles: Any, model: Parameters
) -> tuple[Array, Array, Array]:
    """f [...], g and h of flights x [..., 3 I] over one map, or each over its own where maps have leading axes.

    obstacles.length(p, q) gives the length of each leg inside them, in metres.
    """
    xp = namespace(x)
    corners = route_corners(x, start, end)
    hover = x[..., 2 * (x.shape[-1] // 3) :]  # [..., I]
    p, q = corners[..., :-1, :], corners[..., 1:, :]
    step = q - p
    fly = flight_time(xp.sqrt(xp.sum(step * step, axis=-1)), model.v_max, model.a)
    f = model.alpha * xp.sum(fly, axis=-1) + (1.0 - model.alpha) * xp.sum(hover, axis=-1)
    rate = data_rates(corners[..., 1:-1, :], sensors, model)
    bandwidth = xp.sum(rate, axis=-1) - model.R_lambda
    data = model.Q_lambda - xp.sum(rate * hover[..., None], axis=-2)
    collision = xp.sum(obstacles.length(p, q), axis=-1)
    return f, xp.concat([bandwidth, data], axis=-1), collision[..., None]


def variable_names() -> tuple[str, ...]:
    """Names of the 18 variables with their units, in order."""
    points = [f"p{i}{axis} (m)" for i in range(1, HOVER_POINTS + 1) for axis in "xy"]
    return (*points, *(f"T{i} (s)" for i in range(1, HOVER_POINTS + 1)))


def constraint_names(sensors: Sequence[Any] | np.ndarray) -> tuple[str, ...]:
    """Names of the constraints with their units, in order, for sensors [J, 2]."""
    bandwidth = [f"bandwidth at hover point {i} (Mbit/s)" for i in range(1, HOVER_POINTS + 1)]
    data = [f"data of sensor {j} (Mbit)" for j in range(1, len(sensors) + 1)]
    return (*bandwidth, *data, "length inside obstacles (m)")
