"""Missions of a seed: a few sensors, rectangles and circles, three to six hover points.

They share the model of flight with the sixteen missions, and none of their layouts, maps or seeds. The
known flight comes first; the obstacles are drawn clear of it, on the straight way over the sensors or close to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from meco.core.arrays import Array, namespace
from meco.core.problem import Problem
from meco.errors import InvalidInput
from meco.problems.generated.batch import StackingFormula, Values
from meco.problems.generated.families import MissionFamily, problem_name
from meco.problems.generated.mission_layouts import LAYOUTS
from meco.problems.uav.collision import Segments, box_intervals, covered_share, disc_intervals
from meco.problems.uav.flight_model import Parameters, data_rates, evaluate_flight
from meco.problems.uav.layouts import draw_sensor_group
from meco.problems.uav.obstacles import OBSTACLE_GAP, Disc, draw_rectangle

Draw = np.random.Generator
CLEARANCE = 15.0  # between an obstacle and the known flight (m)
ATTEMPTS = 400
MODEL = Parameters()


class LockstepObstacles:
    """Rectangles [B, 4, R] and circles [B, 3, K] that do not overlap, a map for each run."""

    def __init__(self, boxes: Array, discs: Array) -> None:
        """Rectangles [B, 4, R] and circles [B, 3, K], kept with the obstacles in front."""
        xp = namespace(boxes)
        # obstacles first, as box_intervals and disc_intervals want them: [4, R, B, 1]
        self.boxes, self.discs = (xp.permute_dims(a, (1, 2, 0))[..., None] for a in (boxes, discs))

    def length(self, p: Array, q: Array) -> Array:
        """Length of each leg inside the obstacles of its map: p [B, ..., 2], q [B, ..., 2] -> [B, ...]."""
        xp, runs = namespace(p), p.shape[0]
        px, py, qx, qy = (xp.reshape(a, (runs, -1)) for a in (p[..., 0], p[..., 1], q[..., 0], q[..., 1]))
        dx, dy = qx - px, qy - py
        legs = Segments(px, py, dx, dy, xp.sqrt(dx * dx + dy * dy))
        shares = xp.concat(
            [covered_share(box_intervals(legs, self.boxes)), covered_share(disc_intervals(legs, self.discs))], axis=0
        )
        return xp.reshape(xp.sum(shares, axis=0) * legs.length, p.shape[:-1])


def evaluate_missions(x: Array, p: Mapping[str, Mapping[str, Any]]) -> Values:
    """Values of flights x [B, N, 3 I] over the maps of p: f [B, N], g [B, N, I + J], h [B, N, 1]."""
    chart = p["map"]
    start, end = chart["start"][:, None, :, :], chart["end"][:, None, :, :]
    sensors, obstacles = chart["sensors"][:, None, None, :, :], LockstepObstacles(chart["boxes"], chart["discs"])
    return evaluate_flight(x, start, end, sensors, obstacles, MODEL)


def draw_mission(family: MissionFamily, seed: int) -> Problem:
    """The map of a seed with its known flight; its family's name and the order of draws are part of the seed.

    A seed of which ATTEMPTS maps fail is an error.
    """
    for attempt in range(ATTEMPTS):
        rng = np.random.default_rng([zlib.crc32(family.name.encode()), seed, attempt])
        start, middles, end, sensors = _draw_places(rng, family)
        straight = np.concat([start[None], middles, end[None]])
        stops, over = _draw_stops(rng, family, straight)
        times = _hover_times(stops, over, sensors)
        route = np.concat([start[None], stops, end[None]])
        obstacles = _draw_obstacles(rng, family, straight, route) if times is not None else None
        if times is None or obstacles is None:
            continue
        boxes = np.array([draw_rectangle(disc, rng) for disc in obstacles[: family.blocks]])
        discs = np.array([[*disc.at, disc.radius] for disc in obstacles[family.blocks :]])
        chart = {"start": start[None], "end": end[None], "sensors": sensors, "boxes": boxes.T, "discs": discs.T}
        return Problem(
            problem_name(family.name, seed),
            np.zeros(family.dim),
            np.concat([np.tile(family.area, family.stops), np.full(family.stops, MODEL.T_max)]),
            *family.counts(family.dim),
            StackingFormula(evaluate_missions, {"map": chart}, family.name),
            title=family.about,
            source="generated",
            known_x=np.concat([stops.ravel(), times]),
        )
    raise InvalidInput(f"no map of {family.name} came out of seed {seed}; take another one")


def _draw_places(rng: Draw, family: MissionFamily) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Start [2], middles of the groups of sensors [G, 2], end [2], and the sensors [J, 2], in metres."""
    area, groups = np.array(family.area), family.stops - family.detours
    start, middles, end = LAYOUTS[family.layout](rng, area, groups)
    sizes = [len(part) for part in np.array_split(np.arange(family.sensors), groups)]
    sensors = np.concat([draw_sensor_group(rng, middle, n, 350.0) for middle, n in zip(middles, sizes)])
    return start, middles, end, np.clip(sensors, 50.0, area - 50.0)


