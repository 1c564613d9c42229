"""Functions of the plane as strokes: level lines, and a hatch where something holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ALONG = 401  # points of a diagonal that are looked at


def find_contour_segments(
    x: np.ndarray, y: np.ndarray, values: np.ndarray, level: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Where values [len(y), len(x)] cross a level: x and y of the ends of segments, [K, 2] each.

    Every cell of the grid is two triangles, in which the values are linear; nan is crossed nowhere. Segments are not
    joined to lines; K = 0 where no triangle is crossed.
    """
    corners = np.stack([*np.meshgrid(x, y), values - level], axis=-1)
    a, b, c, d = corners[:-1, :-1], corners[:-1, 1:], corners[1:, :-1], corners[1:, 1:]
    triangles = np.concatenate([np.stack(three, axis=2).reshape(-1, 3, 3) for three in ((a, b, c), (d, c, b))])
    above = triangles[..., 2] > 0.0
    count = above.sum(axis=1)
    crossed = (count > 0) & (count < 3) & np.isfinite(triangles[..., 2]).all(axis=1)
    triangles, above, count = triangles[crossed], above[crossed], count[crossed]
    lone = np.where(count == 1, above.argmax(axis=1), above.argmin(axis=1))  # the corner on the other side
    row = np.arange(len(lone))
    first, others = triangles[row, lone][:, None], triangles[row[:, None], (lone[:, None] + [1, 2]) % 3]
    share = first[..., 2:] / (first[..., 2:] - others[..., 2:])
    ends = first[..., :2] + share * (others[..., :2] - first[..., :2])
    return ends[..., 0], ends[..., 1]


def make_hatch_strokes(
    holds: Callable[[np.ndarray], np.ndarray], width: float, height: float, lines: int
) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals of a rectangle where holds(points [n, 2]) is true, so many along the longer side.

    x and y of the ends of strokes, [K, 2] each; K = 0 where it holds nowhere.
    """
    pieces = []
    for offset in np.arange(-height, width, max(width, height) / lines):  # y = x - offset
        low, high = max(offset, 0.0), min(width, height + offset)
        x = np.linspace(low, high, ALONG)
        points = np.stack([x, x - offset], axis=-1)
        pieces += [points[[first, last]] for first, last in find_stretches(holds(points))]
    ends = np.array(pieces).reshape(-1, 2, 2)
    return ends[..., 0], ends[..., 1]


def find_stretches(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each stretch of True in flags [n] that is longer than one; [] without any."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2) if b - a > 1]
