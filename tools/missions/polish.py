"""The last metres of a flight: a smooth program around it, solved to its bottom.

Nearby, an obstacle is a few smooth conditions: a leg keeps each corner and each circle on the side where
they are now, and a hover point stays outside each wall that it faces. With the data and the bandwidth
that makes a program for SLSQP over the different stops and their times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meco.errors import load_extra
from meco.problems.uav.collision import signed_area
from meco.problems.uav.flight_model import HOVER_POINTS, data_rates, flight_time, route_corners
from meco.problems.uav.mission import Mission

PLACES = 2 * HOVER_POINTS  # the first entries of x are the hover points, the others their times
NEAR = 400.0  # conditions are kept for what is so near (m)
SLACK = 2.0  # a corner so little beyond the end of a leg counts as passed (m)
MARGIN = 1e-6  # and leave so much air (m)
ENOUGH = 1 + 1e-9  # a little more data than required, so that rounding leaves none missing
UNIT = np.array([100.0, 10.0])  # metres and seconds of one step, so that all variables weigh alike


def polish_flight(mission: Mission, x: np.ndarray) -> np.ndarray:
    """The flight at the bottom of the program around x [18]; it may come out a little infeasible."""
    optimize: Any = load_extra("scipy.optimize", "peers", "the search for reference flights")
    flights = Stops(mission, x)
    air = clearances(mission, x)
    model = mission.parameters

    def objective(z: np.ndarray) -> float:
        y = flights.x(z)
        legs = np.linalg.norm(np.diff(route_corners(y, mission.start, mission.end), axis=0), axis=1)
        return model.alpha * np.sum(flight_time(legs, model.v_max, model.a)) + (1 - model.alpha) * np.sum(y[PLACES:])

    def conditions(z: np.ndarray) -> np.ndarray:
        y = flights.x(z)
        rate = data_rates(y[:PLACES].reshape(-1, 2), mission.sensors, model)
        data = y[PLACES:] @ rate - model.Q_lambda * ENOUGH
        return np.concat([data / 10, model.R_lambda - np.sum(rate, axis=1), air(y) / 10])

    found = optimize.minimize(
        objective,
        flights.z(x),
        method="SLSQP",
        bounds=flights.bounds(),
        constraints={"type": "ineq", "fun": conditions},
        options={"maxiter": 120, "ftol": 1e-11},
    )
    return flights.x(found.x)


class Stops:
    """The different places of a flight: hover points on one place move together, those on the start or end stay."""

    def __init__(self, mission: Mission, x: np.ndarray) -> None:
        points = x[:PLACES].reshape(-1, 2)
        self.mission, self.points = mission, points
        self.places, first, member = np.unique(points, axis=0, return_index=True, return_inverse=True)
        self.first, self.member = first, member.ravel()  # the first hover point of a place has its time
        ends = np.stack([mission.start, mission.end])
        self.free = ~np.any(np.all(self.places[:, None] == ends, axis=-1), axis=1)

    def z(self, x: np.ndarray) -> np.ndarray:
        """Free places and the times of all places, in the program's units."""
        times = np.bincount(self.member, x[PLACES:])
        return np.concat([self.places[self.free].ravel() / UNIT[0], times / UNIT[1]])

    def x(self, z: np.ndarray) -> np.ndarray:
        """The flight [18] of the program's variables."""
        count = int(np.sum(self.free))
        places = self.places.copy()
        places[self.free] = z[: 2 * count].reshape(-1, 2) * UNIT[0]
        times = np.zeros(HOVER_POINTS)
        times[self.first] = z[2 * count :] * UNIT[1]
        return np.concat([places[self.member].ravel(), times])

    def bounds(self) -> list[tuple[float, float]]:
        """The area and the longest hovering time."""
        width, height = np.array(self.mission.area) / UNIT[0]
        places = [(0.0, width), (0.0, height)] * int(np.sum(self.free))
        return places + [(0.0, self.mission.parameters.T_max / UNIT[1])] * len(self.places)


def clearances(mission: Mission, x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What must stay positive for flights around x to meet no obstacle, as a function of the flight."""
    before, corner, after = obstacle_corners(mission)
    centre, radius = mission.circles[:, :2], mission.circles[:, 2]
    side, passed = offsets_from_legs(mission, x, corner)  # [legs, corners]
    walls = np.sign(offsets_from_legs(mission, x, before)[0]) + np.sign(offsets_from_legs(mission, x, after)[0])
    sign = np.where(np.abs(side) < 1e-3, walls / 2, np.sign(side))  # of a corner that is touched: where its walls lie
    passed &= (np.abs(side) < NEAR) & (sign != 0)
    offset, rounded = offsets_from_legs(mission, x, centre)
    turn = np.sign(offset)
    rounded &= np.abs(offset) < NEAR + radius
    points = x[:PLACES].reshape(-1, 2)
    faced = stands_before_wall(points, corner, after)
    close = np.linalg.norm(points[:, None] - centre, axis=-1) < NEAR + radius

    def air(y: np.ndarray) -> np.ndarray:
        at = y[:PLACES].reshape(-1, 2)
        parts = [
            (sign * offsets_from_legs(mission, y, corner)[0])[passed],
            (turn * offsets_from_legs(mission, y, centre)[0] - radius)[rounded],
            distances_outside(at, corner, after)[faced],
            (np.linalg.norm(at[:, None] - centre, axis=-1) - radius)[close],
        ]
        return np.concat(parts) - MARGIN

    return air


def obstacle_corners(mission: Mission) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The corners of rectangles and polygons, counterclockwise, with the ones before and after them: [V, 2] each."""
    rings = [np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]) for x0, y0, x1, y1 in mission.rectangles]
    rings += [ring if signed_area(ring) > 0 else ring[::-1] for ring in mission.polygons]
    before, at, after = (np.concat([np.zeros((0, 2)), *(np.roll(r, k, axis=0) for r in rings)]) for k in (1, 0, -1))
    return before, at, after


def offsets_from_legs(mission: Mission, x: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far to the left of each leg places [V, 2] lie, and whether the leg passes them: [7, V] each."""
    route = route_corners(x, mission.start, mission.end)
    step = np.diff(route, axis=0)[:, None]
    length = np.maximum(np.linalg.norm(step, axis=-1), 1e-9)
    to = places - route[:-1, None]
    along = np.sum(step * to, axis=-1) / length
    left = (step[..., 0] * to[..., 1] - step[..., 1] * to[..., 0]) / length
    return left, (along > -SLACK) & (along < length + SLACK) & (length > 1e-3)


def distances_outside(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far points [I, 2] lie to the right of the walls a -> b, that is, outside: [I, V]."""
    wall = b - a
    to = points[:, None] - a
    return (wall[:, 1] * to[..., 0] - wall[:, 0] * to[..., 1]) / np.linalg.norm(wall, axis=-1)


def stands_before_wall(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether a point stands near and before a wall: [I, V]."""
    wall = b - a
    share = np.sum((points[:, None] - a) * wall, axis=-1) / np.sum(wall * wall, axis=-1)
    distance = distances_outside(points, a, b)
    return (share > 0) & (share < 1) & (distance > -1e-3) & (distance < NEAR)
