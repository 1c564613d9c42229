"""How much of a flight lies inside obstacles: exact lengths of segments in a union of shapes.

Obstacles are open sets, so touching a boundary, or flying along it, is no collision. Nothing is
sampled: every shape gives the parameters t in [0, 1] at which a segment p + t (q - p) enters and
leaves it. A rectangle gives one interval (its slabs), a circle one (its chord), and a polygon an
entry or an exit for each edge that the segment crosses.

Inside this file segments are one flat axis S, the last one, and obstacles are the first: long rows keep
array libraries fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from meco.core.arrays import Array, Constants, bounded, namespace

Intervals = tuple[Array, Array]  # entries and exits, each [n, S]; an empty interval has its exit at or before its entry


class Segments(NamedTuple):
    """Straight flights, each number [S]."""

    px: Array
    py: Array
    dx: Array
    dy: Array
    length: Array

    @classmethod
    def between(cls, p: Array, q: Array) -> Segments:
        """Segments from p [..., 2] to q [..., 2], flattened to [S]."""
        xp = namespace(p)
        px, py, qx, qy = (xp.reshape(v, (-1,)) for v in (p[..., 0], p[..., 1], q[..., 0], q[..., 1]))
        dx, dy = qx - px, qy - py
        return cls(px, py, dx, dy, xp.sqrt(dx * dx + dy * dy))

    def pick(self, index: Array) -> Segments:
        """Some of the segments: index [M] -> numbers [M]."""
        xp = namespace(index)
        return Segments(*(xp.take(v, index, axis=0) for v in self))


class Obstacles:
    """Rectangles [R, 4] (x0, y0, x1, y1), circles [K, 3] (x, y, radius) and simple polygons, each [V, 2].

    Lengths inside the single obstacles add up, unless two of them overlap. Those whose bounding boxes
    do are the crowded ones, and what a segment has inside several of them is counted once.
    """

    def __init__(self, rectangles: Any = (), circles: Any = (), polygons: Sequence[Any] = ()) -> None:
        """Obstacles are sorted by kind, the crowded ones last: _excess_share() slices them so."""
        boxes = np.array(rectangles, dtype=np.float64).reshape(-1, 4)
        discs = np.array(circles, dtype=np.float64).reshape(-1, 3)
        rings = close_rings(polygons)  # [P, V + 1, 2]
        hulls = np.concat([rings.min(axis=1), rings.max(axis=1)], axis=-1)
        squares = np.concat([discs[:, :2] - discs[:, 2:], discs[:, :2] + discs[:, 2:]], axis=-1)
        crowded = find_overlapping(np.concat([boxes, hulls, squares]))
        kinds = np.split(crowded, np.cumsum([len(boxes), len(rings)]))
        b, r, d = (np.argsort(kind, kind="stable") for kind in kinds)  # the crowded ones last
        self._apart = [int(np.sum(~kind)) for kind in kinds]
        self._n_boxes, self._any_crowded = len(boxes), bool(np.any(crowded))
        self._constants = Constants(
            boxes=np.concat([boxes[b], hulls[r]]).T[..., None],  # [4, R + P, 1]
            discs=discs[d].T[..., None],  # [3, K, 1]
            rings=rings[r].T,  # [2, V + 1, P]
            crowded=np.concat([kinds[0][b], kinds[1][r], kinds[2][d]])[:, None],
        )

    def length(self, p: Array, q: Array) -> Array:
        """Length of each segment inside the union of the obstacles: p [..., 2], q [..., 2] -> [...]."""
        xp = namespace(p)
        segments, fixed = Segments.between(p, q), self._constants.on(p)
        with np.errstate(divide="ignore", invalid="ignore"):
            boxes, discs = box_intervals(segments, fixed["boxes"]), disc_intervals(segments, fixed["discs"])
            shares = covered_share(boxes)  # of the rectangles, and of the polygons' bounding boxes
            polygons = polygon_shares(segments, fixed["rings"], shares[self._n_boxes :, :] > 0.0)
            pieces = xp.concat([shares[: self._n_boxes, :], polygons, covered_share(discs)], axis=0)
            share = xp.sum(pieces, axis=0)
            if self._any_crowded:
                share = share - self._excess_share(segments, boxes, discs, pieces)
        return xp.reshape(share * segments.length, p.shape[:-1])

    def _excess_share(self, segments: Segments, boxes: Intervals, discs: Intervals, pieces: Array) -> Array:
        """By how much the shares of single crowded obstacles exceed their union, [S]; 0 for segments in one or none.

        boxes [R + P, S] (rectangles, then bounding boxes of polygons) and discs [K, S] are intervals, not cut to the
        segments; pieces [R + P + K, S] is the share inside each obstacle.
        """
        xp, fixed = namespace(pieces), self._constants.on(pieces)
        b, r, d = self._apart
        pieces = pieces * fixed["crowded"]
        busy = xp.sum(xp.astype(pieces > 0.0, pieces.dtype), axis=0) > 1.0
        rows = xp.nonzero(busy)[0]  # [M]
        convex = [xp.concat([boxes[side][b : self._n_boxes, :], discs[side][d:, :]], axis=0) for side in (0, 1)]
        found = clip_intervals(*(xp.take(side, rows, axis=1) for side in convex))
        if r < fixed["rings"].shape[2]:
            rings = all_ring_intervals(segments.pick(rows), fixed["rings"][..., r:])
            found = xp.concat([found[0], rings[0]], axis=0), xp.concat([found[1], rings[1]], axis=0)
        start, end = merge_intervals(*found)
        single = xp.sum(xp.take(pieces, rows, axis=1), axis=0)
        return scatter_values(single - xp.sum(end - start, axis=0), busy)


def box_intervals(segments: Segments, boxes: Array) -> Intervals:
    """Where each segment is inside each box (x0, y0, x1, y1): boxes [4, R, 1] -> [R, S], not cut to [0, 1].

    A segment parallel to a side divides by zero: it gets infinite bounds where it lies between the
    two sides, an empty interval beyond them, and nan, which compares false, on a side itself.
    """
    xp = namespace(boxes)
    kx, ky = 1.0 / segments.dx, 1.0 / segments.dy
    x0, x1 = (boxes[0, ...] - segments.px) * kx, (boxes[2, ...] - segments.px) * kx
    y0, y1 = (boxes[1, ...] - segments.py) * ky, (boxes[3, ...] - segments.py) * ky
    near = xp.maximum(xp.minimum(x0, x1), xp.minimum(y0, y1))
    return near, xp.minimum(xp.maximum(x0, x1), xp.maximum(y0, y1))


def disc_intervals(segments: Segments, discs: Array) -> Intervals:
    """Where each segment is inside each circle (x, y, radius): discs [3, K, 1] -> [K, S], not cut to [0, 1].

    With the centre at distance m from the line, the chord reaches sqrt(r^2 - m^2) to both sides of its foot.
    """
    xp = namespace(discs)
    length = xp.where(segments.length > 0.0, segments.length, 1.0)
    ux, uy = segments.dx / length, segments.dy / length
    cx, cy = discs[0, ...] - segments.px, discs[1, ...] - segments.py
    m = ux * cy - uy * cx
    foot = (ux * cx + uy * cy) / length
    half = xp.sqrt(bounded((discs[2, ...] - m) * (discs[2, ...] + m), 0.0, xp.inf)) / length
    return foot - half, foot + half


def polygon_shares(segments: Segments, rings: Array, hit: Array) -> Array:
    """The share of each segment inside each polygon: rings [2, V + 1, P], hit [P, S] -> [P, S].

    Most segments miss most polygons, so only the pairs whose bounding box is hit are looked at.
    """
    xp, count = namespace(rings), max(hit.shape[1], 1)
    pairs = xp.nonzero(xp.reshape(hit, (-1,)))[0]  # [M]
    polygon = pairs // count
    start, end = ring_intervals(segments.pick(pairs - polygon * count), xp.take(rings, polygon, axis=2))
    return scatter_values(xp.sum(end - start, axis=0), hit)


def all_ring_intervals(segments: Segments, rings: Array) -> Intervals:
    """The intervals of each segment inside each polygon: numbers [M], rings [2, V + 1, P] -> [V P, M]."""
    xp = namespace(rings)
    start, end = ring_intervals(segments, rings[..., None])
    shape = (start.shape[0] * start.shape[1], start.shape[2])
    return xp.reshape(start, shape), xp.reshape(end, shape)


def ring_intervals(segments: Segments, rings: Array) -> Intervals:
    """The disjoint intervals of segments inside polygons: numbers [M], rings [2, V + 1, ..., M] -> [V, ..., M].

    The interior lies to the left of every edge a -> b. A vertex on the line of flight counts as lying
    to its right, as if the line were moved a hair to the left; then every edge is crossed or not, and
    entries and exits alternate. An edge on the line with its interior to the left would wrongly
    count as inside, so it gives an exit where it begins and an entry where it ends.
    """
    xp = namespace(rings)
    x, y = rings[0, ...] - segments.px, rings[1, ...] - segments.py
    side = segments.dx * y - segments.dy * x  # > 0: to the left
    ahead = (segments.dx * x + segments.dy * y) / segments.length**2  # t of the nearest point on the line
    left, on = side > 0.0, side == 0.0
    a, b, t_a, t_b = side[:-1, ...], side[1:, ...], ahead[:-1, ...], ahead[1:, ...]
    along = on[:-1, ...] & on[1:, ...] & (t_b > t_a)
    slope = (t_b - t_a) / (b - a)
    entry, exit_ = t_b - b * slope, t_a - a * slope  # exactly t_b, t_a where that vertex lies on the line
    start = xp.where(left[:-1, ...] & ~left[1:, ...], entry, xp.where(along, t_b, 0.0))
    end = xp.where(left[1:, ...] & ~left[:-1, ...], exit_, xp.where(along, t_a, 0.0))
    return merge_intervals(bounded(start, 0.0, 1.0), bounded(end, 0.0, 1.0))


def covered_share(intervals: Intervals) -> Array:
    """How much of [0, 1] each interval covers; 0 where it is empty or nan."""
    near, far = intervals
    xp = namespace(near)
    share = bounded(far, -xp.inf, 1.0) - bounded(near, 0.0, xp.inf)
    return xp.where(share > 0.0, share, 0.0)


def clip_intervals(near: Array, far: Array) -> Intervals:
    """Intervals from near to far, of any shape, cut to [0, 1]; empty and nan ones become 0 to 0."""
    xp = namespace(near)
    some = near < far
    return xp.where(some, bounded(near, 0.0, 1.0), 0.0), xp.where(some, bounded(far, 0.0, 1.0), 0.0)


def merge_intervals(start: Array, end: Array) -> Intervals:
    """The union of intervals as disjoint intervals in order: start [n, ...], end [n, ...], in any order.

    After the i-th smallest start, i intervals have begun; all of them are over from the i-th smallest
    end on, so the union covers the line up to that end or to the next start, whichever comes first.
    """
    xp = namespace(start)
    if start.shape[0] == 0:
        return start, end
    start, end = xp.sort(start, axis=0), xp.sort(end, axis=0)
    following = xp.concat([start[1:, ...], end[-1:, ...]], axis=0)
    return start, xp.maximum(start, xp.minimum(end, following))


def scatter_values(values: Array, chosen: Array) -> Array:
    """Put values [M] where the M entries of chosen [...] are true, and 0 elsewhere."""
    xp = namespace(values)
    flat = xp.reshape(chosen, (-1,))
    row = xp.where(flat, xp.cumulative_sum(xp.astype(flat, xp.int64)), 0)
    nothing = xp.zeros((1,), dtype=values.dtype, device=values.device)
    return xp.reshape(xp.take(xp.concat([nothing, values]), row, axis=0), chosen.shape)


def find_overlapping(boxes: np.ndarray) -> np.ndarray:
    """Which boxes (x0, y0, x1, y1) share interior with another one: [K, 4] -> bool [K]."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    meets = np.all((low < high.swapaxes(0, 1)) & (low.swapaxes(0, 1) < high), axis=-1)
    return np.sum(meets, axis=-1) > 1  # every box meets itself


def close_rings(polygons: Sequence[Any]) -> np.ndarray:
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
