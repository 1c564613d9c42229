"""Where and when a generated problem fails: in a part of its box, or by chance; never at the known point but by chance.

A kind says which calls fail: from the displacement v [B, N, D], the constraints g [B, N, p] without their scales,
and, where chance has a part, a standard normal number z [B, N] for each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from meco.core.arrays import Array, at_least, namespace
from meco.problems.generated.constraint_kinds import Draw, draw_directions

SHARE = 0.2
POCKET_SHARE = 0.6
SAMPLES = 2000  # points of the box that say where a plane cuts off the share
CELLS = 24.0  # patches per half width of the box
PRIME = 100_003.0
HOLES = 5

Numbers = Mapping[str, Array]


class Failure(NamedTuple):
    """How a kind draws its numbers around the known point u [D] of [-1, 1]^D, and which calls fail: [B, N]."""

    draw: Callable[[Draw, np.ndarray], dict[str, np.ndarray]]
    fails: Callable[..., Array]  # v, p; by chance: v, p, g, z
    by_chance: bool = False


def draw_failing_half_space(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A plane that cuts off a fifth of the box [-1, 1]^D, away from the known point u [D]."""
    out = draw_directions(rng, len(u), 1)
    out = out if u @ out[:, 0] <= 0 else -out
    edge = np.quantile(rng.uniform(-1.0, 1.0, (SAMPLES, len(u))) @ out[:, 0], 1.0 - SHARE)
    return {"out": out, "edge": np.array([edge - u @ out[:, 0]])}


def in_failing_half_space(v: Array, p: Numbers) -> Array:
    """Which points fail, those beyond the plane: v [B, N, D] -> [B, N]."""
    return namespace(v).matmul(v, p["out"])[..., 0] > p["edge"]


