"""Where the sensors of a drawn map lie, and between which ends its flights go.

A layout takes the random draws, the area [2] and a number of groups, and gives the start, the middles of
the groups [G, 2] in the order of a sensible route, and the end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Draw = np.random.Generator
Places = tuple[np.ndarray, np.ndarray, np.ndarray]  # start [2], middles of the groups [G, 2], end [2]


def draw_sensor_group(rng: Draw, middle: np.ndarray, count: int, spread: float) -> np.ndarray:
    """Sensors in all directions around the middle of their group, within the spread: [count, 2]."""
    angle = rng.uniform(0, 2 * np.pi) + 2 * np.pi * (np.arange(count) + rng.uniform(-0.25, 0.25, count)) / count
    radius = spread * rng.uniform(0.5, 1.0, count)
    return middle + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def draw_line(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Groups along a diagonal, alternately to its left and right: start [2], middles [count, 2], end [2] in metres."""
    start, end = area * [0.05, rng.uniform(0.08, 0.25)], area * [0.95, rng.uniform(0.75, 0.92)]
    along = np.linspace(0.1, 0.9, count)[:, None]
    side = np.where((np.arange(count) + rng.integers(2)) % 2, 1, -1)[:, None] * rng.uniform(0.05, 0.15, (count, 1))
    middles = start + along * (end - start) + side * area * [-1, 1]
    return start, np.clip(middles, 0.1 * area, 0.9 * area), end


def draw_zigzag(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Groups alternately near the upper and the lower border: start [2], middles [count, 2], end [2] in metres."""
    start, end = area * [0.04, rng.uniform(0.3, 0.7)], area * [0.96, rng.uniform(0.3, 0.7)]
    x = np.linspace(0.12, 0.88, count) + rng.uniform(-0.03, 0.03, count)
    y = np.where((np.arange(count) + rng.integers(2)) % 2, 0.8, 0.2) + rng.uniform(-0.08, 0.08, count)
    return start, area * np.stack([x, y], axis=-1), end


def draw_arc(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Groups on a wide arc over the middle, both ends at its feet: start [2], middles [count, 2], end [2] in metres."""
    angle = np.linspace(np.pi * 0.93, np.pi * 0.07, count) + rng.uniform(-0.08, 0.08, count)
    centres = area * np.stack([0.5 + 0.4 * np.cos(angle), 0.2 + 0.65 * np.sin(angle)], axis=-1)
    return area * [0.1, 0.06], centres, area * [0.9, 0.06]


def draw_corners(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Groups near at most four corners, one after the other: start [2], middles [count, 2], end [2] in metres."""
    places = np.array([[0.16, 0.82], [0.82, 0.84], [0.84, 0.17], [0.2, 0.16]])[:count]
    return area * [0.04, 0.5], area * (places + rng.uniform(-0.05, 0.05, places.shape)), area * [0.5, 0.06]


def draw_scatter(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Single sensors far from each other, from left to right: start [2], middles [count, 2], end [2] in metres."""
    return area * [0.04, 0.08], draw_far_apart(rng, area, count), area * [0.96, 0.92]


def draw_loop(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Single sensors all over the area, visited around its middle from a base at the lower border.

    Start [2], middles [count, 2], end [2] in metres; both ends are the base.
    """
    places = draw_far_apart(rng, area, count)
    angle = np.arctan2(*(places - area / 2).T)
    base = area * [0.5, 0.04]
    return base, places[np.argsort(angle)], base


def draw_ring(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Groups around the middle, the base at the lower border: start [2], middles [count, 2], end [2] in metres."""
    angle = 1.5 * np.pi - 2 * np.pi * (np.arange(count) + 0.5) / count + rng.uniform(-0.15, 0.15, count)
    centres = area * (0.5 + 0.36 * np.stack([np.cos(angle), np.sin(angle)], axis=-1))
    return area * [0.5, 0.05], centres, area * [0.5, 0.05]


def draw_hub(rng: Draw, area: np.ndarray, count: int) -> Places:
    """Groups around a base in the middle: start [2], middles [count, 2], end [2] in metres."""
    angle = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.arange(count) / count + rng.uniform(-0.2, 0.2, count)
    centres = area * (0.5 + 0.38 * np.stack([np.cos(angle), np.sin(angle)], axis=-1))
    return area * 0.5, centres, area * 0.5


def draw_far_apart(rng: Draw, area: np.ndarray, count: int) -> np.ndarray:
    """Points [count, 2] of the area, each the best of some candidates by its distance from the earlier ones."""
    margin = 0.08
    places = [area * rng.uniform(margin, 1 - margin, 2)]
    for _ in range(count - 1):
        candidates = area * rng.uniform(margin, 1 - margin, (6, 2))
        distance = np.min(np.linalg.norm(candidates[:, None] - np.array(places), axis=-1), axis=1)
        places.append(candidates[int(np.argmax(distance))])
    return np.array(sorted(places, key=lambda p: float(p[0])))


LAYOUTS: dict[str, Callable[[Draw, np.ndarray, int], Places]] = {
    "line": draw_line,
    "zigzag": draw_zigzag,
    "arc": draw_arc,
    "corners": draw_corners,
    "scatter": draw_scatter,
    "loop": draw_loop,
    "ring": draw_ring,
    "hub": draw_hub,
}
