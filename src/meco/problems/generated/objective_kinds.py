"""Objectives of generated problems: each is 0 at its centre and nowhere less.

A kind draws its numbers for one problem and computes the values of many: z [B, N, D] is the
displacement from the centre, turned, in half widths of the box; the numbers of B problems
come stacked, with a leading axis. Values are of order 1 across the box for any D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, astype, at_least, namespace

Draw = np.random.Generator
Numbers = Mapping[str, Array]


class Objective(NamedTuple):
    """How a kind draws its numbers, and its formula z [B, N, D] -> [B, N]."""

    draw: Callable[[Draw, int], dict[str, np.ndarray]]
    value: Callable[[Array, Numbers], Array]


def draw_conditioning(rng: Draw, dim: int, decades: float) -> np.ndarray:
    """Weights from 1 down to a drawn conditioning of at most so many decades: [1, D]."""
    return 10.0 ** -np.linspace(0.0, rng.uniform(0.0, decades), dim)[None]


def _draw_bowl(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Weights [1, D]."""
    return {"weight": draw_conditioning(rng, dim, 6.0)}


def bowl(z: Array, p: Numbers) -> Array:
    """A quadratic of conditioning 1 to 1e6: z [B, N, D] -> [B, N]."""
    return namespace(z).mean(p["weight"] * z * z, axis=-1)