def draw_beside(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A plane right beside the known point, a thousandth to a tenth of a half width away. Of u [D] only D counts."""
    return {"out": draw_directions(rng, len(u), 1), "edge": 10.0 ** rng.uniform(-3.0, -1.0, 1)}


def draw_failing_cells(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """The factor of each variable in the hash that chooses the cells: integers [1, D]. Of u [D] only D counts."""
    return {"factor": np.floor(rng.uniform(1.0, PRIME, (1, len(u))))}


def in_failing_cells(v: Array, p: Numbers) -> Array:
    """Which points fail, by a hash of their cell in integers, alike on every machine: v [B, N, D] -> [B, N]."""
    xp = namespace(v)
    cell = xp.floor(v * CELLS + 0.5)  # 0 around the known point, whose hash is 0
    key = xp.remainder(xp.sum(cell * p["factor"], axis=-1), PRIME)
    return xp.remainder(key * key, PRIME) >= (1.0 - SHARE) * PRIME


def draw_holes(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """Discs in a random plane: its directions [D, 2], places [5, 2], and the radius that makes a fifth of the box fail.

    Less of it fails where a hole would reach the known point u [D].
    """
    plane = np.linalg.qr(rng.standard_normal((len(u), 2)))[0]
    samples = (rng.uniform(-1.0, 1.0, (SAMPLES, len(u))) - u) @ plane  # seen from the known point
    far = samples[np.linalg.norm(samples, axis=1) > np.quantile(np.linalg.norm(samples, axis=1), 0.3)]
    places = rng.choice(far, HOLES, replace=False)
    distance = np.min(np.linalg.norm(samples[:, None] - places, axis=-1), axis=1)
    radius = min(np.quantile(distance, SHARE), 0.9 * np.min(np.linalg.norm(places, axis=1)))
    return {"plane": plane, "places": places, "radius": np.array([radius])}


def in_holes(v: Array, p: Numbers) -> Array:
    """Which points fail, those in a disc of the plane: v [B, N, D] -> [B, N]."""
    xp = namespace(v)
    away = xp.matmul(v, p["plane"])[:, :, None, :] - p["places"][:, None, :, :]  # [B, N, 5, 2]
    return xp.min(xp.sum(away * away, axis=-1), axis=-1) < p["radius"] ** 2


def draw_pocket(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A ball with the known point u [D] in it, beyond which three fifths of the box fail: its middle and size."""
    middle = -rng.uniform(0.2, 0.6) * u  # between the known point and the middle of the box
    samples = rng.uniform(-1.0, 1.0, (SAMPLES, len(u))) - u
    size = np.quantile(np.mean((samples - middle) ** 2, axis=1), 1.0 - POCKET_SHARE)
    return {"middle": middle[None], "size": np.array([max(size, 1.1 * np.mean(middle**2))])}


def out_of_pocket(v: Array, p: Numbers) -> Array:
    """Which points fail, those out of the ball: v [B, N, D] -> [B, N]."""
    away = v - p["middle"]
    return namespace(v).mean(away * away, axis=-1) > p["size"]


def draw_bands(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """The direction across the bands, times how many there are to a half width [D, 1], and a phase [1].

    Of u [D] only D counts.
    """
    out = draw_directions(rng, len(u), 1) * rng.uniform(1.0, 5.0)
    return {"out": out, "phase": rng.uniform(0.02, 0.98 - SHARE, 1)}


def in_bands(v: Array, p: Numbers) -> Array:
    """Which points fail, those in a fifth of every period, as at a resonance: v [B, N, D] -> [B, N]."""
    xp = namespace(v)
    return xp.remainder(xp.matmul(v, p["out"])[..., 0] + p["phase"], 1.0) > 1.0 - SHARE


def draw_rate(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """The normal number beyond which a call fails, for a rate of 0.1 to 0.35: [1]. u does not count."""
    return {"edge": np.array([NormalDist().inv_cdf(1.0 - rng.uniform(0.1, 0.35))])}


def fails_evenly(v: Array, p: Numbers, g: Array, z: Array) -> Array:
    """Which calls fail, at one rate everywhere: z [B, N] -> [B, N]."""
    return z > p["edge"]


def draw_rising_rate(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A rate at the known point, and a direction [D, 1] in which it rises. Of u [D] only D counts."""
    return {**draw_rate(rng, u), "out": draw_directions(rng, len(u), 1) * rng.uniform(0.5, 2.0)}


def fails_more_that_way(v: Array, p: Numbers, g: Array, z: Array) -> Array:
    """Which calls fail, at a rate that rises in one direction, from hardly any to nearly all: [B, N]."""
    return z > p["edge"] - namespace(v).matmul(v, p["out"])[..., 0]


def draw_strained_rate(rng: Draw, u: np.ndarray) -> dict[str, np.ndarray]:
    """A rate where all limits hold, and how it rises with the worst one. u does not count."""
    return {"edge": np.array([NormalDist().inv_cdf(1.0 - rng.uniform(0.03, 0.15))]), "strain": rng.uniform(0.5, 2.0, 1)}


def fails_more_where_limits_break(v: Array, p: Numbers, g: Array, z: Array) -> Array:
    """Which calls fail, more of them the more the worst limit is exceeded: [B, N]."""
    return z > p["edge"] - p["strain"] * at_least(namespace(g).max(g, axis=-1), 0.0)


FAILURES = {
    "region": Failure(draw_failing_half_space, in_failing_half_space),
    "beside": Failure(draw_beside, in_failing_half_space),
    "chance": Failure(draw_rate, fails_evenly, by_chance=True),
    "patches": Failure(draw_failing_cells, in_failing_cells),
    "holes": Failure(draw_holes, in_holes),
    "rising": Failure(draw_rising_rate, fails_more_that_way, by_chance=True),
    "pocket": Failure(draw_pocket, out_of_pocket),
    "bands": Failure(draw_bands, in_bands),
    "strained": Failure(draw_strained_rate, fails_more_where_limits_break, by_chance=True),
}
