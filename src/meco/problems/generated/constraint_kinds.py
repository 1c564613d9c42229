"""Constraints of generated problems: each is 0 at the known point, or negative by the room it leaves there.

A kind draws its numbers for one problem and computes the values of many: v [B, N, D] is the
displacement from the known point in half widths of the box, y the same turned. An equality is
any kind without room. Since v is exactly 0 at the known point, in every array library, so is
every value there: no rounding makes that point infeasible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, astype, at_least, namespace

Draw = np.random.Generator
Numbers = Mapping[str, Array]
PIECES = 3  # planes of which a maximum is taken


class Constraint(NamedTuple):
    """How a kind draws the numbers of `count` columns, and its formula v, y [B, N, D] -> [B, N, count].

    For a convex kind the feasible set without room lies on one side of the plane through the known point.
    """

    draw: Callable[[Draw, int, int], dict[str, np.ndarray]]
    value: Callable[[Array, Array, Numbers], Array]
    room: tuple[float, float]  # least and greatest room that is drawn
    convex: bool = False


def draw_directions(rng: Draw, dim: int, count: int) -> np.ndarray:
    """Random unit vectors as columns: [D, count]."""
    drawn = rng.standard_normal((dim, count))
    return drawn / np.linalg.norm(drawn, axis=0)


def outward_normals(numbers: Numbers) -> np.ndarray:
    """Vectors that point out of the feasible set of each convex column at the known point: [count, D]."""
    out = numbers["out"].T
    return out.reshape(numbers["room"].shape[-1], -1, out.shape[-1]).mean(axis=1)


def _draw_linear(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """A normal of each half space: out [D, count]."""
    return {"out": draw_directions(rng, dim, count)}


def linear(v: Array, y: Array, p: Numbers) -> Array:
    """A half space: v [B, N, D] -> [B, N, count]."""
    return namespace(v).matmul(v, p["out"]) - p["room"]


def _make_curvature_draw(low: float, high: float, signs: tuple[float, ...], *, scaled: bool) -> Callable:
    """A function that draws quadratics: curvatures from low to high along the turned axes, of these signs.

    scaled divides them by sqrt(D / 2). It moves the generator on, and gives "out" and "curve" [D, count].
    """

    def draw(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
        size = np.exp(rng.uniform(np.log(low), np.log(high), (dim, count)))
        curve = size * rng.choice(signs, (dim, count)) / (np.sqrt(dim / 2) if scaled else 1.0)
        return {"out": draw_directions(rng, dim, count), "curve": curve}

    return draw


def quadratic(v: Array, y: Array, p: Numbers) -> Array:
    """An ellipsoid to stay in, one to stay out of, or a saddle, by the signs of the curvatures: [B, N, count]."""
    xp = namespace(v)
    return xp.matmul(v, p["out"]) + xp.matmul(y * y, p["curve"]) - p["room"]


def ring(v: Array, y: Array, p: Numbers) -> Array:
    """A shell around the surface of an ellipsoid: v [B, N, D] -> [B, N, count]."""
    xp = namespace(v)
    return xp.abs(xp.matmul(v, p["out"]) + xp.matmul(y * y, p["curve"])) - p["room"]


def _draw_waves(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Draw numbers of wavy borders and islands, [D, count] or [1, count].

    The order of draws is part of a seed's problem.
    """
    return {
        "out": draw_directions(rng, dim, count),
        "along": draw_directions(rng, dim, count),
        "pitch": rng.uniform(4.0, 12.0, (1, count)),
        "height": rng.uniform(0.1, 0.4, (1, count)),
    }


def wavy(v: Array, y: Array, p: Numbers) -> Array:
    """A half space with a wavy border: v [B, N, D] -> [B, N, count]."""
    xp = namespace(v)
    return xp.matmul(v, p["out"]) + p["height"] * xp.sin(p["pitch"] * xp.matmul(v, p["along"])) - p["room"]


def islands(v: Array, y: Array, p: Numbers) -> Array:
    """Many feasible islands that do not touch, periodic in two directions: v [B, N, D] -> [B, N, count]."""
    xp = namespace(v)
    first, second = xp.matmul(v, p["out"]), xp.matmul(v, p["along"])
    return 2.0 - xp.cos(p["pitch"] * first) - xp.cos(p["pitch"] * second) - p["room"]