def _draw_valley(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """How each parabola bends [1, D - 1], and the slope of the floor [1, 1]."""
    bend = rng.uniform(0.4, 1.4, (1, dim - 1)) * rng.choice([-1.0, 1.0], (1, dim - 1))
    return {"bend": bend, "floor": 10.0 ** rng.uniform(-4.0, -1.0, (1, 1))}


def valley(z: Array, p: Numbers) -> Array:
    """A chain of parabolas to follow, each variable bending the way of the next, over a nearly flat floor: [B, N]."""
    xp = namespace(z)
    off = z[..., 1:] - p["bend"] * z[..., :-1] ** 2
    return xp.sum(off * off, axis=-1) / z.shape[-1] + xp.mean(p["floor"] * z * z, axis=-1)


def _draw_ripples(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Depth and pitch, [1, 1] so that problems stack; the order of draws is part of a seed's problem."""
    return {"depth": 10.0 ** rng.uniform(-1.7, 0.0, (1, 1)), "pitch": rng.uniform(5.0, 30.0, (1, 1))}


def ripples(z: Array, p: Numbers) -> Array:
    """A bowl with waves of drawn depth and pitch: many local minima; z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    return xp.mean(z * z + p["depth"] * (1.0 - xp.cos(p["pitch"] * z)), axis=-1)


def _draw_edges(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Weights [1, D], and the share of the maximum [1]."""
    return {"weight": draw_conditioning(rng, dim, 2.0), "share": rng.uniform(0.0, 1.0, 1)}


def edges(z: Array, p: Numbers) -> Array:
    """Absolute values and their maximum, not smooth, least of all at the centre: z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    size = p["weight"] * xp.abs(z)
    return p["share"] * xp.mean(size, axis=-1) + (1.0 - p["share"]) * xp.max(size, axis=-1)


def _draw_steps(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Plateaus per unit length: [1, 1]."""
    return {"steps": rng.uniform(3.0, 12.0, (1, 1))}


def steps(z: Array, p: Numbers) -> Array:
    """A bowl of plateaus, level but for jumps: z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    level = xp.floor(xp.abs(z) * p["steps"] + 0.5) / p["steps"]
    return xp.mean(level * level, axis=-1)


def _draw_linear(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """No numbers."""
    return {}


def linear(z: Array, p: Numbers) -> Array:
    """0 everywhere: the tilt that every objective gets is all there is; z [B, N, D] -> [B, N]."""
    return namespace(z).zeros(z.shape[:-1], dtype=z.dtype, device=z.device)


def _draw_funnels(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Draw the numbers of three bowls: where they lie, how wide and how deep.

    Their order is part of a seed's problem.
    """
    places = np.concat([np.zeros((1, dim)), rng.uniform(-1.2, 1.2, (2, dim))])
    floor = np.concat([[0.0], rng.uniform(0.02, 0.2, 2)])[None]
    slope = np.concat([rng.uniform(1.0, 3.0, 1), rng.uniform(0.3, 1.0, 2)])[None]
    return {"places": places, "floor": floor, "slope": slope}


def funnels(z: Array, p: Numbers) -> Array:
    """The least of three bowls, of which the deepest is the narrowest: z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    away = z[:, :, None, :] - p["places"][:, None, :, :]  # [B, N, 3, D]
    return xp.min(p["floor"] + p["slope"] * xp.mean(away * away, axis=-1), axis=-1)


def _draw_basin(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Weights [1, D], and how far the slope reaches [1]."""
    return {"weight": draw_conditioning(rng, dim, 1.5), "reach": 10.0 ** rng.uniform(-2.0, -0.7, 1)}


def basin(z: Array, p: Numbers) -> Array:
    """A bowl that levels out: far from the centre hardly any slope is left; z [B, N, D] -> [B, N]."""
    square = namespace(z).mean(p["weight"] * z * z, axis=-1)
    return square / (square + p["reach"])


def _draw_terrain(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Slopes [1, D], and depth and pitch of the folds [1, 1]."""
    depth, pitch = 10.0 ** rng.uniform(-1.7, -0.3, (1, 1)), rng.uniform(2.0, 8.0, (1, 1))
    return {"weight": draw_conditioning(rng, dim, 1.5), "depth": depth, "pitch": pitch}


def terrain(z: Array, p: Numbers) -> Array:
    """Piecewise linear ground: straight slopes with folds, a kink at every ridge and in every gully; -> [B, N]."""
    xp = namespace(z)
    s = p["pitch"] * z
    return xp.mean(p["weight"] * xp.abs(z) + p["depth"] * xp.abs(s - xp.round(s)), axis=-1)


def _draw_contact(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Weights [1, D]; D bodies that may be met: directions [D, D], gaps [1, D], stiffness [1, 1]."""
    out = rng.standard_normal((dim, dim))
    return {
        "weight": draw_conditioning(rng, dim, 3.0),
        "out": out / np.linalg.norm(out, axis=0),
        "gap": rng.uniform(0.0, 0.4, (1, dim)),
        "stiff": 10.0 ** rng.uniform(0.0, 2.0, (1, 1)),
    }


def contact(z: Array, p: Numbers) -> Array:
    """A bowl with stiff bodies around its centre: the slope jumps where one is met; z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    depth = at_least(xp.matmul(z, p["out"]) - p["gap"], 0.0)
    return xp.mean(p["weight"] * z * z + p["stiff"] * depth, axis=-1) / (1.0 + 0.2 * p["stiff"][..., 0])


def _draw_switching(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Weights [1, D], three switching planes [D, 3], what each mode adds to the slope and to the value [1, 3]."""
    plane = rng.standard_normal((dim, 3))
    return {
        "weight": draw_conditioning(rng, dim, 3.0),
        "plane": plane / np.linalg.norm(plane, axis=0),
        "gain": rng.uniform(0.0, 2.0, (1, 3)),
        "jump": 10.0 ** rng.uniform(-2.5, -0.7, (1, 3)),
    }


def switching(z: Array, p: Numbers) -> Array:
    """A bowl under a controller with eight modes: crossing a plane changes gain and value at once; -> [B, N]."""
    xp = namespace(z)
    on = astype(xp.matmul(z, p["plane"]) > 0.0, z.dtype)  # [B, N, 3]
    square = xp.mean(p["weight"] * z * z, axis=-1)
    return square * (1.0 + xp.sum(p["gain"] * on, axis=-1)) + xp.sum(p["jump"] * on, axis=-1)


def _draw_growth(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Exponents: directions times rates [D, D + 2]."""
    out = rng.standard_normal((dim, dim + 2))
    return {"out": rng.uniform(0.5, 2.0, dim + 2) * out / np.linalg.norm(out, axis=0)}


def growth(z: Array, p: Numbers) -> Array:
    """A posynomial, exponentials less their tangents: steep on one side, nearly linear on the other; -> [B, N]."""
    xp = namespace(z)
    t = xp.matmul(z, p["out"])
    return xp.mean(at_least(xp.expm1(t) - t, 0.0), axis=-1)  # only rounding is below 0


def _draw_chain(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Stiffness of each link [1, D], in random order."""
    return {"weight": rng.permuted(draw_conditioning(rng, dim, 2.0), axis=1)}


def chain(z: Array, p: Numbers) -> Array:
    """Springs from one variable to the next, the first one held: all must move together; z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    stretch = xp.concat([z[..., :1], z[..., 1:] - z[..., :-1]], axis=-1)
    return xp.mean(p["weight"] * stretch * stretch, axis=-1)


def _draw_wells(rng: Draw, dim: int) -> dict[str, np.ndarray]:
    """Where the second well lies [1, D], and its floor [1]."""
    return {"place": rng.uniform(-1.0, 1.0, (1, dim)), "floor": 10.0 ** rng.uniform(-2.0, -0.7, 1)}


def wells(z: Array, p: Numbers) -> Array:
    """Two wells that join smoothly, the second not quite as deep: z [B, N, D] -> [B, N]."""
    xp = namespace(z)
    first, away = xp.mean(z * z, axis=-1), z - p["place"]
    second = xp.mean(away * away, axis=-1) + p["floor"]
    return 2.0 * first * second / (first + second)


OBJECTIVES = {
    "bowl": Objective(_draw_bowl, bowl),
    "valley": Objective(_draw_valley, valley),
    "ripples": Objective(_draw_ripples, ripples),
    "edges": Objective(_draw_edges, edges),
    "steps": Objective(_draw_steps, steps),
    "linear": Objective(_draw_linear, linear),
    "funnels": Objective(_draw_funnels, funnels),
    "basin": Objective(_draw_basin, basin),
    "terrain": Objective(_draw_terrain, terrain),
    "contact": Objective(_draw_contact, contact),
    "switching": Objective(_draw_switching, switching),
    "growth": Objective(_draw_growth, growth),
    "chain": Objective(_draw_chain, chain),
    "wells": Objective(_draw_wells, wells),
}
