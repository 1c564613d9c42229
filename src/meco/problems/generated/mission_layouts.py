"""Where the sensors of generated missions lie: none of these layouts is one of the sixteen missions (uav/layouts.py).

A layout takes the random draws, the area [2] in metres and a number G of groups, and gives the start [2], the middles
of the groups [G, 2] in the order of a sensible route, and the end [2], in metres. Each is mirrored at random.

_draw_*_route(rng, G) give the same before that, start, middles and end as rows [G + 2, 2], in shares of the area.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meco.problems.uav.layouts import Draw, Places


def _draw_rows_route(rng: Draw, count: int) -> np.ndarray:
    """Out along one row and back along another, the base between them: [count + 2, 2] in shares of the area."""
    out = -(-count // 2)
    x = np.concat([np.linspace(0.3, 0.85, out), np.linspace(0.85, 0.3, count - out)])
    y = np.where(np.arange(count) < out, 0.22, 0.78)
    return _join_route([0.05, 0.45], np.stack([x, y], axis=-1), [0.05, 0.55])


def _draw_spiral_route(rng: Draw, count: int) -> np.ndarray:
    """From a corner around the middle and into it: [count + 2, 2] in shares of the area."""
    t = np.arange(count) / count
    angle = np.pi * (1.25 + 1.9 * t) + rng.uniform(-0.1, 0.1)
    radius = 0.44 * (1.0 - 0.6 * t)
    places = 0.5 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return _join_route([0.04, 0.04], places, [0.5, 0.5])


def _draw_outpost_route(rng: Draw, count: int) -> np.ndarray:
    """All but one group in a part of the area, one far away, and back to where it began: [count + 2, 2] in shares."""
    near = count - 1
    angle = np.linspace(-0.2, 1.2, near) * np.pi / 2
    places = np.array([0.12, 0.15]) + 0.42 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return _join_route(
        [0.08, 0.08], np.concat([places[: near // 2], [[0.88, 0.86]], places[near // 2 :]]), [0.14, 0.04]
    )


def _draw_bend_route(rng: Draw, count: int) -> np.ndarray:
    """Along a river that bends one way and then the other, upwards: [count + 2, 2] in shares of the area."""
    t = (np.arange(count) + 0.5) / count
    places = np.stack([0.5 + 0.36 * np.sin(2 * np.pi * t + rng.uniform(-0.3, 0.3)), 0.12 + 0.76 * t], axis=-1)
    return _join_route([0.15, 0.03], places, [0.15, 0.97])


def _draw_fork_route(rng: Draw, count: int) -> np.ndarray:
    """Up a stem and out on one branch, then over to the end of the other: [count + 2, 2] in shares of the area."""
    stem = max(1, count // 3)
    branch = -(-(count - stem) // 2)
    along = np.linspace(0.2, 0.5, stem)
    one, other = np.linspace(0.35, 1.0, branch), np.linspace(1.0, 0.45, count - stem - branch)
    places = [np.stack([np.full(stem, 0.5), along], axis=-1)]
    places += [np.array([0.5, 0.5]) + t[:, None] * [side, 0.38] for t, side in ((one, -0.38), (other, 0.38))]
    return _join_route([0.5, 0.04], np.concat(places), [0.9, 0.3])


def _draw_cross_route(rng: Draw, count: int) -> np.ndarray:
    """Along one arm of a cross to the other side, then down its second arm: [count + 2, 2] in shares of the area."""
    across = -(-count // 2)
    first = np.stack([np.linspace(0.14, 0.86, across), np.full(across, 0.5)], axis=-1)
    second = np.stack([np.full(count - across, 0.5), np.linspace(0.86, 0.14, count - across)], axis=-1)
    return _join_route([0.03, 0.42], np.concat([first, second]), [0.58, 0.03])


def _draw_shore_route(rng: Draw, count: int) -> np.ndarray:
    """Along two neighbouring sides of the area, the far corner left empty: [count + 2, 2] in shares of the area."""
    t = 2.0 * (np.arange(count) + 0.5) / count
    x, y = np.where(t < 1.0, 0.13, 0.13 + 0.75 * (t - 1.0)), np.where(t < 1.0, 0.88 - 0.75 * t, 0.13)
    return _join_route([0.3, 0.95], np.stack([x, y], axis=-1), [0.95, 0.3])


def _draw_fan_route(rng: Draw, count: int) -> np.ndarray:
    """A fan out of a corner, alternately near to it and far from it: [count + 2, 2] in shares of the area."""
    angle = np.linspace(0.04, 0.96, count) * np.pi / 2
    radius = np.where((np.arange(count) + rng.integers(2)) % 2, 0.85, 0.42)
    places = 0.05 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return _join_route([0.04, 0.04], places, [0.04, 0.04])


def _join_route(start: list[float], middles: np.ndarray, end: list[float]) -> np.ndarray:
    """Start, middles and end in one array [G + 2, 2], in shares of the area."""
    return np.concat([[start], middles, [end]])


def _make_layout_function(draw_route: Callable[[Draw, int], np.ndarray]) -> Callable[[Draw, np.ndarray, int], Places]:
    """A function layout(rng, area, G) that moves places a little, and mirrors and turns them over as the draws say.

    draw_route(rng, G) gives them [G + 2, 2] in shares of the area; the function's are in metres.
    """

    def layout(rng: Draw, area: np.ndarray, count: int) -> Places:
        places = draw_route(rng, count)
        places[1:-1] += rng.uniform(-0.04, 0.04, (count, 2))
        places = np.clip(places, 0.02, 0.98)
        places = np.where(rng.random(2) < 0.5, 1.0 - places, places)
        places = places[:, ::-1] if rng.random() < 0.5 else places
        places = area * places
        return places[0], places[1:-1], places[-1]

    return layout


LAYOUTS = {
    name: _make_layout_function(draw_route)
    for name, draw_route in {
        "rows": _draw_rows_route,
        "spiral": _draw_spiral_route,
        "outpost": _draw_outpost_route,
        "bend": _draw_bend_route,
        "fork": _draw_fork_route,
        "cross": _draw_cross_route,
        "shore": _draw_shore_route,
        "fan": _draw_fan_route,
    }.items()
}