def _draw_maxima(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Normals of the planes of each maximum: out [D, 3 count]."""
    return {"out": draw_directions(rng, dim, PIECES * count)}


def maxima(v: Array, y: Array, p: Numbers) -> Array:
    """The largest of three planes: a corner; v [B, N, D] -> [B, N, count]."""
    xp = namespace(v)
    planes = xp.matmul(v, p["out"])  # [B, N, 3 count]
    columns = xp.reshape(planes, (*planes.shape[:-1], planes.shape[-1] // PIECES, PIECES))
    return xp.max(columns, axis=-1) - p["room"]


def _draw_cliff(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """A normal of each cliff, out [D, count], and how steep it is [1, count]."""
    return {"out": draw_directions(rng, dim, count), "steep": 10.0 ** rng.uniform(0.8, 2.3, (1, count))}


def cliff(v: Array, y: Array, p: Numbers) -> Array:
    """Level on both sides of a cliff: far from it no value tells where it is; v [B, N, D] -> [B, N, count]."""
    xp = namespace(v)
    return xp.tanh(p["steep"] * (xp.matmul(v, p["out"]) - p["room"]))


def opposed(v: Array, y: Array, p: Numbers) -> Array:
    """Pairs that exclude each other: what one keeps below zero by its room, the other keeps above; [B, N, count]."""
    xp = namespace(v)
    value = xp.matmul(v, p["out"]) + xp.matmul(y * y, p["curve"])
    half = value.shape[-1] // 2
    return xp.concat([value[..., :half], -value[..., :half]], axis=-1) - p["room"]


def _draw_contact(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Normals "out" and "along" [D, count], the gaps that close along the second, and how stiff what is met is."""
    return {
        "out": draw_directions(rng, dim, count),
        "along": draw_directions(rng, dim, count),
        "gap": rng.uniform(0.0, 0.3, (1, count)),
        "stiff": 10.0 ** rng.uniform(0.0, 2.0, (1, count)),
    }


def contact(v: Array, y: Array, p: Numbers) -> Array:
    """A half space whose value jumps in slope where a gap closes: the largest force of two bodies that may touch.

    v [B, N, D] -> [B, N, count].
    """
    xp = namespace(v)
    force = p["stiff"] * at_least(xp.matmul(v, p["along"]) - p["gap"], 0.0)
    return xp.matmul(v, p["out"]) + force - p["room"]


def _draw_switching(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Normals of borders and of switching planes [D, count], and what switching adds, in rooms [1, count]."""
    drawn = {"out": draw_directions(rng, dim, count), "along": draw_directions(rng, dim, count)}
    return {**drawn, "jump": rng.uniform(-2.0, 0.9, (1, count))}  # less than 1: there is room on both sides


def switching(v: Array, y: Array, p: Numbers) -> Array:
    """A half space whose value jumps where a controller switches to its other mode: v [B, N, D] -> [B, N, count]."""
    xp = namespace(v)
    other = astype(xp.matmul(v, p["along"]) > 0.0, v.dtype)
    return xp.matmul(v, p["out"]) - (1.0 - p["jump"] * other) * p["room"]


def _draw_growth(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """Normals of the exponents of each sum, out [D, 3 count], and their rate [1, count]."""
    return {"out": draw_directions(rng, dim, PIECES * count), "rate": rng.uniform(1.0, 6.0, (1, count))}


def growth(v: Array, y: Array, p: Numbers) -> Array:
    """A posynomial limit, the logarithm of a mean of three exponentials: smooth and convex; -> [B, N, count].

    Where it is at most 0, so is the mean of the exponents.
    """
    xp = namespace(v)
    planes = xp.matmul(v, p["out"])
    columns = xp.reshape(planes, (*planes.shape[:-1], planes.shape[-1] // PIECES, PIECES))
    return xp.log(xp.mean(xp.exp(p["rate"][..., None] * columns), axis=-1)) / p["rate"] - p["room"]


def _draw_tube(rng: Draw, dim: int, count: int) -> dict[str, np.ndarray]:
    """How each variable bends the next: [D - 1, count]."""
    return {"bend": rng.uniform(0.3, 1.2, (dim - 1, count)) * rng.choice([-1.0, 1.0], (dim - 1, count))}


def tube(v: Array, y: Array, p: Numbers) -> Array:
    """A bent tube around a curve of the turned variables: [B, N, count]."""
    xp = namespace(v)
    off = y[..., 1:, None] - p["bend"][:, None, :, :] * (y[..., :-1] ** 2)[..., None]  # [B, N, D - 1, count]
    return xp.mean(off * off, axis=-2) - p["room"]


def cubic(v: Array, y: Array, p: Numbers) -> Array:
    """On one side of a surface of the third degree, which folds where the curvatures differ in sign: [B, N, count]."""
    xp = namespace(v)
    return xp.matmul(v, p["out"]) + xp.matmul(y * y * y, p["curve"]) - p["room"]


_draw_inside = _make_curvature_draw(0.1, 2.0, (1.0,), scaled=True)
CONSTRAINTS = {
    "linear": Constraint(_draw_linear, linear, (0.05, 0.6), convex=True),
    "inside": Constraint(_draw_inside, quadratic, (0.05, 0.8), convex=True),
    "outside": Constraint(
        _make_curvature_draw(0.2, 1.2, (-1.0,), scaled=False), quadratic, (0.0, 0.18)
    ),  # less than 1 / (4 * 1.2)
    "saddle": Constraint(_make_curvature_draw(0.2, 2.0, (1.0, -1.0), scaled=True), quadratic, (0.05, 0.4)),
    "ring": Constraint(_draw_inside, ring, (0.03, 0.2)),
    "wavy": Constraint(_draw_waves, wavy, (0.02, 0.3)),
    "islands": Constraint(_draw_waves, islands, (0.3, 1.2)),
    "maxima": Constraint(_draw_maxima, maxima, (0.05, 0.5), convex=True),
    "cliff": Constraint(_draw_cliff, cliff, (0.02, 0.4), convex=True),
    "opposed": Constraint(_draw_inside, opposed, (-0.5, -0.05)),
    "contact": Constraint(_draw_contact, contact, (0.05, 0.5), convex=True),
    "growth": Constraint(_draw_growth, growth, (0.05, 0.6), convex=True),
    "tube": Constraint(_draw_tube, tube, (0.02, 0.2)),
    "cubic": Constraint(_make_curvature_draw(0.2, 2.0, (1.0, -1.0), scaled=True), cubic, (0.05, 0.4)),
    "switching": Constraint(_draw_switching, switching, (0.05, 0.5)),
}
