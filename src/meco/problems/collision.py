"""How much of a flight lies inside obstacles: exact lengths of segments in a union of shapes.

Obstacles are open sets, so touching a boundary, or flying along it, is no collision. Nothing is
sampled: every shape gives the parameters t in [0, 1] at which a segment p + t (q - p) enters and
leaves it. A rectangle gives one interval (its slabs), a circle one (its chord), and a polygon an
entry or an exit for each edge that the segment crosses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.arrays import Array, Constants, namespace

Intervals = tuple[Array, Array]  # entries and exits, each [..., n]; both are 0 where there is nothing


class Segments(NamedTuple):
    """Straight flights; each number has shape [..., 1], so that obstacles fit on the last axis."""

    px: Array
    py: Array
    dx: Array
    dy: Array
    length: Array

    @classmethod
    def between(cls, p: Array, q: Array) -> Segments:
        """From p [..., 2] to q [..., 2]."""
        dx, dy = q[..., 0:1] - p[..., 0:1], q[..., 1:2] - p[..., 1:2]
        return cls(p[..., 0:1], p[..., 1:2], dx, dy, namespace(p).sqrt(dx * dx + dy * dy))

    def pick(self, index: Array) -> Segments:
        """Segments by their number in the flattened batch: index [M] -> numbers of shape [M, 1]."""
        xp = namespace(index)
        return Segments(*(xp.take(xp.reshape(v, (-1, 1)), index, axis=0) for v in self))


class Obstacles:
    """Rectangles [R, 4] (x0, y0, x1, y1), circles [K, 3] (x, y, radius) and simple polygons, each [V, 2].

    Lengths inside the single obstacles add up, unless two of them overlap. Those whose bounding boxes
    do are the crowded ones, and what a segment has inside several of them is counted once.
    """

    def __init__(self, rectangles: Any = (), circles: Any = (), polygons: Sequence[Any] = ()) -> None:
        boxes = np.array(rectangles, dtype=np.float64).reshape(-1, 4)
        discs = np.array(circles, dtype=np.float64).reshape(-1, 3)
        rings = closed_rings(polygons)  # [P, V + 1, 2]
        hulls = np.concat([rings.min(axis=1), rings.max(axis=1)], axis=-1)
        squares = np.concat([discs[:, :2] - discs[:, 2:], discs[:, :2] + discs[:, 2:]], axis=-1)
        crowded = overlapping(np.concat([boxes, hulls, squares]))
        b, r, d = np.split(crowded, np.cumsum([len(boxes), len(rings)]))
        self._n_boxes, self._any_crowded = len(boxes), bool(np.any(crowded))
        self._all = Constants(boxes=np.concat([boxes, hulls]).T, discs=discs.T, rings=rings, crowded=crowded)
        self._crowd = Constants(boxes=boxes[b].T, discs=discs[d].T, rings=rings[r])

    def length(self, p: Array, q: Array) -> Array:
        """Length of each segment inside the union of the obstacles: p [..., 2], q [..., 2] -> [...]."""
        xp = namespace(p)
        segments = Segments.between(p, q)
        with np.errstate(divide="ignore", invalid="ignore"):
            pieces = self._pieces(segments)
            share = xp.sum(pieces, axis=-1)
            if self._any_crowded:
                share = share - self._counted_twice(segments, pieces)
        return share * segments.length[..., 0]

    def _pieces(self, segments: Segments) -> Array:
        """The share of each segment inside each obstacle, rectangles, polygons, circles: [..., R + P + K]."""
        fixed = self._all.on(segments.px)
        start, end = in_boxes(segments, fixed["boxes"])
        boxes = end - start  # the polygons' bounding boxes among them
        polygons = in_polygons(segments, fixed["rings"], boxes[..., self._n_boxes :] > 0.0)
        start, end = in_discs(segments, fixed["discs"])
        return namespace(boxes).concat([boxes[..., : self._n_boxes], polygons, end - start], axis=-1)

    def _counted_twice(self, segments: Segments, pieces: Array) -> Array:
        """The share by which the pieces [..., K] exceed their union, for segments in several crowded obstacles."""
        xp, fixed = namespace(pieces), self._crowd.on(pieces)
        pieces = pieces * self._all.on(pieces)["crowded"]
        busy = xp.sum(xp.astype(pieces > 0.0, pieces.dtype), axis=-1) > 1.0
        rows = xp.nonzero(xp.reshape(busy, (-1,)))[0]  # [M]
        some = segments.pick(rows)
        found = [in_boxes(some, fixed["boxes"]), in_discs(some, fixed["discs"]), in_all_rings(some, fixed["rings"])]
        start, end = disjoint(*(xp.concat([kind[side] for kind in found], axis=-1) for side in (0, 1)))
        pieces = xp.take(xp.reshape(pieces, (-1, pieces.shape[-1])), rows, axis=0)
        return spread(xp.sum(pieces, axis=-1) - xp.sum(end - start, axis=-1), busy)


def in_boxes(segments: Segments, boxes: Array) -> Intervals:
    """The interval of each segment inside each box (x0, y0, x1, y1): boxes [4, R] -> [..., R].

    A segment parallel to a side divides by zero: it gets infinite bounds where it lies between the
    two sides, an empty interval beyond them, and nan, which compares false, on a side itself.
    """
    xp = namespace(boxes)
    kx, ky = 1.0 / segments.dx, 1.0 / segments.dy
    x0, x1 = (boxes[0, :] - segments.px) * kx, (boxes[2, :] - segments.px) * kx
    y0, y1 = (boxes[1, :] - segments.py) * ky, (boxes[3, :] - segments.py) * ky
    near = xp.maximum(xp.minimum(x0, x1), xp.minimum(y0, y1))
    far = xp.minimum(xp.maximum(x0, x1), xp.maximum(y0, y1))
    inside = near < far
    return xp.where(inside, xp.clip(near, 0.0, 1.0), 0.0), xp.where(inside, xp.clip(far, 0.0, 1.0), 0.0)


def in_discs(segments: Segments, discs: Array) -> Intervals:
    """The interval of each segment inside each circle (x, y, radius): discs [3, K] -> [..., K].

    With the centre at distance m from the line, the chord reaches sqrt(r^2 - m^2) to both sides of its foot.
    """
    xp = namespace(discs)
    length = xp.where(segments.length > 0.0, segments.length, 1.0)
    ux, uy = segments.dx / length, segments.dy / length
    cx, cy = discs[0, :] - segments.px, discs[1, :] - segments.py
    foot, m = ux * cx + uy * cy, ux * cy - uy * cx
    half = xp.sqrt(xp.clip((discs[2, :] - m) * (discs[2, :] + m), 0.0, None))
    return xp.clip((foot - half) / length, 0.0, 1.0), xp.clip((foot + half) / length, 0.0, 1.0)


def in_polygons(segments: Segments, rings: Array, hit: Array) -> Array:
    """The share of each segment inside each polygon: rings [P, V + 1, 2], hit [..., P] -> [..., P].

    Most segments miss most polygons, so only the pairs whose bounding box is hit are looked at.
    """
    xp, count = namespace(rings), max(rings.shape[0], 1)
    pairs = xp.nonzero(xp.reshape(hit, (-1,)))[0]  # [M]
    segment = pairs // count
    start, end = in_rings(segments.pick(segment), xp.take(rings, pairs - segment * count, axis=0))
    return spread(xp.sum(end - start, axis=-1), hit)


def in_all_rings(segments: Segments, rings: Array) -> Intervals:
    """The intervals of each segment inside each polygon: numbers [M, 1], rings [P, V + 1, 2] -> [M, P V]."""
    xp = namespace(rings)
    cube = Segments(*(v[:, None, :] for v in segments))
    shape = (segments.px.shape[0], rings.shape[0] * (rings.shape[1] - 1))
    start, end = in_rings(cube, rings)
    return xp.reshape(start, shape), xp.reshape(end, shape)


def in_rings(segments: Segments, rings: Array) -> Intervals:
    """The disjoint intervals of segments inside polygons: numbers [..., 1], rings [..., V + 1, 2] -> [..., V].

    The interior lies to the left of every edge a -> b. A vertex on the line of flight counts as lying
    to its right, as if the line were moved a hair to the left; then every edge is crossed or not, and
    entries and exits alternate. An edge on the line with its interior to the left would wrongly
    count as inside, so it gives an exit where it begins and an entry where it ends.
    """
    xp = namespace(rings)
    x, y = rings[..., 0] - segments.px, rings[..., 1] - segments.py
    side = segments.dx * y - segments.dy * x  # > 0: to the left
    ahead = (segments.dx * x + segments.dy * y) / segments.length**2  # t of the nearest point on the line
    a, b, t_a, t_b = side[..., :-1], side[..., 1:], ahead[..., :-1], ahead[..., 1:]
    left_a, left_b = a > 0.0, b > 0.0
    along = (a == 0.0) & (b == 0.0) & (t_b > t_a)
    entry = t_b - (t_b - t_a) * (b / (b - a))  # exactly t_b where b lies on the line
    exit_ = t_a + (t_b - t_a) * (a / (a - b))  # exactly t_a where a lies on the line
    start = xp.where(left_a & ~left_b, entry, xp.where(along, t_b, 0.0))
    end = xp.where(left_b & ~left_a, exit_, xp.where(along, t_a, 0.0))
    return disjoint(xp.clip(start, 0.0, 1.0), xp.clip(end, 0.0, 1.0))


def spread(values: Array, chosen: Array) -> Array:
    """Put values [M] where the M entries of chosen [...] are true, and 0 elsewhere."""
    xp = namespace(values)
    flat = xp.reshape(chosen, (-1,))
    row = xp.where(flat, xp.cumulative_sum(xp.astype(flat, xp.int64)), 0)
    nothing = xp.zeros((1,), dtype=values.dtype, device=values.device)
    return xp.reshape(xp.take(xp.concat([nothing, values]), row, axis=0), chosen.shape)


def disjoint(start: Array, end: Array) -> Intervals:
    """The union of intervals as disjoint intervals in order: start [..., n], end [..., n], in any order.

    After the i-th smallest start, i intervals have begun; all of them are over from the i-th smallest
    end on, so the union covers the line from there up to the next start only if that end comes later.
    """
    xp = namespace(start)
    if start.shape[-1] == 0:
        return start, end
    start, end = xp.sort(start, axis=-1), xp.sort(end, axis=-1)
    following = xp.concat([start[..., 1:], end[..., -1:]], axis=-1)
    return start, xp.maximum(start, xp.minimum(end, following))


def overlapping(boxes: np.ndarray) -> np.ndarray:
    """Which boxes (x0, y0, x1, y1) share interior with another one: [K, 4] -> bool [K]."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    meets = np.all((low < high.swapaxes(0, 1)) & (low.swapaxes(0, 1) < high), axis=-1)
    return np.sum(meets, axis=-1) > 1  # every box meets itself


def closed_rings(polygons: Sequence[Any]) -> np.ndarray:
    """Polygons as rings of equal length, counterclockwise, the first vertex repeated at the end: [P, V + 1, 2]."""
    corners = [np.array(polygon, dtype=np.float64).reshape(-1, 2) for polygon in polygons]
    size = max((len(ring) for ring in corners), default=0) + 1
    rings = np.zeros((len(corners), size, 2))
    for i, ring in enumerate(corners):
        ring = ring if signed_area(ring) > 0 else ring[::-1]
        rings[i] = np.concat([ring, np.repeat(ring[:1], size - len(ring), axis=0)])
    return rings


def signed_area(ring: np.ndarray) -> float:
    """Area of a polygon [V, 2]: positive when its vertices run counterclockwise."""
    x, y = (ring - ring[0]).T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
