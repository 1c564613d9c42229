"""Independent geometry for the collision tests: segments to try, and lengths computed another way."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isqrt

import numpy as np
import shapely

from meco.problems.uav.mission import Mission


def random_segments(mission: Mission, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Segments [count, 2, 2] of many kinds: long, short, axis-parallel, and between corners of obstacles."""
    size = np.array(mission.area)
    p, q = rng.uniform(-0.05, 1.05, (2, count, 2)) * size
    kind = rng.integers(0, 6, count)[:, None]
    short = p + rng.normal(size=(count, 2)) * 10.0 ** rng.uniform(-3, 2, (count, 1))
    corners = np.concat([*mission.polygons, mission.rectangles[:, :2], mission.rectangles[:, 2:], mission.sensors])
    corner = corners[rng.integers(0, len(corners), (2, count))]
    q = np.where(kind == 1, short, q)
    q = np.where(kind == 2, np.stack([p[:, 0], q[:, 1]], axis=-1), q)  # vertical
    q = np.where(kind == 3, np.stack([q[:, 0], p[:, 1]], axis=-1), q)  # horizontal
    p = np.where(kind == 4, corner[0] + rng.normal(size=(count, 2)), p)  # starts beside a corner
    return p, q


def flat_union(mission: Mission) -> shapely.Geometry:
    """Rectangles and polygons as one shapely geometry."""
    boxes = [shapely.box(*row) for row in mission.rectangles]
    return shapely.union_all([*boxes, *(shapely.Polygon(ring) for ring in mission.polygons)])


def shapely_length(p: np.ndarray, q: np.ndarray, shape: shapely.Geometry) -> np.ndarray:
    """Length of each segment inside the closed shape, by shapely."""
    return shapely.length(shapely.intersection(lines(p, q), shape))


def lines(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Segments as shapely lines."""
    return shapely.linestrings(np.stack([p, q], axis=-2))


def chord_length(p: np.ndarray, q: np.ndarray, circle: np.ndarray) -> np.ndarray:
    """Length of each segment inside one circle: the roots of |p + t d - c|^2 = r^2 in extended precision."""
    p, q, (cx, cy, r) = p.astype(np.longdouble), q.astype(np.longdouble), circle.astype(np.longdouble)
    d, w = q - p, p - np.stack([cx, cy])
    a, b, c = np.sum(d * d, axis=-1), np.sum(d * w, axis=-1), np.sum(w * w, axis=-1) - r * r
    safe = np.where(a > 0, a, 1)
    root = np.sqrt(np.maximum(b * b - a * c, 0))
    low, high = np.clip((-b - root) / safe, 0, 1), np.clip((-b + root) / safe, 0, 1)
    return ((high - low) * np.sqrt(a)).astype(np.float64)


def exact_union_length(p: np.ndarray, q: np.ndarray, mission: Mission) -> float:
    """Length inside the union of all obstacles, by rational numbers with roots to 60 digits.

    Cut the segment wherever it meets a boundary line or circle; each cut piece is inside or outside
    as a whole, so its middle decides.
    """
    (px, py), (qx, qy) = (tuple(map(Fraction, point.tolist())) for point in (p, q))
    dx, dy = qx - px, qy - py
    cuts = {Fraction(0), Fraction(1)}
    rings = [[tuple(map(Fraction, v)) for v in ring.tolist()] for ring in _all_rings(mission)]
    circles = [tuple(map(Fraction, row)) for row in mission.circles.tolist()]
    for ring in rings:
        for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
            slope = dx * (by - ay) - dy * (bx - ax)
            if slope and 0 <= ((ax - px) * dy - (ay - py) * dx) / slope <= 1:  # it meets the edge itself
                cuts.add(((ax - px) * (by - ay) - (ay - py) * (bx - ax)) / slope)
            elif slope == 0 and dx * (ay - py) == dy * (ax - px) and (dx or dy):  # the edge lies on its line
                cuts.update((dx * (vx - px) + dy * (vy - py)) / (dx * dx + dy * dy) for vx, vy in ((ax, ay), (bx, by)))
    for cx, cy, r in circles:
        a, b, c = dx * dx + dy * dy, dx * (px - cx) + dy * (py - cy), (px - cx) ** 2 + (py - cy) ** 2 - r * r
        if a and b * b > a * c:
            cuts.update({(-b - _root(b * b - a * c)) / a, (-b + _root(b * b - a * c)) / a})
    ordered = sorted(cut for cut in cuts if 0 <= cut <= 1)
    share = Fraction(0)
    for low, high in pairwise(ordered):
        x, y = px + (low + high) / 2 * dx, py + (low + high) / 2 * dy
        if any(_within(ring, x, y) for ring in rings) or any(
            (x - u) ** 2 + (y - v) ** 2 < r * r for u, v, r in circles
        ):
            share += high - low
    return float(share * _root(dx * dx + dy * dy))


def _all_rings(mission: Mission) -> list[np.ndarray]:
    boxes = [np.array([[a, b], [c, b], [c, d], [a, d]]) for a, b, c, d in mission.rectangles]
    return [*boxes, *mission.polygons]


def _root(value: Fraction) -> Fraction:
    scale = 10**60
    return Fraction(isqrt(value.numerator * value.denominator * scale * scale), value.denominator * scale)


def _within(ring: list, x: Fraction, y: Fraction) -> bool:
    """Strictly inside, by the even-odd rule on a ray to the right."""
    inside = False
    for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
        turn = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        if turn == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
            return False
        if (ay > y) != (by > y) and (turn > 0) == (by > ay):
            inside = not inside
    return inside