def _draw_stops(rng: Draw, family: MissionFamily, straight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stops beside the middles and beside the longest legs of the straight way [I, 2]; which are over sensors [I]."""
    area, legs = np.array(family.area), np.diff(straight, axis=0)
    longest = np.argsort(-np.linalg.norm(legs, axis=1))[: family.detours]
    found, over = [], []
    for k, (a, leg) in enumerate(zip(straight, legs)):
        if k in longest:
            side = np.array([-leg[1], leg[0]]) / np.linalg.norm(leg)
            away = rng.choice([-1.0, 1.0]) * rng.uniform(0.8, 1.6) * family.radii[1]
            found.append(a + rng.uniform(0.35, 0.65) * leg + away * side)
            over.append(False)
        if k + 1 < len(legs):
            found.append(a + leg + rng.uniform(-150.0, 150.0, 2))
            over.append(True)
    return np.clip(found, 50.0, area - 50.0), np.array(over)


def _hover_times(stops: np.ndarray, over: np.ndarray, sensors: np.ndarray) -> np.ndarray | None:
    """Equal times at the stops over sensors that collect all data with a little to spare, 0 elsewhere: [I].

    None where no time does, or more comes in at once than can be received.
    """
    rate = data_rates(stops, sensors, MODEL)
    if np.any(rate.sum(axis=1) > 0.99 * MODEL.R_lambda):
        return None
    time = 1.02 * MODEL.Q_lambda / np.min(rate[over].sum(axis=0))
    return np.where(over, time, 0.0) if time < MODEL.T_max else None


def _draw_obstacles(rng: Draw, family: MissionFamily, straight: np.ndarray, route: np.ndarray) -> list[Disc] | None:
    """Bounding circles close to the straight way [G + 2, 2], apart from each other and from the route [I + 2, 2].

    None where ATTEMPTS draws do not find enough.
    """
    found: list[Disc] = []
    for _ in range(ATTEMPTS):
        ends = straight[[0, -1]] if rng.random() < 0.3 else straight[rng.integers(len(straight) - 1) + np.arange(2)]
        radius = rng.uniform(*family.radii)
        at = ends[0] + rng.uniform(0.1, 0.9) * (ends[1] - ends[0]) + rng.uniform(-1.5, 1.5, 2) * radius
        apart = all(np.linalg.norm(at - disc.at) > radius + disc.radius + OBSTACLE_GAP for disc in found)
        if apart and _distance_to_route(at, route) > radius + CLEARANCE:
            found.append(Disc(at, radius))
            if len(found) == 2 * family.blocks:
                return found
    return None


def _distance_to_route(point: np.ndarray, route: np.ndarray) -> float:
    """Metres from a point [2] to the nearest leg of a route [n, 2]."""
    a, step = route[:-1], np.diff(route, axis=0)
    square = np.maximum(np.sum(step * step, axis=1), 1e-12)
    along = np.clip(np.sum((point - a) * step, axis=1) / square, 0.0, 1.0)
    return float(np.min(np.linalg.norm(a + along[:, None] * step - point, axis=1)))
