"""Obstacles for drawn maps: first in the way between two groups of sensors, then anywhere, some into another one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Draw = np.random.Generator
OBSTACLE_GAP = 90.0  # least free air between two bounding circles (m)
CLEAR = 160.0  # free air around the start, the end and the middle of each group (m)
TRIES = 300

OUTLINES = (  # polygons within the unit circle as x, y, x, y, ...; all but the first two are not convex
    (1.0, 0.0, 0.5, 0.87, -0.5, 0.87, -1.0, 0.0, -0.5, -0.87, 0.5, -0.87),
    (-0.8, -0.6, 0.9, -0.4, 0.6, 0.3, -0.2, 0.9),
    (-0.8, -0.6, 0.8, -0.6, 0.8, -0.1, -0.2, -0.1, -0.2, 0.8, -0.8, 0.6),  # an angle
    (-0.8, -0.6, 0.8, -0.6, 0.8, 0.6, 0.4, 0.6, 0.4, -0.2, -0.4, -0.2, -0.4, 0.6, -0.8, 0.6),  # a pocket
    (0.0, -0.3, 0.9, 0.4, 0.7, 0.7, 0.0, 0.15, -0.7, 0.7, -0.9, 0.4),  # a chevron
    tuple(0.95 * (1.0, 0.45)[k % 2] * turn(k * np.pi / 5) for k in range(10) for turn in (np.cos, np.sin)),  # a star
)


class Disc(NamedTuple):
    """The bounding circle of an obstacle."""

    at: np.ndarray
    radius: float


def draw_obstacles(
    counts: tuple[int, int, int],
    size: tuple[float, float],
    overlaps: int,
    route: np.ndarray,
    area: np.ndarray,
    rng: Draw,
) -> tuple[list, list, list] | None:
    """Rectangles, circles and polygons, so many of each; None where they find no room.

    route [G + 2, 2] is the straight flight over the groups; its corners stay in free air.
    """
    kinds = rng.permutation(np.repeat(np.arange(3), counts))
    discs: list[Disc] = []
    for i in range(len(kinds)):
        disc = place_disc(i, len(kinds) - overlaps, size, route, area, discs, rng)
        if disc is None:
            return None
        discs.append(disc)
    makers = (draw_rectangle, lambda disc, rng: [*disc.at, disc.radius], draw_polygon)
    found: tuple[list, list, list] = ([], [], [])
    for kind, disc in zip(kinds, discs):
        found[kind].append(makers[kind](disc, rng))
    return found


def place_disc(
    i: int, apart: int, size: tuple[float, float], route: np.ndarray, area: np.ndarray, discs: list[Disc], rng: Draw
) -> Disc | None:
    """A bounding circle for obstacle i: on leg i of the route, later anywhere, from `apart` on into another one.

    None where TRIES draws find no room beside the route's corners and the other discs.
    """
    legs = np.argsort(-np.linalg.norm(np.diff(route, axis=0), axis=1))  # the longest first
    for _ in range(TRIES):
        radius = rng.uniform(*size)
        if i >= apart:
            host = discs[rng.integers(apart)]
            angle, reach = rng.uniform(0, 2 * np.pi), rng.uniform(0.55, 0.75) * (radius + host.radius)
            at = host.at + reach * np.array([np.cos(angle), np.sin(angle)])
            others = [disc for disc in discs if disc is not host]
        else:
            leg = legs[i % len(legs)]
            on_leg = route[leg] + rng.uniform(0.25, 0.75) * (route[leg + 1] - route[leg])
            at = on_leg + rng.normal(size=2) * 0.35 * radius
            if i >= len(legs) or np.linalg.norm(route[leg + 1] - route[leg]) < 3 * size[1]:
                at = area * rng.uniform(0.03, 0.97, 2)
            others = discs
        free = np.all(np.linalg.norm(route - at, axis=1) > radius + CLEAR)
        room = all(np.linalg.norm(at - disc.at) > radius + disc.radius + OBSTACLE_GAP for disc in others)
        if free and room and np.all(at > 0.8 * radius) and np.all(at < area - 0.8 * radius):
            return Disc(at, radius)
    return None


def draw_rectangle(disc: Disc, rng: Draw) -> list[float]:
    """The corners [x0, y0, x1, y1] of a rectangle in the circle, from a square to a wall."""
    angle = rng.uniform(0.3, 1.27)
    half = disc.radius * np.array([np.cos(angle), np.sin(angle)])
    return [*(disc.at - half), *(disc.at + half)]


def draw_polygon(disc: Disc, rng: Draw) -> np.ndarray:
    """One of the outlines, turned and somewhat squeezed into the circle: [V, 2]."""
    outline = np.reshape(OUTLINES[rng.integers(len(OUTLINES))], (-1, 2)) * [1.0, rng.uniform(0.75, 1.0)]
    turn = rng.uniform(0, 2 * np.pi)
    spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return disc.at + disc.radius * outline @ spin
